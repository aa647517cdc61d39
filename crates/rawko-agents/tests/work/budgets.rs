//! Budgets stop work at the limit, keep the work done, and include sub-agents.

use serde_json::json;

use crate::yard::{Yard, yard};

fn limited(budget: &str) -> String {
    format!(
        "
statechart:
  id: limited
  initial: working
  context: {{result: null}}
  states:
    working:
      budget: {budget}
      invoke:
        id: work
        src: agent:worker
        input: {{prompt: \"'Do it.'\"}}
        onDone: {{target: done, actions: [{{type: assign, context_updates: {{result: event.data}}}}]}}
        onError: {{target: over, actions: [{{type: assign, context_updates: {{result: event.data}}}}]}}
    done: {{type: final, output: context.result}}
    over: {{type: final, output: context.result}}
"
    )
}

/// Writes a file in each of many completions.
fn busy(usage: &serde_json::Value, delay_ms: u64) -> Yard {
    let steps: Vec<_> = (1..=9)
        .map(|number| {
            let call = json!([{"name": "Write", "input": {"path": format!("{number}.txt"), "content": "x"}}]);
            json!({"tool_calls": call, "usage": usage, "delay_ms": delay_ms})
        })
        .collect();
    yard(&json!([{"agent": "worker", "steps": steps}]).to_string())
}

fn written(yard: &Yard) -> usize {
    (1..=9).filter(|number| yard.read(&format!("{number}.txt")).is_some()).count()
}

#[tokio::test]
async fn each_part_of_a_budget_stops_the_work_and_keeps_it() {
    let usage = json!({"input_tokens": 80, "output_tokens": 20, "cost_usd": 0.1});
    let table = [
        ("{tokens: 300}", 3, "budget.tokens"),
        ("{cost_usd: 0.35}", 4, "budget.cost_usd"),
        ("{tool_calls: 2}", 2, "budget.tool_calls"),
    ];
    for (budget, files, word) in table {
        let yard = busy(&usage, 0).chart(&limited(budget));
        let output = yard.run("limited", json!({})).await;
        assert_eq!(output.get("category").as_str(), Some("limit"), "{budget}: {output}");
        assert!(output.get("message").as_str().unwrap().contains(word), "{budget}: {output}");
        assert_eq!(output.get("outcome").as_str(), Some("limit_reached"), "{budget}");
        assert_eq!(written(&yard), files, "{budget}");
        assert!(output.get("messages").as_list().unwrap().len() >= files, "{budget}: the work is kept");
    }
}

#[tokio::test]
async fn time_stops_the_work_in_the_middle_of_a_completion() {
    let yard = busy(&json!({"input_tokens": 1, "output_tokens": 1}), 400).chart(&limited("{time: 1s}"));
    let output = yard.run("limited", json!({})).await;
    assert_eq!(output.get("category").as_str(), Some("limit"), "{output}");
    // Two completions of 400 ms fit into the second; on a slow machine maybe fewer.
    assert!(written(&yard) <= 2, "{}", written(&yard));
}

#[tokio::test]
async fn what_sub_agents_spend_counts() {
    let spend = json!({"input_tokens": 90, "output_tokens": 10});
    let send = |prompt: &str| json!([{"name": "Task", "input": {"agent": "helper", "prompt": prompt}}]);
    let scripts = json!([
        {"agent": "worker", "steps": [
            {"tool_calls": send("one"), "usage": spend},
            {"tool_calls": send("two"), "usage": spend},
            {"tool_calls": send("three"), "usage": spend},
            {"text": "never"},
        ]},
        {"agent": "helper", "steps": [{"text": "done", "usage": spend}]},
    ]);
    let yard = yard(&scripts.to_string())
        .file(".rawko/agents/helper.md", "---\nname: helper\nwhenToUse: For help.\n---\nYou help.\n")
        .chart(&limited("{tokens: 400}"));
    let output = yard.run("limited", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("limit_reached"), "{output}");
    assert_eq!(yard.asked().len(), 4, "two of the worker's, two of the helper's");
}
