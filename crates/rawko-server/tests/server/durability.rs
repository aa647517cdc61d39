//! State that survives any kind of server stop.

use rawko_turns::ChannelEvent;
use serde_json::json;

use crate::support::Setup;

fn person(text: &str) -> ChannelEvent {
    ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: text.into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_turn_deadline_and_messages_are_there_again() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    clients[0].expect("turn_granted").await;
    clients[0].post("standup", "I begin").await;
    server.until("standup", |channel| channel.posted == 1).await;
    server.serving.channels().apply("standup", person("Go on")).await.unwrap();
    server.until("standup", |channel| channel.posted == 2).await;
    let before = server.serving.channels().look("standup").await.unwrap().channel.clone();
    let session = clients[0].session.clone();
    let folder = server.stop().await;

    let server = Setup::new().after(&folder).start().await;
    let now = server.serving.channels().look("standup").await.unwrap().channel.clone();
    assert_eq!((&now.turn, &now.order, now.posted), (&before.turn, &before.order, before.posted));
    assert_eq!(server.texts("standup").await, ["ada: I begin", "kim: Go on"]);
    let mut ada = server.connect().await;
    ada.say(json!({"type": "register", "protocol": 1, "agent": "ada", "session": session})).await;
    assert_eq!(ada.expect("registered").await["resumed"], true);
    assert_eq!(ada.expect("turn_granted").await["messages"][0]["text"], "Go on");
    server.members_are_in_step("standup").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_past_its_deadline_is_advanced_as_recovery() {
    let server = Setup::with("defaultTimeoutSeconds: 600\nreconnectGraceSeconds: 600").start().await;
    let _clients = server.channel("standup", &["ada", "bob"]).await;
    let options =
        rawko_turns::TurnOptions { timeout_ms: Some(1), grace_ms: Some(600_000), ..Default::default() };
    server.serving.channels().apply("standup", ChannelEvent::Paused { by: "kim".into() }).await.unwrap();
    let scope = rawko_turns::OptionScope::Channel;
    server.serving.channels().apply("standup", ChannelEvent::OptionsSet { scope, options }).await.unwrap();
    // The turn resumes with almost no time left, and the server stops before or just after its end.
    server.serving.channels().apply("standup", ChannelEvent::Skipped { by: "kim".into() }).await.unwrap();
    server.serving.channels().apply("standup", ChannelEvent::Resumed { by: "kim".into() }).await.unwrap();
    let folder = server.stop().await;
    let server = Setup::with("reconnectGraceSeconds: 600").after(&folder).start().await;
    server.until("standup", |channel| channel.turn.is_none()).await;
    assert!(server.texts("standup").await.contains(&"channel: ⏱️ bob turn timed out".to_owned()));
    server.members_are_in_step("standup").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_read_from_the_journal() {
    let server = Setup::new().start().await;
    server.serving.channels().create("log", Default::default()).await.unwrap();
    for n in 1..=300 {
        server.serving.channels().apply("log", person(&format!("No. {n}"))).await.unwrap();
    }
    let first = server.serving.channels().messages("log", 0, 2).await.unwrap();
    assert_eq!(first.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["No. 1", "No. 2"]);
    let folder = server.stop().await;
    let server = Setup::new().after(&folder).start().await;
    let last = server.serving.channels().messages("log", 298, 10).await.unwrap();
    assert_eq!(last.iter().map(|it| it.number).collect::<Vec<_>>(), [299, 300]);
    assert_eq!(server.texts("log").await.len(), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_channel_is_gone_and_its_name_is_not_free() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada"]).await;
    server.serving.channels().close("standup", "kim").await.unwrap();
    clients[0].expect("removed").await;
    assert_eq!(server.serving.channels().names().unwrap(), Vec::<String>::new());
    assert_eq!(server.serving.channels().look("standup").await.unwrap_err().code(), "no_such_channel");
}
