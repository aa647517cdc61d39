//! One instance: the document, now and after a past step; its drawing; its children.

use serde_json::{Value, json};

use crate::support::{Api, keys};

#[tokio::test]
async fn an_instance_now_and_after_each_step() {
    let api = Api::start().await;
    api.order("o-1").await;
    api.send("o-1", "PAY", json!({"amount": 12})).await;
    api.send("o-1", "SHIP", json!(null)).await;
    let table = [
        ("?at=0", json!([0, ["open"], ["open"], 0, ["PAY", "NOTE", "BIG", "BREAK"]])),
        ("?at=1", json!([1, ["work.packing"], ["work", "work.packing"], 12, ["DONE", "SHIP"]])),
        ("", json!([2, ["work.shipped"], ["work", "work.shipped"], 12, ["DONE", "BACK"]])),
    ];
    for (at, expected) in table {
        let mut document = api.get(&format!("/v1/instances/o-1{at}")).await.ok();
        assert_eq!(document["last_step"], 2, "{at}");
        let mut told = ["step", "configuration", "active"].map(|key| document[key].take()).to_vec();
        told.extend([document["context"]["paid"].take(), document["waits"]["events"].take()]);
        assert_eq!(Value::Array(told), expected, "{at}");
    }
    api.stop().await;
}

#[tokio::test]
async fn a_document_holds_the_rest_of_it() {
    let api = Api::start().await;
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1", "input": {"who": "kim"}})).await.ok();
    api.send("p-1.child.0", "BIG", json!(null)).await;
    let document = api.get("/v1/instances/p-1").await.ok();
    assert_eq!(document["v"], 1);
    assert_eq!(document["input"], json!({"who": "kim"}));
    assert_eq!(document["children"], json!(["p-1.child.0"]));
    assert_eq!(keys(&document["child_rows"][0], &["id", "configuration"]), r#""p-1.child.0" ["asking"]"#);
    assert_eq!(
        keys(&document["running"][0], &["invoke", "src", "kind"]),
        r#""child" "statechart:order" "child""#
    );
    let ask = &document["waits"]["asks"][0];
    assert_eq!(keys(ask, &["id", "invoke"]), r#""p-1.child.0" "approval""#);
    assert_eq!(ask["input"]["title"], "May I?");
    let children = api.get("/v1/instances/p-1/children").await.ok();
    assert_eq!(children["instances"], document["child_rows"]);
    api.stop().await;
}

#[tokio::test]
async fn the_drawing_has_the_active_states_lit() {
    let api = Api::start().await;
    api.order("o-1").await;
    api.send("o-1", "PAY", json!({"amount": 12})).await;
    let lit = |svg: &str| -> Vec<String> {
        let is_lit = |part: &&str| part.split('>').next().unwrap().contains(" active");
        let lit = svg.split("<g ").filter(is_lit);
        lit.filter_map(|part| part.split("data-node=\"").nth(1)?.split('"').next().map(str::to_owned))
            .collect()
    };
    for (query, expected) in [("?at=0", vec!["open"]), ("?theme=dark", vec!["work", "work.packing"])] {
        let answer = api.get(&format!("/v1/instances/o-1/drawing{query}")).await;
        assert!(answer.head.contains("content-type: image/svg+xml"), "{}", answer.head);
        assert_eq!(lit(&answer.text), expected, "{query}");
    }
    api.stop().await;
}

#[tokio::test]
async fn what_is_not_there() {
    let api = Api::start().await;
    api.order("o-1").await;
    let table = [
        ("nobody", "404 no_instance"),
        ("nobody/children", "404 no_instance"),
        ("nobody/journal", "404 no_instance"),
        ("nobody/drawing", "404 no_instance"),
        ("nobody/transcript", "404 no_instance"),
        ("o-1?at=9", "404 no_step"),
        ("o-1/drawing?at=9", "404 no_step"),
        ("o-1?at=-1", "400 invalid_request"),
        ("o-1/drawing?theme=pink", "400 invalid_request"),
        ("o-1/journal?order=up", "400 invalid_request"),
        ("o-1/journal?limit=0", "400 invalid_request"),
        ("o-1/transcript?limit=501", "400 invalid_request"),
        ("o-1/nothing", "404 not_found"),
    ];
    for (path, expected) in table {
        assert_eq!(api.get(&format!("/v1/instances/{path}")).await.problem(), expected, "{path}");
    }
    let nothing: Value = api.get("/v1/instances?q=nobody").await.ok();
    assert_eq!(nothing["instances"], json!([]));
    api.stop().await;
}
