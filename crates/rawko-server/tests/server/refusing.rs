//! Invalid messages have defined responses.

use rawko_server::MESSAGE_BYTES_MAX;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn a_first_message_that_does_not_register_ends_the_connection() {
    let server = Setup::new().token("sesame").start().await;
    for (first, code) in [
        (json!({"type": "heartbeat"}).to_string(), "not_registered"),
        ("Hello?".to_owned(), "malformed"),
        (
            json!({"type": "register", "protocol": 2, "agent": "ada", "token": "sesame"}).to_string(),
            "unsupported_version",
        ),
        (json!({"type": "register", "protocol": 1, "agent": "ada"}).to_string(), "unauthorized"),
        (
            json!({"type": "register", "protocol": 1, "agent": "ada", "token": "sesamo"}).to_string(),
            "unauthorized",
        ),
        (
            json!({"type": "register", "protocol": 1, "agent": "a.b", "token": "sesame"}).to_string(),
            "invalid_name",
        ),
    ] {
        let mut client = server.connect().await;
        client.say_text(first.clone()).await;
        assert_eq!(client.ended().await, code, "{first}");
    }
    let mut client = server.connect().await;
    client.say(json!({"type": "register", "protocol": 1, "agent": "ada", "token": "sesame"})).await;
    client.expect("registered").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_may_not_connect() {
    let server = Setup::new().start().await;
    let address = server.address();
    let mut request = format!("ws://{address}/v1/agents").into_client_request().unwrap();
    request.headers_mut().insert("origin", "https://evil.example".parse().unwrap());
    assert!(tokio_tungstenite::connect_async(request).await.is_err());
    let mut request = format!("ws://{address}/v1/agents").into_client_request().unwrap();
    request.headers_mut().insert("origin", format!("http://{address}").parse().unwrap());
    assert!(tokio_tungstenite::connect_async(request).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_out_of_turn_twice_or_nonsense_is_answered_and_harms_nobody() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    let mut bob = clients.pop().unwrap();
    let mut ada = clients.pop().unwrap();
    ada.expect("turn_granted").await;

    bob.post("standup", "Me first").await;
    assert_eq!(bob.refused().await, "not_your_turn");
    bob.say(json!({"type": "message", "channel": "reviews", "text": "Hello"})).await;
    assert_eq!(bob.refused().await, "no_such_channel");
    bob.say_text("{\"type\": \"message\"").await;
    assert_eq!(bob.refused().await, "malformed");
    bob.say(json!({"type": "sing"})).await;
    assert_eq!(bob.refused().await, "malformed");
    bob.say(json!({"type": "register", "protocol": 1, "agent": "bob"})).await;
    assert_eq!(bob.refused().await, "already_registered");
    futures_util::SinkExt::send(&mut bob.socket, Message::Binary(vec![1, 2].into())).await.unwrap();
    assert_eq!(bob.refused().await, "malformed");
    bob.post("standup", &"x".repeat(MESSAGE_BYTES_MAX)).await;
    assert_eq!(bob.refused().await, "oversized");

    let message = json!({"type": "message", "channel": "standup", "text": "Hello", "id": "m-1"});
    ada.say(message.clone()).await;
    assert_eq!(ada.expect("accepted").await["number"], 1);
    ada.say(message).await;
    let again = ada.expect("accepted").await;
    assert_eq!((&again["number"], &again["duplicate"]), (&json!(1), &json!(true)));
    ada.post("standup", "   ").await;
    assert_eq!(ada.refused().await, "empty");
    assert_eq!(server.texts("standup").await, ["ada: Hello"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_speaks_only_nonsense_is_cut_off() {
    let server = Setup::new().start().await;
    let mut clients = server.channel("standup", &["ada", "bob"]).await;
    for _ in 0..21 {
        clients[0].say_text("?").await;
    }
    assert_eq!(clients[0].ended().await, "malformed");
    clients[1].expect("turn_granted").await;
    assert_eq!(server.state("standup", "ada").await, "OFFLINE");
}
