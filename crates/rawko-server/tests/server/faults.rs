//! Agents that misbehave. The turns of other agents are not affected.

use std::time::Duration;

use futures_util::SinkExt;
use rawko_turns::ChannelEvent;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::Setup;

fn person(text: String) -> ChannelEvent {
    ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_is_cut_and_the_others_go_on() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    let mut slow = server.connect().await;
    slow.say(json!({"type": "register", "protocol": 1, "agent": "slow"})).await;
    slow.expect("registered").await;
    server.serving.assign("standup", "slow", "kim").await.unwrap();
    clients[0].expect("turn_granted").await;
    // Far more than sockets and queues hold; `slow` subscribed to messages but never reads.
    let mut posted = 0;
    while server.state("standup", "slow").await != "OFFLINE" {
        server.serving.channels().apply("standup", person("x".repeat(100_000))).await.unwrap();
        posted += 1;
        assert!(posted < 2_000, "the slow reader is never cut");
        clients[0].expect("message").await;
    }
    clients[0].post("standup", "Still here. TURN_COMPLETE").await;
    clients[1].expect("turn_granted").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_throttled_then_cut_and_the_others_go_on() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob", "flood"]).await;
    // They talk for more rounds than the guard against endless talk allows.
    let options = rawko_turns::TurnOptions { stuck_after_rounds: Some(0), ..Default::default() };
    let scope = rawko_turns::OptionScope::Channel;
    server.serving.channels().apply("standup", ChannelEvent::OptionsSet { scope, options }).await.unwrap();
    let mut flood = clients.pop().unwrap();
    let flooding = tokio::spawn(async move {
        let text = json!({"type": "message", "channel": "standup", "text": "!"}).to_string();
        // Until the server cuts the connection.
        while flood.socket.send(Message::Text(text.clone().into())).await.is_ok() {}
    });
    for round in 0..20 {
        let client = &mut clients[round % 2];
        client.expect("turn_granted").await;
        client.post("standup", "On topic. TURN_COMPLETE").await;
        // If `flood` has the turn, it must have started before it can be skipped.
        let name = ["ada", "bob"][round % 2].into();
        server.until("standup", |channel| channel.turn.as_ref().is_none_or(|turn| turn.agent != name)).await;
        if server.state("standup", "flood").await == "ACTIVE" {
            server
                .serving
                .channels()
                .apply("standup", ChannelEvent::Skipped { by: "kim".into() })
                .await
                .unwrap();
        }
    }
    server.until("standup", |channel| channel.state_of(&"flood".into()).as_str() == "OFFLINE").await;
    flooding.await.unwrap();
    assert!(server.texts("standup").await.iter().filter(|text| *text == "ada: On topic.").count() >= 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_heartbeats_missed_and_the_turn_goes_on() {
    let server = Setup::with("heartbeatSeconds: 1").start().await;
    // A client that is not polled answers no ping, like a process that hangs.
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    let mut bob = clients.pop().unwrap();
    tokio::time::timeout(Duration::from_secs(60), bob.expect("turn_granted")).await.unwrap();
    assert_eq!(server.state("standup", "ada").await, "OFFLINE");
    let log = server
        .log
        .lock()
        .unwrap()
        .iter()
        .map(|entry| serde_json::to_string(entry).unwrap())
        .collect::<Vec<_>>();
    assert!(
        log.iter().any(|line| line.contains("Agent crashes") && line.contains("three heartbeats missed")),
        "{log:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_that_connects_and_vanishes_leaves_nothing_behind() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    for n in 0..50 {
        let mut passer = server.connect().await;
        if n % 2 == 0 {
            passer.say(json!({"type": "register", "protocol": 1, "agent": format!("p{n}")})).await;
        }
    }
    clients[0].post("standup", "Quiet here. TURN_COMPLETE").await;
    clients[1].expect("turn_granted").await;
}
