//! Connections that break, reconnect, or exist twice.

use rawko_turns::{ChannelEvent, OptionScope, TurnOptions};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::MaybeTlsStream;

use crate::support::{Client, Setup, TestServer};

async fn grace(server: &TestServer, ms: u64) {
    let options = TurnOptions { grace_ms: Some(ms), ..TurnOptions::default() };
    server
        .serving
        .channels()
        .apply("standup", ChannelEvent::OptionsSet { scope: OptionScope::Channel, options })
        .await
        .unwrap();
}

/// Sends the first half of a message and disconnects.
async fn cut_in_mid_message(client: Client) {
    let mut socket = client.socket.into_inner();
    // A text frame that announces 100 masked bytes, and contains three.
    let begin = [0x81, 0x80 | 100, 1, 2, 3, 4, b'{' ^ 1, b'"' ^ 2, b't' ^ 3];
    let MaybeTlsStream::Plain(stream) = &mut socket else { panic!("no TLS here") };
    stream.write_all(&begin).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_cut_in_mid_message_resumes_with_its_session() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    let mut ada = clients.remove(0);
    ada.expect("turn_granted").await;
    ada.post("standup", "I begin").await;
    server.until("standup", |channel| channel.posted == 1).await;
    let session = ada.session.clone();
    cut_in_mid_message(ada).await;
    server.until("standup", |channel| channel.members["ada"].grace_due_ms.is_some()).await;
    assert_eq!(server.state("standup", "ada").await, "ACTIVE");

    let mut ada = server.connect().await;
    ada.say(json!({"type": "register", "protocol": 1, "agent": "ada", "session": session})).await;
    let registered = ada.expect("registered").await;
    assert_eq!((&registered["resumed"], &registered["session"]), (&json!(true), &json!(session)));
    assert_eq!(registered["channels"], json!([{"channel": "standup", "state": "ACTIVE"}]));
    let granted = ada.expect("turn_granted").await;
    assert_eq!((&granted["turn"], &granted["again"]), (&json!(1), &json!(true)));
    ada.post("standup", "and end. TURN_COMPLETE").await;
    clients[0].expect("turn_granted").await;
    assert_eq!(server.texts("standup").await, ["ada: I begin", "ada: and end."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_come_back_in_time_is_offline_and_the_turn_goes_on() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    grace(&server, 50).await;
    cut_in_mid_message(clients.remove(0)).await;
    clients[0].expect("turn_granted").await;
    assert_eq!(server.state("standup", "ada").await, "OFFLINE");
    assert_eq!(server.texts("standup").await, ["channel: ⚠️ ada disconnected, skipping turn"]);
    server.members_are_in_step("standup").await;

    let _ada = server.agent("ada").await;
    server.until("standup", |channel| channel.state_of(&"ada".into()).as_str() == "IDLE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_connections_with_one_name_the_newer_wins() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    let mut newer = server.connect().await;
    let session = clients[0].session.clone();
    newer.say(json!({"type": "register", "protocol": 1, "agent": "ada", "session": session})).await;
    assert_eq!(newer.expect("registered").await["resumed"], true);
    assert_eq!(clients[0].ended().await, "superseded");
    assert_eq!(newer.expect("turn_granted").await["turn"], 1);

    // Without the session it is a new process, and the state of the older one is discarded.
    let mut stranger = server.connect().await;
    stranger.say(json!({"type": "register", "protocol": 1, "agent": "ada"})).await;
    assert_eq!(stranger.expect("registered").await["resumed"], false);
    assert_eq!(newer.ended().await, "superseded");
    clients[1].expect("turn_granted").await;
    assert_eq!(server.state("standup", "ada").await, "IDLE");
}
