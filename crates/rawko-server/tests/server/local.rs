//! Agents in the server's process.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_server::{Taken, TakenTurn, TurnTaker};
use rawko_turns::{AgentId, Event};

use crate::support::Setup;

/// Repeats the messages that it receives.
struct Echo;

impl TurnTaker for Echo {
    fn agents(&self) -> Vec<AgentId> {
        vec!["echo".into()]
    }

    fn take(&self, turn: TakenTurn) -> Pin<Box<dyn Future<Output = Taken> + Send>> {
        Box::pin(async move {
            let texts: Vec<&str> = turn.messages.iter().map(|message| message.text.as_str()).collect();
            match texts.as_slice() {
                [] => Taken::Passed,
                ["fail"] => Taken::Failed("no idea".to_owned()),
                ["ask"] => Taken::AwaitsPerson { reason: "a question".to_owned() },
                ["hang"] => std::future::pending().await,
                texts => Taken::Said(format!("I heard {} TURN_COMPLETE", texts.join(" and "))),
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taker_answers_passes_fails_waits_and_is_stopped() {
    let server = Setup::with("channels:\n  standup: {agents: [echo]}").taker(Arc::new(Echo)).start().await;
    let channels = server.serving.channels();
    let say = |text: &str| Event::PersonSpoke { person: "kim".into(), id: None, text: text.into() };
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
    channels.apply("standup", Event::Skipped { by: "kim".into() }).await.unwrap();
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
