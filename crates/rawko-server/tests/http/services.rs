//! The socket of programs that provide services: who may connect, and the refusals.

use rawko_host::{Environment, RemoteServices, Settings};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::{SECRETS, TestServer, guarded, start, tokens};

/// The queue of a project with one remote service.
fn queue() -> RemoteServices {
    let text = "services: {charge: {remote: {}, input: {type: integer}}}\n";
    let source = rawko_chart::SourceFile::new(".rawko/config.yaml", text);
    let (settings, _) = Settings::of_source(&source, &Environment::default());
    drop(settings.services(std::path::Path::new(".")));
    settings.remote_services().open();
    settings.remote_services().clone()
}

/// Connects and sends a first message; returns the word of the answer: a type, or the code of an error.
async fn first(server: &TestServer, bearer: Option<&str>, message: &Value) -> String {
    use futures_util::{SinkExt, StreamExt};
    let mut request = format!("ws://{}/v1/services", server.address()).into_client_request().unwrap();
    if let Some(bearer) = bearer {
        request.headers_mut().insert("authorization", format!("Bearer {bearer}").parse().unwrap());
    }
    let mut socket = match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => socket,
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
            return response.status().as_str().to_owned();
        }
        Err(error) => panic!("{error}"),
    };
    socket.send(message.to_string().into()).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
    let word = if answer["type"] == "error" { &answer["code"] } else { &answer["type"] };
    word.as_str().unwrap().to_owned()
}

fn register(changes: &Value) -> Value {
    let mut message = json!({"type": "register", "protocol": 1, "name": "shop", "concurrency": 2,
        "services": [{"name": "charge"}]});
    for (key, value) in changes.as_object().unwrap() {
        message[key] = value.clone();
    }
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_role_service_and_an_administrator_provide_services() {
    let server = start(tokens(), |options| options.services = queue()).await;
    let [(_, read), (_, operate), (_, admin), (_, agent), (_, service)] = SECRETS;
    let table = [
        (None, None, "unauthorized"),
        (None, Some("nonsense"), "unauthorized"),
        (None, Some(read), "unauthorized"),
        (None, Some(operate), "unauthorized"),
        (None, Some(agent), "unauthorized"),
        (Some("nonsense"), None, "401"),
        (Some(read), None, "403"),
        (Some(operate), Some(service), "403"),
        (Some(agent), None, "403"),
        (None, Some(service), "registered"),
        (Some(service), None, "registered"),
        (Some(admin), None, "registered"),
    ];
    for (bearer, token, expected) in table {
        let word = first(&server, bearer, &register(&json!({"token": token}))).await;
        assert_eq!(word, expected, "{bearer:?} {token:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_refused_with_its_reason() {
    let server = start(tokens(), |options| options.services = queue()).await;
    let service = SECRETS[4].1;
    let table = [
        (json!({"type": "heartbeat"}), "not_registered"),
        (json!("hello"), "malformed"),
        (register(&json!({"protocol": 2})), "unsupported_version"),
        (register(&json!({"name": "the shop"})), "invalid_name"),
        (register(&json!({"concurrency": 0})), "invalid_concurrency"),
        (register(&json!({"services": []})), "no_services"),
        (register(&json!({"services": [{"name": "other"}]})), "unknown_service"),
        (
            register(&json!({"services": [{"name": "charge", "input": {"type": "string"}}]})),
            "schema_mismatch",
        ),
        (register(&json!({"services": [{"name": "charge", "output": {"type": 7}}]})), "invalid_schema"),
        (register(&json!({"services": [{"name": "charge", "input": {"type": "integer"}}]})), "registered"),
    ];
    for (message, expected) in table {
        assert_eq!(first(&server, Some(service), &message).await, expected, "{message}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_services_opens_nothing_else() {
    let server = guarded().await;
    let secret = SECRETS[4].1;
    let log_in = server.post("/v1/session", json!({"token": secret})).send().await;
    assert_eq!((log_in.status, log_in.header("set-cookie")), (403, None));
    for upgrade in ["websocket", "h2c", "anything", ""] {
        let answer = server.get("/v1/services").header("upgrade", upgrade).send().await;
        assert!([400, 401].contains(&answer.status), "{upgrade}: {answer:?}");
    }
    assert_eq!(server.get("/v1/services").token(secret).send().await.status, 403);
    server.stop().await;
}
