//! Loops that end: by intent, by a limit, by loop detection.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value;
use rawko_host::StartOptions;
use rawko_store::{MemoryStore, Store};
use serde_json::{Value as Json, json};

use crate::yard::{Yard, yard};

/// A model that repeats the same call.
fn stubborn(call: &Json, times: usize) -> Yard {
    let steps: Vec<Json> = (0..times).map(|_| json!({"tool_calls": [call]})).collect();
    yard(&json!([{"agent": "worker", "steps": steps}]).to_string()).file("a.txt", "a\n")
}

#[tokio::test]
async fn the_same_call_over_and_over_is_noticed_blocked_and_stopped() {
    let yard = stubborn(&json!({"name": "Read", "input": {"path": "a.txt"}}), 20);
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("category").as_str(), Some("loop"), "{output}");
    assert_eq!(output.get("detector").as_str(), Some("repeated_calls"), "{output}");
    let told: Vec<bool> = yard
        .asked()
        .iter()
        .skip(1)
        .map(|request| {
            let last = serde_json::to_string(request.messages.last().unwrap()).unwrap();
            last.contains("same")
        })
        .collect();
    assert!(!told[0], "once is no loop");
    assert!(told.iter().any(|told| *told), "the model is told before it is stopped");
    assert!(yard.asked().len() < 12, "{}", yard.asked().len());
}

#[tokio::test]
async fn honest_work_with_the_same_tool_is_no_loop() {
    let steps: Vec<Json> = (0..15)
        .map(|number| json!({"tool_calls": [{"name": "Read", "input": {"path": format!("{number}.txt")}}]}))
        .chain([json!({"text": "All read."})])
        .collect();
    let mut yard = yard(&json!([{"agent": "worker", "steps": steps}]).to_string());
    for number in 0..15 {
        yard = yard.file(&format!("{number}.txt"), &format!("{number}\n"));
    }
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
}

/// A cycle that includes a sub-agent is detected.
#[tokio::test]
async fn a_loop_through_sub_agents_is_seen() {
    let send = json!({"tool_calls": [{"name": "Task", "input": {"agent": "helper", "prompt": "Read it."}}]});
    let steps: Vec<Json> = (0..20).map(|_| send.clone()).collect();
    let read = json!({"tool_calls": [{"name": "Read", "input": {"path": "a.txt"}}]});
    let scripts = json!([
        {"agent": "worker", "steps": steps},
        {"agent": "helper", "steps": [read, {"text": "a"}]},
    ]);
    let yard = yard(&scripts.to_string())
        .file("a.txt", "a\n")
        .file(".rawko/agents/helper.md", "---\nname: helper\nwhenToUse: For help.\n---\nYou help.\n");
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("category").as_str(), Some("loop"), "{output}");
}

#[tokio::test]
async fn thresholds_come_from_the_settings() {
    let call = json!({"name": "Read", "input": {"path": "a.txt"}});
    let yard = stubborn(&call, 20).settings("loop: {completions_max: 2}\n");
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("category").as_str(), Some("limit"), "{output}");
    assert_eq!(yard.asked().len(), 2);
}

/// The agent's own limit is lower than the project's.
#[tokio::test]
async fn tool_calls_for_ever_hit_the_limit_of_the_agent() {
    let calls: Vec<Json> = (0..20)
        .map(|number| json!({"tool_calls": [{"name": "Write", "input": {"path": format!("{number}.txt"), "content": "x"}}]}))
        .collect();
    let agent = "---\nname: worker\nwhenToUse: For work.\nlimits: {maxIterations: 4}\n---\nYou work.\n";
    let yard = yard(&json!([{"agent": "worker", "steps": calls}]).to_string())
        .file(".rawko/agents/worker.md", agent);
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("limit_reached"), "{output}");
    assert!(yard.read("2.txt").is_some() && yard.read("4.txt").is_none());
}

#[tokio::test]
async fn a_rate_limit_is_waited_for() {
    let yard = yard(
        &json!([{"agent": "worker", "steps": [{"error": {"code": "rate_limited", "retry_after_ms": 10}}, {"text": "Done."}]}])
            .to_string(),
    )
    .back_off_first("10ms");
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    assert_eq!(yard.asked().iter().map(|request| request.attempt).collect::<Vec<_>>(), [0, 1]);
}

/// An invalid structured response is requested again with the problem.
#[tokio::test]
async fn an_answer_that_does_not_fit_its_schema_is_repaired() {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    let yard = yard(
        &json!([{"agent": "worker", "steps": [{"text": "Yes!"}, {"text": "```json\n{\"ok\": true}\n```"}]}])
            .to_string(),
    );
    let output = yard.run("one", json!({"schema": schema})).await;
    assert_eq!(output.get("data").get("ok").as_bool(), Some(true), "{output}");
    assert!(yard.last_prompt().contains("JSON"), "{}", yard.last_prompt());
}

/// A conversation that exceeds its model's context is summarised, and the work continues.
#[tokio::test]
async fn a_conversation_that_is_too_long_is_compacted() {
    let long = "word ".repeat(4000);
    let yard = yard(
        &json!([
            {"agent": "worker", "when": "/summary", "steps": [{"text": "Read big.txt; it has words."}]},
            {"agent": "worker", "steps": [
                {"tool_calls": [{"name": "Read", "input": {"path": "big.txt"}}]},
                {"tool_calls": [{"name": "Glob", "input": {"pattern": "*.txt"}}]},
                {"tool_calls": [{"name": "Grep", "input": {"pattern": "word"}}]},
                {"text": "Done."},
            ]},
        ])
        .to_string(),
    )
    .file("big.txt", &long)
    .settings("loop: {prompt_tokens_max: 3000}\n");
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    let last = yard.asked().last().unwrap().clone();
    let text = serde_json::to_string(&last.messages).unwrap();
    assert!(text.len() < 16_000, "{}", text.len());
}

/// The host stops while an agent waits to retry; the next host waits for the rest and retries once.
#[tokio::test]
async fn a_back_off_survives_a_restart() {
    let yard = yard(
        &json!([{"agent": "worker", "steps": [{"error": {"code": "rate_limited", "retry_after_ms": 1500}}, {"text": "Done."}]}])
            .to_string(),
    )
    .back_off_first("10ms");
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let host = yard.host_on(Arc::clone(&store)).await;
    host.start(StartOptions { chart: "one".into(), input: Value::Null, id: Some("i".into()) }).await.unwrap();
    let mut changes = host.changes();
    while host.results("i.worker.0").is_ok_and(|agent| agent.configuration != ["working.backing_off"]) {
        changes.changed().await.unwrap();
    }
    host.close().await;
    assert_eq!(yard.asked().len(), 1);
    let host = yard.host_on(store).await;
    host.settled("i", Duration::from_secs(60)).await.unwrap();
    let output = host.results("i").unwrap().output;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    assert_eq!(yard.asked().iter().map(|request| request.attempt).collect::<Vec<_>>(), [0, 1]);
}
