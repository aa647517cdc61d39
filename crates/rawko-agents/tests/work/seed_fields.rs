//! The fields and events of the seeds that nothing wrote: messages and tool calls for the orchestrator, the agent of a
//! step, recovery options of a failed call, and no blame for a filtered answer. And charts as agents.

use rawko_core::Value;
use rawko_host::StartOptions;
use serde_json::json;

use crate::yard::{Yard, yard};

/// Runs a task, and returns its final context and its journal as text.
async fn run(yard: &Yard, input: serde_json::Value) -> (Value, Value, String) {
    let host = yard.host().await;
    host.start(StartOptions { chart: "rawko".into(), input: input.into(), id: Some("t".into()) })
        .await
        .unwrap();
    host.settled("t", std::time::Duration::from_secs(60)).await.unwrap();
    let results = host.results("t").unwrap();
    let reader = host.reader();
    let records = reader.store().tail(0, 10_000).unwrap();
    let journal: Vec<String> =
        records.iter().map(|record| reader.unpack(&record.event).unwrap().to_string()).collect();
    host.close().await;
    (results.context, results.output, journal.join("\n"))
}

const NO_CHECKS: &str = "phases: {validate: {checks: []}}\n";

#[tokio::test]
async fn the_orchestrator_hears_of_messages_and_tool_calls() {
    let script = r#"
- agent: worker
  steps:
    - {text: Let me see., tool_calls: [{name: Write, input: {path: a.txt, content: hello}}]}
    - text: It is there.
- {agent: arbiter, data: {type: COMPLETE, reason: done, summary: done}}
"#;
    let yard = yard(script).settings(NO_CHECKS);
    let (_, output, journal) = run(&yard, json!({"task": "Write a note", "remember": false})).await;
    assert_eq!(output.get("outcome").as_str(), Some("complete"), "{output}");
    for words in ["AGENT_MESSAGE", "Let me see.", "It is there.", "AGENT_TOOL_CALL", r#""name":"Write""#] {
        assert!(journal.contains(words), "{words}: {journal}");
    }
    let events = |name: &str| journal.matches(&format!(r#""type":"{name}""#)).count();
    assert_eq!((events("AGENT_MESSAGE"), events("AGENT_TOOL_CALL")), (2, 1), "{journal}");
}

/// The same of agents that are programs, over both wire formats.
#[tokio::test]
async fn the_orchestrator_hears_of_programs_too() {
    let script = "- {agent: arbiter, data: {type: COMPLETE, reason: done, summary: done}}\n";
    let file = |kind: &str, program: &str| {
        format!(
            "---\nname: worker\nwhenToUse: For work.\nkind: {kind}\ncommand: [python3, {program}]\n---\nYou work.\n"
        )
    };
    let process = json!([[
        {"say": "Let me see."},
        {"tool": ["Write", {"path": "a.txt", "content": "hello"}]},
        {"done": {"text": "It is there."}},
    ]]);
    let acp = json!([
        {"say": "Let me see."},
        {"ask": {"kind": "execute", "rawInput": {"command": "touch a.txt"}}},
        {"say": "It is there."},
    ]);
    let programs = [
        ("process", "program.py", include_str!("program.py"), process),
        ("acp", "coder.py", include_str!("coder.py"), acp),
    ];
    for (kind, name, program, steps) in programs {
        let yard = yard(script)
            .settings(NO_CHECKS)
            .file(name, program)
            .file("steps.json", &steps.to_string())
            .file(".rawko/agents/worker.md", &file(kind, name))
            .unconfined("worker");
        let (_, output, journal) = run(&yard, json!({"task": "Write a note", "remember": false})).await;
        assert_eq!(output.get("outcome").as_str(), Some("complete"), "{kind}: {output}");
        let events = |name: &str| journal.matches(&format!(r#""type":"{name}""#)).count();
        assert_eq!((events("AGENT_MESSAGE"), events("AGENT_TOOL_CALL")), (2, 1), "{kind}: {journal}");
        assert!(journal.contains("Let me see.") && journal.contains("It is there."), "{kind}: {journal}");
    }
}

#[tokio::test]
async fn a_step_says_which_agent_worked_on_it() {
    let script = r#"
- agent: worker
  steps:
    - tool_calls: [{name: PlanWrite, input: {goal: g, steps: [{id: a, title: One}, {id: b, title: Two}]}}]
    - tool_calls: [{name: PlanUpdate, input: {id: a, status: done}}]
    - tool_calls: [{name: PlanUpdate, input: {id: b, notes: later}}]
    - text: One is done.
- {agent: arbiter, data: {type: COMPLETE, reason: done, summary: done}}
"#;
    let yard = yard(script).settings(NO_CHECKS);
    let (context, output, _) = run(&yard, json!({"task": "Two steps", "remember": false})).await;
    assert_eq!(output.get("outcome").as_str(), Some("complete"), "{output}");
    let steps = context.get("plan").get("steps").as_list().unwrap();
    assert_eq!(steps[0].get("agentUsed").as_str(), Some("worker"), "{steps:?}");
    assert!(steps[1].get("agentUsed").is_null(), "{steps:?}");
    // The arbiter reads it.
    assert!(yard.last_prompt().contains("One (by worker)"), "{}", yard.last_prompt());
}

#[tokio::test]
async fn a_failed_call_brings_its_own_recovery_options() {
    let again = "    - tool_calls: [{name: Bash, input: {command: frobnicate --all}}]\n".repeat(12);
    let script = format!("- agent: worker\n  steps:\n{again}    - {{text: never}}\n");
    let yard = yard(&script).settings(NO_CHECKS);
    let input = json!({"task": "Do it", "remember": false, "maxFailures": 1});
    let (context, output, _) = run(&yard, input).await;
    assert_eq!(output.get("outcome").as_str(), Some("loop_detected"), "{output}");
    let of = |error: &Value| {
        let options = error.get("recoveryOptions").as_list().unwrap_or_default();
        options.first().map(|option| option.get("description").to_string()).unwrap_or_default()
    };
    let history = context.get("history").as_list().unwrap();
    assert!(of(history[0].get("error")).contains("frobnicate"), "{history:?}");
    assert!(of(context.get("lastError")).contains("frobnicate"), "{context}");
}

#[tokio::test]
async fn no_tool_is_blamed_for_a_filtered_answer() {
    let script = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Read, input: {path: missing.txt}}]
    - {text: "no", stop_reason: content_filter}
"#;
    let yard = yard(script).settings(NO_CHECKS);
    let input = json!({"task": "Do it", "remember": false, "maxFailures": 1});
    let (context, output, _) = run(&yard, input).await;
    assert_eq!(output.get("problem").get("code").as_str(), Some("content_filter"), "{output}");
    assert!(context.get("lastError").get("tool").is_null(), "{context}");
    assert!(context.get("lastError").get("recoveryOptions").is_null(), "{context}");
}

const TEAM: &str = "---\nname: team\nwhenToUse: For whole changes.\nkind: chart\nchart: CHART\n---\n";

/// The arbiter hands work to a chart, and its result is an agent's result.
#[tokio::test]
async fn a_chart_is_an_agent() {
    let echo = "
statechart:
  id: echo
  initial: looking
  context: {goal: null, task: null}
  states:
    looking: {invoke: {src: \"agent:worker\", input: {prompt: context.goal}, onDone: {target: done, actions: []}, onError: broken}}
    done: {type: final, output: \"{text: 'I was asked: ' ~ context.goal, files: ['a.txt'], verdict: 'passed'}\"}
    broken: {type: final, tags: [error], output: null}
";
    let script = |worker: &str| {
        format!(
            "- {{agent: arbiter, when: \"arbiter#1\", data: {{type: SELECT_MODE, mode: team, reason: begin}}}}\n\
             - {{agent: arbiter, data: {{type: COMPLETE, reason: done, summary: done}}}}\n{worker}"
        )
    };
    let input = json!({"task": "Build it", "remember": false, "maxFailures": 1});
    let yard = yard(&script("- {agent: worker, text: Yes., usage: {input_tokens: 5, output_tokens: 3}}\n"));
    let yard =
        yard.chart(echo).settings(NO_CHECKS).file(".rawko/agents/team.md", &TEAM.replace("CHART", "echo"));
    let (context, output, _) = run(&yard, input.clone()).await;
    assert_eq!(output.get("outcome").as_str(), Some("complete"), "{output}");
    let did = &context.get("history").as_list().unwrap()[0];
    assert!(did.get("output").as_str().unwrap().starts_with("I was asked: Task: Build it"), "{did}");
    assert_eq!(did.get("filesModified").to_string(), r#"["a.txt"]"#);
    assert_eq!(did.get("data").get("verdict").as_str(), Some("passed"), "{did}");
    // A chart that ends in a state tagged as an error has failed.
    let broken = crate::yard::yard(&script("- {agent: worker, error: {code: unknown, message: gone}}\n"));
    let broken =
        broken.chart(echo).settings(NO_CHECKS).file(".rawko/agents/team.md", &TEAM.replace("CHART", "echo"));
    let (context, output, _) = run(&broken, input.clone()).await;
    assert_eq!(output.get("outcome").as_str(), Some("failed"), "{output}");
    assert_eq!(
        context.get("lastError").get("message").as_str(),
        Some("the chart ended as `failed`"),
        "{context}"
    );
    // A chart that is not there is an error that names it.
    let lost = crate::yard::yard(&script(""));
    let lost = lost.settings(NO_CHECKS).file(".rawko/agents/team.md", &TEAM.replace("CHART", "nowhere"));
    let (_, output, _) = run(&lost, input).await;
    assert!(output.get("problem").get("message").to_string().contains("nowhere"), "{output}");
}

/// The budget of the caller holds in the chart.
#[tokio::test]
async fn a_chart_spends_the_budget_of_its_caller() {
    let chart = "
statechart:
  id: capped
  initial: working
  states:
    working:
      budget: {tokens: 10}
      invoke: {src: \"agent:team\", input: {prompt: \"'Build it'\"}, onDone: done, onError: {target: failed, actions: [{type: assign, context_updates: {why: event.data.category}}]}}
    done: {type: final, output: \"'done'\"}
    failed: {type: final, output: context.why}
  context: {why: null}
";
    let script = "- {agent: planner, text: Report., usage: {input_tokens: 40, output_tokens: 3}}\n".repeat(4);
    let yard = yard(&script).chart(chart).settings(NO_CHECKS);
    let yard = yard.file(".rawko/agents/team.md", &TEAM.replace("CHART", "plan_build"));
    assert_eq!(yard.run("capped", json!({})).await, Value::str("limit"));
}
