//! The protocol in normal operation.

use rawko_turns::ChannelEvent;
use serde_json::json;

use crate::support::{Setup, TestServer};

fn person(text: &str) -> ChannelEvent {
    ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: text.into() }
}

async fn two() -> (TestServer, crate::support::Client, crate::support::Client) {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    let bob = clients.pop().unwrap();
    (server, clients.pop().unwrap(), bob)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_turn_goes_from_one_to_the_next_with_what_was_said() {
    let (server, mut ada, mut bob) = two().await;
    let granted = ada.expect("turn_granted").await;
    assert_eq!((&granted["turn"], &granted["messages"]), (&json!(1), &json!([])));
    ada.say(json!({"type": "message", "channel": "standup", "text": "Morning.", "id": "m-1"})).await;
    let accepted = ada.expect("accepted").await;
    assert_eq!(accepted, json!({"type": "accepted", "id": "m-1", "channel": "standup", "number": 1}));
    ada.say(json!({"type": "turn_complete", "channel": "standup", "turn": 1})).await;
    assert_eq!(ada.expect("turn_ended").await["why"], "completed");

    let granted = bob.expect("turn_granted").await;
    let message = &granted["messages"][0];
    assert_eq!(
        (&message["from"], &message["text"], &message["kind"]),
        (&json!("ada"), &json!("Morning."), &json!("agent"))
    );
    bob.post("standup", "Morning, ada.\nTURN_COMPLETE").await;
    assert_eq!(bob.expect("turn_ended").await["why"], "completed");
    assert_eq!(ada.expect("turn_granted").await["messages"][0]["text"], "Morning, ada.");
    assert_eq!(server.texts("standup").await, ["ada: Morning.", "bob: Morning, ada."]);
    server.members_are_in_step("standup").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_heard_by_the_active_agent_at_once() {
    let (server, mut ada, _bob) = two().await;
    ada.expect("turn_granted").await;
    server.serving.channels().apply("standup", person("Short, please")).await.unwrap();
    let heard = ada.expect("message").await;
    assert_eq!((&heard["message"]["text"], &heard["observing"]), (&json!("Short, please"), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_wants_to_reads_along() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada"]).await;
    let mut reader = server.connect().await;
    reader.say(json!({"type": "register", "protocol": 1, "agent": "eve"})).await;
    reader.expect("registered").await;
    server.serving.assign("standup", "eve", "kim").await.unwrap();
    reader.expect("assigned").await;
    clients[0].post("standup", "Hello").await;
    let heard = reader.expect("message").await;
    assert_eq!((&heard["message"]["text"], &heard["observing"]), (&json!("Hello"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_keeps_the_turn_until_it_is_resolved() {
    let (server, mut ada, _bob) = two().await;
    ada.expect("turn_granted").await;
    let wait = json!({"type": "wait", "channel": "standup", "reason": "a build", "until": "person", "timeout_seconds": 60});
    ada.say(wait).await;
    assert_eq!(ada.expect("waiting").await["turn"], 1);
    ada.post("standup", "Hm").await;
    assert_eq!(ada.refused().await, "turn_paused");
    assert_eq!(server.state("standup", "bob").await, "QUEUED");
    server.serving.channels().apply("standup", person("It is green")).await.unwrap();
    assert_eq!(ada.expect("resumed").await["messages"][0]["text"], "It is green");
    ada.say(json!({"type": "wait", "channel": "standup"})).await;
    ada.expect("waiting").await;
    ada.say(json!({"type": "resumed", "channel": "standup"})).await;
    ada.expect("resumed").await;
    server.members_are_in_step("standup").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_takes_too_long_goes_on_to_the_next() {
    let server = Setup::with("defaultTimeoutSeconds: 0.2").start().await;
    server.serving.channels().create("standup", Default::default()).await.unwrap();
    let settings = rawko_turns::TurnOptions { timeout_ms: Some(200), ..Default::default() };
    let scope = rawko_turns::OptionScope::Channel;
    server
        .serving
        .channels()
        .apply("standup", ChannelEvent::OptionsSet { scope, options: settings })
        .await
        .unwrap();
    let (mut ada, mut bob) = (server.agent("ada").await, server.agent("bob").await);
    server.serving.assign("standup", "ada", "kim").await.unwrap();
    server.serving.assign("standup", "bob", "kim").await.unwrap();
    assert_eq!(ada.expect("turn_ended").await["why"], "timeout");
    assert_eq!(bob.expect("turn_granted").await["messages"][0]["text"], "⏱️ ada turn timed out");
    ada.say(json!({"type": "message", "channel": "standup", "turn": 1, "text": "Late, sorry", "id": "m"}))
        .await;
    ada.expect("accepted").await;
    assert_eq!(server.texts("standup").await[1], "ada: Late, sorry");
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_there_for_members() {
    let (server, mut ada, _bob) = two().await;
    for n in 1..=5 {
        server.serving.channels().apply("standup", person(&format!("No. {n}"))).await.unwrap();
    }
    ada.say(json!({"type": "history", "channel": "standup", "after": 1, "limit": 2, "id": "h"})).await;
    let history = ada.expect("history").await;
    let texts: Vec<_> =
        history["messages"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(
        (texts, &history["more"], &history["id"]),
        (vec!["No. 2", "No. 3"], &json!(true), &json!("h"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_two_channels_has_its_turns_apart() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    server.serving.channels().create("reviews", Default::default()).await.unwrap();
    server.serving.assign("reviews", "ada", "kim").await.unwrap();
    server.serving.assign("reviews", "bob", "kim").await.unwrap();
    clients[0].post("standup", "Here TURN_COMPLETE").await;
    server
        .until("standup", |channel| channel.turn.as_ref().is_some_and(|turn| turn.agent.as_str() == "bob"))
        .await;
    assert_eq!(server.state("reviews", "ada").await, "ACTIVE");
    clients[0].say(json!({"type": "goodbye"})).await;
    server
        .until("reviews", |channel| channel.turn.as_ref().is_some_and(|turn| turn.agent.as_str() == "bob"))
        .await;
    server.until("standup", |channel| channel.state_of(&"ada".into()).as_str() == "OFFLINE").await;
    server.members_are_in_step("reviews").await;
    server.members_are_in_step("standup").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_and_paused_agents_are_told() {
    let (server, mut ada, mut bob) = two().await;
    ada.expect("turn_granted").await;
    server.serving.channels().apply("standup", ChannelEvent::Paused { by: "kim".into() }).await.unwrap();
    assert_eq!(ada.expect("turn_suspended").await["why"], "channel_paused");
    server.serving.channels().apply("standup", ChannelEvent::Resumed { by: "kim".into() }).await.unwrap();
    ada.expect("resumed").await;
    server
        .serving
        .channels()
        .apply("standup", ChannelEvent::Removed { agent: "ada".into(), by: "kim".into() })
        .await
        .unwrap();
    assert_eq!(ada.expect("turn_ended").await["why"], "removed");
    assert_eq!(ada.expect("removed").await["by"], "kim");
    bob.expect("turn_granted").await;
}
