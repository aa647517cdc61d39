//! Agents, and the socket on the same path.

use rawko_server::Role;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::{SECRETS, TestServer, guarded, open};

#[tokio::test(flavor = "multi_thread")]
async fn agents_and_how_they_are() {
    let server = open().await;
    server.post("/v1/channels", json!({"name": "den", "agents": ["builder"]})).send().await;
    let agents = server.get("/v1/agents").send().await.json();
    assert_eq!(
        agents,
        json!({"agents": [
            {"name": "builder", "displayName": "BUILDER", "kind": "llm", "model": null, "description": "Builds.",
             "file": ".rawko/agents/builder.md", "health": {"state": "ok", "message": "asks a model"},
             "connected": false, "channels": ["den"], "busy": 0, "calls": 0, "failures": 0, "cost_usd": 0.0},
            {"name": "stray", "displayName": "STRAY", "kind": "llm", "model": null, "description": "Builds.",
             "file": ".rawko/agents/stray.md", "health": {"state": "broken", "message": "its file has mistakes"},
             "connected": false, "channels": [], "busy": 0, "calls": 0, "failures": 0, "cost_usd": 0.0},
        ]})
    );
    server.stop().await;
}

/// Connects and registers as `agent`, the name of the token of an agent; returns the server's first message.
async fn register(server: &TestServer, bearer: Option<&str>, token: Option<&str>) -> Value {
    use futures_util::{SinkExt, StreamExt};
    let mut request = format!("ws://{}/v1/agents", server.address()).into_client_request().unwrap();
    if let Some(bearer) = bearer {
        request.headers_mut().insert("authorization", format!("Bearer {bearer}").parse().unwrap());
    }
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let hello =
        json!({"type": "register", "protocol": 1, "agent": "agent", "observe": false, "token": token});
    socket.send(hello.to_string().into()).await.unwrap();
    let first = socket.next().await.unwrap().unwrap();
    serde_json::from_str(first.to_text().unwrap()).unwrap()
}

/// An agent that connects by itself is listed before anyone assigns it to a channel.
#[tokio::test(flavor = "multi_thread")]
async fn a_connected_agent_without_a_channel_is_listed() {
    use futures_util::{SinkExt, StreamExt};
    let server = open().await;
    let request = format!("ws://{}/v1/agents", server.address()).into_client_request().unwrap();
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let hello = json!({"type": "register", "protocol": 1, "agent": "ada", "observe": false});
    socket.send(hello.to_string().into()).await.unwrap();
    socket.next().await.unwrap().unwrap();
    let agents = server.get("/v1/agents").send().await.json();
    let ada = agents["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "ada").unwrap();
    assert_eq!(
        (&ada["kind"], &ada["connected"], &ada["channels"]),
        (&json!("remote"), &json!(true), &json!([]))
    );
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_needs_a_token_of_an_agent_or_one_that_may_operate() {
    let server = guarded().await;
    let [(_, read), (_, operate), (_, admin), (_, agent), (_, service)] = SECRETS;
    let table = [
        (None, None, "unauthorized"),
        (None, Some("nonsense"), "unauthorized"),
        (None, Some(read), "unauthorized"),
        (Some(read), None, "unauthorized"),
        (None, Some(service), "unauthorized"),
        (Some(service), None, "unauthorized"),
        (None, Some(operate), "registered"),
        (None, Some(agent), "registered"),
        (Some(agent), None, "registered"),
        (Some(operate), None, "registered"),
        (Some(admin), None, "registered"),
        (Some(read), Some(operate), "registered"),
    ];
    for (bearer, token, expected) in table {
        let first = register(&server, bearer, token).await;
        let word = if first["type"] == "error" { &first["code"] } else { &first["type"] };
        assert_eq!(word, expected, "{bearer:?} {token:?}");
    }
    server.stop().await;
}

/// The list requires a role; an upgrade header must not bypass that.
#[tokio::test(flavor = "multi_thread")]
async fn a_header_is_no_way_around_the_guard() {
    let server = guarded().await;
    for upgrade in ["websocket", "h2c", "anything", ""] {
        let answer = server.get("/v1/agents").header("upgrade", upgrade).send().await;
        assert!([400, 401].contains(&answer.status), "{upgrade}: {answer:?}");
        let answer = server.get("/v1/charts").header("upgrade", upgrade).send().await;
        assert_eq!(answer.status, 401, "{upgrade}");
    }
    assert_eq!(server.get("/v1/agents").role(Role::Read).send().await.status, 200);
    server.stop().await;
}
