//! Requests to people, over all instances, and their answers.

use serde_json::{Value, json};

use crate::support::{Api, keys};

async fn asked(api: &Api, query: &str) -> (Vec<String>, Value) {
    let list = api.get(&format!("/v1/approvals{query}")).await.ok();
    let all = list["approvals"].as_array().unwrap();
    (all.iter().map(|ask| keys(ask, &["id", "invoke", "chart"])).collect(), list)
}

#[tokio::test]
async fn what_is_asked_is_listed_and_answered() {
    let api = Api::start().await;
    assert_eq!(asked(&api, "").await.0, [""; 0]);
    api.order("o-1").await;
    api.send("o-1", "BIG", json!(null)).await;
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1"})).await.ok();
    api.send("p-1.order.0", "BIG", json!(null)).await;
    let (all, list) = asked(&api, "").await;
    assert_eq!(all, [r#""p-1.order.0" "approval" "order""#, r#""o-1" "approval" "order""#]);
    assert_eq!(keys(&list, &["total", "next"]), "2 null");
    let ask = &list["approvals"][1];
    assert_eq!(ask["input"]["title"], "May I?");
    let expires = ask["expires_ms"].as_i64().unwrap() - ask["since_ms"].as_i64().unwrap();
    assert_eq!(expires, 24 * 3_600_000);
    let (first, list) = asked(&api, "?limit=1").await;
    assert_eq!(first.len(), 1);
    let (second, list) = asked(&api, &format!("?limit=1&cursor={}", list["next"].as_str().unwrap())).await;
    assert_eq!(keys(&list, &["next"]), "null");
    assert_eq!([first, second].concat(), all);

    let wrong = api.post("/v1/instances/o-1/answer", json!({"approved": true, "invoke": "other"})).await;
    assert_eq!(wrong.problem(), "409 not_asked");
    let yes = json!({"approved": true, "by": "ada", "comment": "fine"});
    api.post("/v1/instances/o-1/answer", yes).await.ok();
    let document = api.get("/v1/instances/o-1").await.ok();
    assert_eq!(keys(&document, &["configuration"]), r#"["work.packing"]"#);
    assert_eq!(document["context"]["note"], "ada");
    // Answering on the parent answers the child.
    api.post("/v1/instances/p-1/answer", json!({"approved": false})).await.ok();
    assert_eq!(api.get("/v1/instances/p-1.order.0").await.ok()["status"], "ended");
    assert_eq!(asked(&api, "").await.0, [""; 0]);
    api.stop().await;
}

/// The document of an instance names the time of a request, and an answer with it counts for that request only.
#[tokio::test]
async fn an_answer_to_an_earlier_request_is_refused() {
    let api = Api::start().await;
    api.order("o-1").await;
    api.send("o-1", "BIG", json!(null)).await;
    let ask = api.get("/v1/instances/o-1").await.ok()["waits"]["asks"][0].clone();
    let since_ms = ask["since_ms"].as_i64().unwrap();
    let answer = |since_ms: i64| json!({"invoke": "approval", "since_ms": since_ms, "approved": true});
    let stale = api.post("/v1/instances/o-1/answer", answer(since_ms - 1)).await;
    assert_eq!(stale.problem(), "409 superseded");
    api.post("/v1/instances/o-1/answer", answer(since_ms)).await.ok();
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["configuration"][0], "work.packing");
    api.stop().await;
}
