//! A repeated request is applied once.

use rawko_server::Role;
use serde_json::json;

use crate::support::{guarded, open};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_and_body_get_the_first_answer() {
    let server = open().await;
    let ask = || server.post("/v1/channels", json!({"name": "den"})).header("idempotency-key", "k-1");
    let (first, second) = (ask().send().await, ask().send().await);
    assert_eq!((first.status, second.status), (201, 201), "{second:?}");
    assert_eq!((&first.text, first.headers_sorted()), (&second.text, second.headers_sorted()));
    let anew = server.post("/v1/channels", json!({"name": "den"})).send().await;
    assert_eq!((anew.status, anew.problem().as_str()), (409, "exists"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_done_once() {
    let server = open().await;
    server.post("/v1/channels", json!({"name": "den"})).send().await;
    let ask =
        || server.post("/v1/channels/den/messages", json!({"text": "hello"})).header("idempotency-key", "k");
    let asks: Vec<_> = (0..20).map(|_| tokio::spawn(ask().send())).collect();
    for asked in asks {
        let answer = asked.await.unwrap();
        assert_eq!((answer.status, answer.json()), (201, json!({"number": 1, "held": false})));
    }
    let said = server.get("/v1/channels/den/messages").send().await.json();
    assert_eq!(said["messages"].as_array().unwrap().len(), 1, "{said}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_for_one_body_one_path_and_one_caller() {
    let server = guarded().await;
    let ask = |role, path: &str, name: &str| {
        server.post(path, json!({"name": name})).role(role).header("idempotency-key", "k-1")
    };
    assert_eq!(ask(Role::Operate, "/v1/channels", "den").send().await.status, 201);
    let other = ask(Role::Operate, "/v1/channels", "attic").send().await;
    assert_eq!((other.status, other.problem().as_str()), (409, "idempotency_conflict"));
    assert_eq!(ask(Role::Admin, "/v1/channels", "attic").send().await.status, 201, "somebody else's key");
    let path = ask(Role::Operate, "/v1/charts/check", "den").send().await;
    assert_eq!(path.problem(), "invalid_body", "another path");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_for_its_own_reasons_is_remembered_too() {
    let server = open().await;
    let ask = || server.post("/v1/channels", json!({"name": "a b"})).header("idempotency-key", "k-2");
    assert_eq!((ask().send().await.status, ask().send().await.status), (422, 422));
    let long =
        server.post("/v1/channels", json!({"name": "den"})).header("idempotency-key", &"k".repeat(256));
    assert_eq!(long.send().await.problem(), "invalid_request");
    server.stop().await;
}
