//! Agents in the server's process.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_server::{EndedRound, RoundJudge, TakenTurn, TurnOutcome, TurnTaker};
use rawko_turns::{AgentId, ChannelEvent, RoundJudgement};

use crate::support::Setup;

/// Repeats the messages that it receives.
struct Echo;

impl TurnTaker for Echo {
    fn agents(&self) -> Vec<AgentId> {
        vec!["echo".into()]
    }

    fn take(&self, turn: TakenTurn) -> Pin<Box<dyn Future<Output = TurnOutcome> + Send>> {
        Box::pin(async move {
            let texts: Vec<&str> = turn.messages.iter().map(|message| message.text.as_str()).collect();
            match texts.as_slice() {
                [] => TurnOutcome::Passed,
                ["fail"] => TurnOutcome::Failed("no idea".to_owned()),
                ["ask"] => TurnOutcome::AwaitsPerson { reason: "a question".to_owned() },
                ["hang"] => std::future::pending().await,
                texts => TurnOutcome::Said(format!("I heard {} TURN_COMPLETE", texts.join(" and "))),
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taker_answers_passes_fails_waits_and_is_stopped() {
    let server = Setup::with("channels:\n  standup: {agents: [echo]}").taker(Arc::new(Echo)).start().await;
    let channels = server.serving.channels();
    let say = |text: &str| ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: text.into() };
    let idle = || server.until("standup", |channel| channel.state_of(&"echo".into()).as_str() == "IDLE");
    idle().await;
    channels.apply("standup", say("hello")).await.unwrap();
    server.until("standup", |channel| channel.posted == 2).await;
    idle().await;
    channels.apply("standup", say("fail")).await.unwrap();
    server.until("standup", |channel| channel.posted == 4).await;
    idle().await;
    channels.apply("standup", say("ask")).await.unwrap();
    server.until("standup", |channel| channel.state_of(&"echo".into()).as_str() == "WAITING").await;
    channels.apply("standup", say("the answer")).await.unwrap();
    idle().await;
    channels.apply("standup", say("hang")).await.unwrap();
    server.until("standup", |channel| channel.turn.is_some()).await;
    channels.apply("standup", ChannelEvent::Skipped { by: "kim".into() }).await.unwrap();
    channels.apply("standup", say("again")).await.unwrap();
    server.until("standup", |channel| channel.posted == 10).await;
    assert_eq!(
        server.texts("standup").await,
        [
            "kim: hello",
            "echo: I heard hello",
            "kim: fail",
            "echo: ⚠️ echo could not take its turn: no idea",
            "kim: ask",
            "kim: the answer",
            "echo: I heard the answer",
            "kim: hang",
            "kim: again",
            "echo: I heard hang and again",
        ]
    );
}

/// Two agents that always have a message to post.
struct Talkers;

impl TurnTaker for Talkers {
    fn agents(&self) -> Vec<AgentId> {
        vec!["ping".into(), "pong".into()]
    }

    fn take(&self, turn: TakenTurn) -> Pin<Box<dyn Future<Output = TurnOutcome> + Send>> {
        Box::pin(async move { TurnOutcome::Said(format!("Thought {}.", turn.turn)) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_talkers_rest_as_stuck_and_a_person_wakes_them() {
    let setup = Setup::with("channels:\n  den: {agents: [ping, pong]}").taker(Arc::new(Talkers));
    let server = setup.start().await;
    server.until("den", |channel| channel.rounds.stuck && channel.turn.is_none()).await;
    let glance = server.serving.channels().look("den").await.unwrap();
    assert_eq!(glance.channel.rounds.number, 5);
    let texts = server.texts("den").await;
    assert!(texts.iter().any(|text| text.contains("stuck: 5 rounds without progress")), "{texts:?}");
    let say = ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: "Go on.".into() };
    server.serving.channels().apply("den", say).await.unwrap();
    server.until("den", |channel| channel.rounds.number >= 10 && channel.rounds.stuck).await;
}

/// Sees progress in the first twelve rounds.
struct Judge;

impl RoundJudge for Judge {
    fn judge(&self, round: EndedRound) -> Pin<Box<dyn Future<Output = Option<RoundJudgement>> + Send>> {
        let rounds = round.memory.as_u64().unwrap_or(0) + 1;
        let without = if rounds <= 12 { 0 } else { round.without };
        assert_eq!(round.agents, ["ping", "pong"]);
        Box::pin(async move {
            Some(RoundJudgement { without, is_loop: false, memory: rounds.into(), round: None })
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_the_host_judges_as_progress_continues() {
    let setup = Setup::with("channels:\n  den: {agents: [ping, pong]}").taker(Arc::new(Talkers));
    let server = setup.judge(Arc::new(Judge)).start().await;
    server.until("den", |channel| channel.rounds.stuck && channel.rounds.memory.as_u64() > Some(12)).await;
    let glance = server.serving.channels().look("den").await.unwrap();
    assert!(glance.channel.rounds.number >= 13, "{:?}", glance.channel.rounds);
}

/// Answers when it is released.
struct Slow(Arc<tokio::sync::Notify>);

impl TurnTaker for Slow {
    fn agents(&self) -> Vec<AgentId> {
        vec!["slow".into()]
    }

    fn take(&self, turn: TakenTurn) -> Pin<Box<dyn Future<Output = TurnOutcome> + Send>> {
        let release = Arc::clone(&self.0);
        Box::pin(async move {
            if turn.messages.is_empty() {
                return TurnOutcome::Passed;
            }
            release.notified().await;
            TurnOutcome::Said("I am done.".to_owned())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_waits_while_the_channel_is_paused() {
    let release = Arc::new(tokio::sync::Notify::new());
    let setup = Setup::with("channels:\n  den: {agents: [slow]}").taker(Arc::new(Slow(Arc::clone(&release))));
    let server = setup.start().await;
    let channels = server.serving.channels();
    server.until("den", |channel| channel.state_of(&"slow".into()).as_str() == "IDLE").await;
    let say = |text: &str| ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: text.into() };
    channels.apply("den", say("Begin.")).await.unwrap();
    server.until("den", |channel| channel.turn.is_some()).await;
    channels.apply("den", ChannelEvent::Paused { by: "kim".into() }).await.unwrap();
    release.notify_one();
    let told = channels.apply("den", ChannelEvent::Resumed { by: "kim".into() }).await;
    assert!(told.is_ok(), "{told:?}");
    server.until("den", |channel| channel.posted == 2 && channel.turn.is_none()).await;
    assert_eq!(server.texts("den").await, ["kim: Begin.", "slow: I am done."]);
}

/// `rawko pause` of the channel's instance: no message, no turn, and both after the resume.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_instance_gives_no_turn() {
    let server = Setup::with("channels:\n  den: {agents: [echo]}").taker(Arc::new(Echo)).start().await;
    let channels = server.serving.channels();
    server.until("den", |channel| channel.state_of(&"echo".into()).as_str() == "IDLE").await;
    let say = |text: &str| ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: text.into() };
    let id = rawko_server::channel_instance("den");
    server.host.pause(&id, rawko_core::Value::str("kim")).await.unwrap();
    let before = channels.look("den").await.unwrap().channel.turns;
    let refused = channels.apply("den", say("hello")).await;
    assert_eq!(refused.map_err(|error| error.code()).unwrap_err(), "paused");
    assert_eq!(channels.look("den").await.unwrap().channel.turns, before);
    server.host.resume(&id, rawko_core::Value::str("kim")).await.unwrap();
    channels.apply("den", say("hello")).await.unwrap();
    server.until("den", |channel| channel.posted == 2).await;
}
