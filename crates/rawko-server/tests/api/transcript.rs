//! Transcripts: the messages and actions of an instance and its descendants, page by page.

use serde_json::{Value, json};

use crate::support::{Api, keys};

/// Logs the data of its only event.
const TELLING: &str = "
statechart:
  id: telling
  version: 1.0.0
  initial: on
  context: {task: ''}
  states:
    on:
      on: {SAY: {actions: [{type: log, message: {expr: event.data}}]}, NOTHING: {}}
";

fn turns(page: &Value) -> Vec<String> {
    let told = ["instance", "kind", "title", "text"];
    page["turns"].as_array().unwrap().iter().map(|turn| keys(turn, &told)).collect()
}

#[tokio::test]
async fn a_conversation_is_read_back_from_its_end() {
    let api = Api::start().await;
    api.post("/v1/instances", json!({"text": TELLING, "id": "t-1", "input": {"task": "Talk"}})).await.ok();
    for number in 0..30 {
        api.send("t-1", "SAY", json!(format!("line {number}"))).await;
        api.send("t-1", "NOTHING", json!(null)).await;
    }
    let mut expected = vec![r#""t-1" "note" "starts" "Talk""#.to_owned()];
    expected.extend((0..30).map(|number| format!(r#""t-1" "note" "log" "line {number}""#)));
    for limit in [1, 7, 30, 31, 100] {
        let (mut seen, mut before) = (Vec::new(), String::new());
        loop {
            let page = api.get(&format!("/v1/instances/t-1/transcript?limit={limit}{before}")).await.ok();
            let mut page_turns = turns(&page);
            assert!(page_turns.len() <= limit, "{limit}");
            page_turns.append(&mut seen);
            seen = page_turns;
            match page["next"].as_u64() {
                Some(next) => before = format!("&before={next}"),
                None => break,
            }
        }
        assert_eq!(seen, expected, "{limit}");
    }
    api.stop().await;
}

#[tokio::test]
async fn failures_and_what_is_below_belong_to_it() {
    let api = Api::start().await;
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1"})).await.ok();
    api.send("p-1.order.0", "BREAK", json!(null)).await;
    api.host.settled("p-1", std::time::Duration::ZERO).await.unwrap();
    let page = api.get("/v1/instances/p-1/transcript").await.ok();
    let expected = r#""p-1.order.0" "fails" "charge failed" "failed: the bank is closed""#;
    assert_eq!(turns(&page)[0], expected);
    api.stop().await;
}
