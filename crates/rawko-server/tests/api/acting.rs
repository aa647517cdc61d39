//! Starting instances and acting on them; rejected requests and their codes.

use serde_json::{Value, json};

use crate::support::{Api, ORDER, keys};

const RECEIPT: [&str; 4] = ["instance", "step", "handled", "status"];

#[tokio::test]
async fn starting() {
    let api = Api::start().await;
    let named =
        api.post("/v1/instances", json!({"chart": "order@^1", "id": "größe", "input": {"amount": 5}})).await;
    assert_eq!(named.status, 201);
    assert!(named.head.contains("location: /v1/instances/gr%c3%b6%c3%9fe"), "{}", named.head);
    assert_eq!(keys(&named.json(), &RECEIPT), r#""größe" 0 true "active""#);
    let read = api.get("/v1/instances/gr%C3%B6%C3%9Fe").await.ok();
    assert_eq!(read["context"]["amount"], 5);
    let own = ORDER.replace("id: order", "id: own");
    let made_up = api.post("/v1/instances", json!({"text": own, "budget": {"tokens": 100}})).await.ok();
    assert!(made_up["instance"].as_str().unwrap().starts_with("own-"), "{made_up}");
    let table = [
        (json!({"chart": "order", "id": "größe"}), "409 exists"),
        (json!({"chart": "nothing"}), "404 no_chart"),
        (json!({"chart": "order@^9"}), "404 no_version"),
        (json!({"chart": "order@>>"}), "422 invalid_body"),
        (json!({"chart": "order", "text": ORDER}), "422 invalid_body"),
        (json!({}), "422 invalid_body"),
        (json!({"text": "statechart: {id: x, initial: nowhere}"}), "422 invalid_chart"),
        (json!({"chart": "order", "id": "a b"}), "422 invalid_name"),
        (json!({"chart": "order", "id": ".."}), "422 invalid_name"),
        (json!({"chart": "order", "input": 7}), "422 invalid_body"),
        (json!({"chart": "order", "budget": {"tokens": -1}}), "422 invalid_body"),
        (json!({"chart": "order", "budget": {"patience": 1}}), "422 invalid_body"),
        (json!({"chart": "order", "colour": "red"}), "422 invalid_body"),
    ];
    for (body, expected) in table {
        assert_eq!(api.post("/v1/instances", body.clone()).await.problem(), expected, "{body}");
    }
    api.stop().await;
}

#[tokio::test]
async fn sending_cancelling_retrying_and_forking() {
    let api = Api::start().await;
    api.order("o-1").await;
    let at = |path: &str| format!("/v1/instances/o-1/{path}");
    let table: [(&str, Value, &str); 6] = [
        ("events", json!({"type": "PAY", "data": {"amount": 1}}), r#""o-1" 1 false "active""#),
        ("events", json!({"type": "NOTE", "data": "hurry"}), r#""o-1" 2 true "active""#),
        ("events", json!({"type": "BACK"}), r#""o-1" 3 false "active""#),
        ("events", json!({"type": "BREAK"}), r#""o-1" 4 true "active""#),
        (
            "fork",
            json!({"at": 2, "set": {"amount": "context.amount * 2"}, "id": "f-1"}),
            r#""f-1" 2 true "active""#,
        ),
        ("fork", json!({"at": 0, "id": "f-2"}), r#""f-2" 0 true "active""#),
    ];
    for (path, body, expected) in table {
        assert_eq!(keys(&api.post(&at(path), body.clone()).await.ok(), &RECEIPT), expected, "{path} {body}");
    }
    let fork = api.get("/v1/instances/f-1").await.ok();
    assert_eq!(fork["context"], json!({"amount": 20, "paid": 0, "note": "hurry"}));
    assert_eq!(fork["forked_from"], json!({"id": "o-1", "step": 2}));
    // The service fails every time.
    api.host.settled("o-1", std::time::Duration::ZERO).await.unwrap();
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["failure"]["invoke"], "charge");
    assert_eq!(api.ask("POST", &at("retry"), &[], None).await.ok()["instance"], "o-1");
    api.host.settled("o-1", std::time::Duration::ZERO).await.unwrap();
    assert_eq!(api.post(&at("cancel"), json!({"reason": "enough"})).await.ok()["status"], "cancelled");
    api.stop().await;
}

#[tokio::test]
async fn an_instance_is_migrated_to_another_version_and_back() {
    let api = Api::start().await;
    api.order("o-1").await;
    let before = api.get("/v1/instances/o-1").await.ok();
    let edition = api.host.library().resolve("order").unwrap();
    let next = edition.text.replacen(edition.chart.version(), "9.0.0", 1);
    api.host.library().offer(rawko_host::Edition::read("order.yaml", &next).unwrap());
    let migrate = |body: Value| async { api.post("/v1/instances/o-1/migrate", body).await.ok() };
    let dry = migrate(json!({"to": "order@9.0.0"})).await;
    assert_eq!((dry["verdict"].clone(), dry["reasons"].clone()), (json!("possible"), json!([])));
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["version"], before["version"]);
    let done = migrate(json!({"to": "order@9.0.0", "apply": true})).await;
    assert_eq!(
        (done["verdict"].clone(), done["configuration"].clone()),
        (json!("migrated"), dry["configuration"].clone())
    );
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["version"], "9.0.0");
    assert_eq!(migrate(json!({"back": true, "apply": true})).await["verdict"], "migrated");
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["version"], before["version"]);
    api.stop().await;
}

#[tokio::test]
async fn what_is_refused() {
    let api = Api::start().await;
    api.order("o-1").await;
    api.order("over").await;
    api.post("/v1/instances/over/cancel", json!({})).await.ok();
    let table: [(&str, Value, &str); 20] = [
        ("nobody/migrate", json!({"to": "order"}), "404 no_instance"),
        ("o-1/migrate", json!({}), "422 invalid_body"),
        ("o-1/migrate", json!({"to": "order@7"}), "404 no_version"),
        ("o-1/migrate", json!({"to": "order", "map": {"stats": {}}}), "422 invalid_chart"),
        ("nobody/events", json!({"type": "PAY"}), "404 no_instance"),
        ("nobody/cancel", json!({}), "404 no_instance"),
        ("nobody/fork", json!({}), "404 no_instance"),
        ("nobody/answer", json!({"approved": true}), "404 no_instance"),
        ("nobody/retry", json!({}), "404 no_instance"),
        ("o-1/retry", json!({}), "409 not_failed"),
        ("o-1/answer", json!({"approved": true}), "409 nothing_asked"),
        ("o-1/answer", json!({}), "422 invalid_body"),
        ("o-1/events", json!({"type": ""}), "422 invalid_body"),
        ("o-1/events", json!({"data": 1}), "422 invalid_body"),
        ("o-1/events", json!({"type": "x".repeat(201)}), "422 invalid_body"),
        ("o-1/events", json!({"type": "UNHEARD_OF"}), "422 event_refused"),
        ("o-1/fork", json!({"at": 7}), "404 no_step"),
        ("o-1/fork", json!({"set": {"nothing": "1"}}), "422 invalid_edit"),
        ("o-1/fork", json!({"id": "over"}), "409 exists"),
        ("over/events", json!({"type": "PAY"}), "409 over"),
    ];
    for (path, body, expected) in table {
        let answer = api.post(&format!("/v1/instances/{path}"), body.clone()).await;
        assert_eq!(answer.problem(), expected, "{path} {body}");
    }
    api.stop().await;
}

#[tokio::test]
async fn a_delivery_with_a_key_is_taken_once_also_after_a_restart() {
    let api = Api::start().await;
    api.order("o-1").await;
    let key = [("idempotency-key", "payment-8841")];
    let note = json!({"type": "NOTE", "data": "first"});
    let first = api.ask("POST", "/v1/instances/o-1/events", &key, Some(note.clone())).await.ok();
    assert_eq!(first["step"], 1);
    let again = api.ask("POST", "/v1/instances/o-1/events", &key, Some(note.clone())).await.ok();
    assert_eq!(again, first);
    let api = Api::after(api.stop().await).await;
    let later = api.ask("POST", "/v1/instances/o-1/events", &key, Some(note)).await.ok();
    assert_eq!(later["step"], 1);
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["last_step"], 1);
    api.stop().await;
}

#[tokio::test]
async fn a_start_with_a_key_is_one_instance_also_after_a_restart() {
    let api = Api::start().await;
    let start = json!({"chart": "order"});
    let key = [("idempotency-key", "cart-17")];
    let first = api.ask("POST", "/v1/instances", &key, Some(start.clone())).await.ok();
    let api = Api::after(api.stop().await).await;
    let again = api.ask("POST", "/v1/instances", &key, Some(start.clone())).await.ok();
    assert_eq!(again["instance"], first["instance"]);
    let other = api.ask("POST", "/v1/instances", &[("idempotency-key", "cart-18")], Some(start)).await.ok();
    assert_ne!(other["instance"], first["instance"]);
    assert_eq!(api.get("/v1/instances").await.ok()["total"], 2);
    api.stop().await;
}

#[tokio::test]
async fn pausing_and_resuming() {
    let api = Api::start().await;
    api.order("o-1").await;
    let receipt = ["handled", "queued"];
    let table: [(&str, Value, &str, &str); 6] = [
        ("pause", json!(null), "true false", "paused"),
        ("pause", json!(null), "false false", "paused"),
        ("events", json!({"type": "NOTE", "data": "hurry"}), "false true", "paused"),
        ("resume", json!(null), "true false", "waiting"),
        ("resume", json!(null), "false false", "waiting"),
        ("pause", json!(null), "true false", "paused"),
    ];
    for (path, body, expected, status) in table {
        let told = api.post(&format!("/v1/instances/o-1/{path}"), body).await.ok();
        assert_eq!(keys(&told, &receipt), expected, "{path}");
        let read = api.get("/v1/instances/o-1").await.ok();
        assert_eq!(read["status"], status, "{path}");
        assert_eq!(read["hint"].is_null(), status == "waiting", "{path}: {}", read["hint"]);
    }
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["context"]["note"], "hurry");
    assert_eq!(api.post("/v1/instances/o-1/retry", json!(null)).await.problem(), "409 paused");
    assert_eq!(api.post("/v1/instances/missing/pause", json!(null)).await.problem(), "404 no_instance");
    let lines = api.host.reader().store().audit(Some("o-1"), 100).unwrap();
    let by: Vec<_> = lines.iter().map(|line| format!("{} {}", line.decision, line.reason)).collect();
    // Without tokens there is no name; `rawko serve` always has one.
    assert_eq!(by, ["paused ", "resumed ", "paused "]);
    api.post("/v1/instances/o-1/cancel", json!({})).await.ok();
    assert_eq!(
        keys(&api.get("/v1/instances/o-1").await.ok(), &["status", "outcome"]),
        r#""ended" "cancelled""#
    );
    assert_eq!(api.post("/v1/instances/o-1/pause", json!(null)).await.problem(), "409 over");
    api.stop().await;
}

#[tokio::test]
async fn ended_instances_are_removed_with_their_children() {
    let api = Api::start().await;
    for id in ["o-1", "o-2", "o-3"] {
        api.order(id).await;
    }
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1"})).await.ok();
    for id in ["o-1", "p-1"] {
        api.post(&format!("/v1/instances/{id}/cancel"), json!({})).await.ok();
    }
    // The child hears of it by a message.
    while api.get("/v1/instances/p-1.order.0").await.ok()["status"] != "ended" {
        tokio::task::yield_now().await;
    }
    let table = [
        (json!({"ids": []}), "422 invalid_body"),
        (json!({"ids": ["o-1", "o-2"]}), "409 not_removable"),
        (json!({"ids": ["p-1.order.0"]}), "409 not_removable"),
        (json!({"ids": ["o-1", "nothing"]}), "404 no_instance"),
    ];
    for (body, expected) in table {
        assert_eq!(api.post("/v1/prune", body.clone()).await.problem(), expected, "{body}");
    }
    assert_eq!(api.get("/v1/instances?children=true").await.ok()["total"], 5, "nothing was removed");
    let removed = api.post("/v1/prune", json!({"ids": ["o-1", "p-1", "o-1"]})).await.ok();
    assert_eq!(removed, json!({"removed": 3}));
    assert_eq!(api.get("/v1/instances?children=true").await.ok()["total"], 2);
    for id in ["o-1", "p-1", "p-1.order.0"] {
        assert_eq!(api.get(&format!("/v1/instances/{id}")).await.problem(), "404 no_instance", "{id}");
        let event = json!({"type": "NOTE"});
        let sent = api.post(&format!("/v1/instances/{id}/events"), event).await;
        assert_eq!(sent.problem(), "404 no_instance", "{id}");
    }
    // The others continue, and the id is free again.
    api.send("o-2", "NOTE", json!("still here")).await;
    api.order("o-1").await;
    assert_eq!(api.get("/v1/instances/o-1").await.ok()["step"], 0);
    let folder = api.stop().await;
    let api = Api::after(folder).await;
    assert_eq!(api.get("/v1/instances?children=true").await.ok()["total"], 3);
    assert_eq!(api.get("/v1/instances/o-2").await.ok()["context"]["note"], "still here");
    api.stop().await;
}
