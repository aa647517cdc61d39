//! The orchestrator with its real services: rules, a model, a fallback, memories; and the journal of each decision.

use rawko_core::Value;
use serde_json::json;

use crate::yard::{Yard, yard};

const PLANNER: &str = "---\nname: planner\nwhenToUse: For plans.\n---\nYou plan.\n";
const TESTER: &str = "---\nname: tester\nwhenToUse: For tests.\ntransitions: {onSuccess: complete, onFailure: worker}\n---\nYou test.\n";

/// A project with a planner, a worker and a tester.
fn project(script: &str) -> Yard {
    yard(script).file(".rawko/agents/planner.md", PLANNER).file(".rawko/agents/tester.md", TESTER)
}

fn who(output: &Value) -> Vec<String> {
    let history = output.get("history").as_list().unwrap_or_default().iter();
    let text = |entry: &Value, key: &str| entry.get(key).as_str().unwrap_or_default().to_owned();
    history.map(|entry| format!("{} {}", text(entry, "agent"), text(entry, "result"))).collect()
}

/// Returns the orchestrator's final context and its output.
async fn run(yard: &Yard, input: serde_json::Value) -> (Value, Value) {
    let host = yard.host().await;
    let start = rawko_host::StartOptions { chart: "rawko".into(), input: input.into(), id: Some("t".into()) };
    host.start(start).await.unwrap();
    host.settled("t", std::time::Duration::from_secs(60)).await.unwrap();
    let results = host.results("t").unwrap();
    host.close().await;
    (results.context, results.output)
}

const LOOP: &str = r#"
- {agent: arbiter, when: "arbiter#1", data: {type: SELECT_MODE, mode: planner, reason: there is no plan}}
- {agent: arbiter, when: "arbiter#2", data: {type: SELECT_MODE, mode: worker, reason: there is a plan}}
- {agent: arbiter, when: "arbiter#3", data: {type: SELECT_MODE, mode: tester, reason: it should be tried}}
- agent: planner
  steps:
    - tool_calls: [{name: PlanWrite, input: {goal: A note., steps: [{id: note, title: Write the note}]}}]
    - text: One step.
- agent: worker
  steps:
    - {tool_calls: [{name: Write, input: {path: note.txt, content: hello}}], usage: {input_tokens: 7, output_tokens: 3}}
    - text: The note is there.
- {agent: tester, text: It is there.}
- {agent: memory, data: {memories: []}}
"#;

#[tokio::test]
async fn agents_are_chosen_by_the_model_and_by_rules_until_it_is_complete() {
    let yard = project(LOOP);
    let (context, output) = run(&yard, json!({"task": "Write a note"})).await;
    assert_eq!(output.get("outcome").as_str(), Some("complete"), "{output}");
    assert_eq!(who(&context), ["planner success", "worker success", "tester success"]);
    assert_eq!(context.get("lastArbiterDecision").get("by").as_str(), Some("rule"));
    assert_eq!(yard.read("note.txt").as_deref(), Some("hello"));
    let worked = &context.get("history").as_list().unwrap()[1];
    assert_eq!(worked.get("filesModified").to_string(), r#"["note.txt"]"#);
    assert!(worked.get("tokenUsage").get("input_tokens").as_i64() >= Some(7));
    // Built-in agents are hidden if a project has its own.
    let asked = yard.asked();
    let first =
        serde_json::to_string(asked.iter().find(|request| request.agent == "arbiter").unwrap()).unwrap();
    assert!(first.contains("For plans.") && !first.contains("explorer"), "{first}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_asked_for_again_and_then_the_fallback_decides() {
    let script = r#"
- {agent: planner, text: I would rather not.}
- {agent: worker, text: Done.}
- {agent: tester, text: Fine.}
- agent: arbiter
  when: "arbiter#1"
  steps:
    - {text: "I think the planner should begin. COMPLETE!"}
    - {expect: "it is not one JSON object", data: {type: SELECT_MODE, mode: nobody, reason: x}}
    - {expect: "SELECT_MODE needs `mode`", data: {type: COMPLETE, reason: x}}
- {agent: arbiter, when: "arbiter#2", data: {type: SELECT_MODE, mode: tester, reason: see}}
"#;
    let yard = project(script);
    let (context, output) = run(&yard, json!({"task": "t", "remember": false})).await;
    assert_eq!(output.get("outcome").as_str(), Some("complete"), "{output}");
    assert_eq!(who(&context), ["planner success", "tester success"]);
    let asked = yard.asked().iter().filter(|request| request.occasion == "arbiter#1").count();
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn what_was_learnt_is_kept_and_told_to_whoever_begins_later() {
    let script = LOOP.replace(
        "data: {memories: []}",
        "data: {memories: [{title: Notes are short, tags: [note], agents: [], body: One line is enough.}]}",
    );
    let yard = project(&script);
    run(&yard, json!({"task": "Write a note"})).await;
    let kept = yard.read(".rawko/memories/notes-are-short.md").unwrap();
    assert!(kept.contains("One line is enough."), "{kept}");
    // Only one memory per title, although three agents worked.
    assert!(yard.read(".rawko/memories/notes-are-short-2.md").is_none());
    let told = yard.asked();
    let worker = told.iter().find(|request| request.agent == "worker").unwrap();
    let first = serde_json::to_string(&worker.messages[0]).unwrap();
    assert!(
        first.contains("What is known from earlier work") && first.contains("One line is enough."),
        "{first}"
    );
    let kept = yard.read(".rawko/memories/notes-are-short.md").unwrap();
    assert!(kept.contains("uses: 2"), "the worker and the tester: {kept}");
}

/// An agent does not get the memories of the previous one, even if it has none of its own.
#[tokio::test]
async fn memories_for_one_agent_stay_with_it() {
    let memory = "---\ntitle: Notes\nagents: [planner]\n---\nA note is planned on paper first.\n";
    let yard = project(LOOP).file(".rawko/memories/notes.md", memory);
    run(&yard, json!({"task": "Write a note", "remember": false})).await;
    let told = |agent: &str| {
        let asked = yard.asked();
        let first = asked.iter().find(|request| request.agent == agent).unwrap();
        serde_json::to_string(&first.messages[0]).unwrap().contains("on paper first")
    };
    assert_eq!(["planner", "worker", "tester"].map(told), [true, false, false]);
}

#[tokio::test]
async fn memories_that_cannot_be_read_are_mentioned_and_the_work_goes_on() {
    let yard = project(LOOP);
    let host = yard.host().await;
    std::fs::write(yard.root().join(".rawko/memories"), "a file where a folder should be").unwrap();
    let input = json!({"task": "Write a note", "remember": false}).into();
    host.start(rawko_host::StartOptions { chart: "rawko".into(), input, id: Some("t".into()) })
        .await
        .unwrap();
    host.settled("t", std::time::Duration::from_secs(60)).await.unwrap();
    let results = host.results("t").unwrap();
    assert_eq!(results.output.get("outcome").as_str(), Some("complete"), "{}", results.output);
    let logs = format!("{:?}", host.reader().store().tail(0, 10_000).unwrap());
    host.close().await;
    assert!(logs.contains("[rawko] Memories are left out: .rawko/memories cannot be read"), "{logs}");
}

#[tokio::test]
async fn a_rate_limited_arbiter_backs_off_and_fails_when_its_retries_are_used_up() {
    let limited = "    - {error: {code: rate_limited, retry_after_ms: 2}}\n".repeat(9);
    let yard = project(&format!("- agent: arbiter\n  steps:\n{limited}    - {{text: never}}\n"));
    let (context, output) = run(&yard, json!({"task": "t", "backoffMs": 1})).await;
    assert_eq!(output.get("outcome").as_str(), Some("failed"), "{output}");
    assert_eq!(output.get("problem").get("code").as_str(), Some("rate_limited"));
    // One request, and `loop.retries_max` more; none of them counts as a failure of the task.
    assert_eq!(context.get("totalFailures"), &Value::Int(7));
    assert_eq!(context.get("consecutiveFailures"), &Value::Int(0));
    assert_eq!(yard.asked().len(), 7);
}

/// A question without a response is recorded as well, so that the prompt can be inspected.
#[tokio::test]
async fn a_question_without_an_answer_is_in_the_journal() {
    let yard = project("- {agent: arbiter, steps: [{error: {code: invalid_request, message: no}}]}\n");
    let host = yard.host().await;
    let input = json!({"task": "Weigh the moon", "maxFailures": 1}).into();
    host.start(rawko_host::StartOptions { chart: "rawko".into(), input, id: Some("t".into()) })
        .await
        .unwrap();
    host.settled("t", std::time::Duration::from_secs(60)).await.unwrap();
    let reader = host.reader();
    let records = reader.store().tail(0, 1_000).unwrap();
    let failed = records.iter().find(|record| record.event.contains("invoke_failed")).unwrap();
    let text = reader.unpack(&failed.event).unwrap();
    host.close().await;
    assert!(text.contains(r##""prompt":"You are the arbiter"##) && text.contains("Weigh the moon"), "{text}");
    assert!(text.contains(r#""occasion":"arbiter#1""#) && text.contains(r#""availableAgents""#), "{text}");
}

#[tokio::test]
async fn an_agent_that_is_cut_off_goes_where_its_file_says_and_its_conversation_can_be_reopened() {
    let worker = "---\nname: worker\nwhenToUse: For work.\nlimits: {maxIterations: 1}\ntransitions: {onMaxIterations: tester}\n---\nYou work.\n";
    let script = r#"
- {agent: arbiter, when: "arbiter#1", data: {type: SELECT_MODE, mode: worker, reason: begin}}
- agent: worker
  steps:
    - tool_calls: [{name: Read, input: {path: a.txt}}]
    - {expect: "not run: the work was stopped", text: Now I am done.}
- agent: tester
  text: Not yet.
- agent: arbiter
  when: "arbiter#4"
  data: {type: CONTINUE, reason: there is more}
"#;
    let tester = TESTER.replace("onSuccess: complete", "onSuccess: worker");
    let yard = project(script)
        .file(".rawko/agents/worker.md", worker)
        .file(".rawko/agents/tester.md", &tester)
        .file("a.txt", "a");
    let (context, output) = run(&yard, json!({"task": "t", "remember": false, "maxIterations": 3})).await;
    assert_eq!(who(&context), ["worker max_iterations", "tester success", "worker success"], "{output}");
    assert_eq!(output.get("problem").get("code").as_str(), Some("max_iterations"));
}

/// A command that fails repeatedly: the next selection knows the tool, the attempt and the plan step.
#[tokio::test]
async fn the_arbiter_hears_which_tool_failed_and_at_what() {
    let again = "    - tool_calls: [{name: Bash, input: {command: \"cat missing.txt\"}}]\n".repeat(12);
    let script = format!(
        "- {{agent: arbiter, when: 'arbiter#1', data: {{type: SELECT_MODE, mode: worker, reason: begin}}}}\n\
         - agent: worker\n  steps:\n{again}    - {{text: never}}\n"
    );
    let yard = project(&script);
    let plan = json!({"goal": "g", "steps": [
        {"id": "a", "title": "Read", "status": "done"}, {"id": "b", "title": "Mend", "status": "pending"},
    ]});
    let input = json!({"task": "t", "remember": false, "maxFailures": 1, "plan": plan});
    let (context, output) = run(&yard, input).await;
    assert_eq!(output.get("outcome").as_str(), Some("loop_detected"), "{output}");
    let error = context.get("lastError");
    assert_eq!(error.get("tool").as_str(), Some("Bash"), "{error}");
    assert_eq!(error.get("attempted").as_str(), Some("cat missing.txt"));
    let around = error.get("context");
    assert_eq!(around.get("commandExecuted").as_str(), Some("cat missing.txt"), "{error}");
    assert_eq!(around.get("inputSize").as_i64(), Some(29));
    assert!(around.get("outputSize").as_i64() > Some(10), "{error}");
    let entry = context.get("history").as_list().unwrap()[0].get("error").clone();
    assert_eq!((entry.get("step").as_i64(), entry.get("tool").as_str()), (Some(2), Some("Bash")), "{entry}");
    // As the arbiter would see it.
    let seen = rawko_arbiter::Orchestration::of(&context).unwrap();
    let seen = rawko_arbiter::select_agent_input(&seen, &[], 0);
    let error = serde_json::to_value(seen.last_error.unwrap()).unwrap();
    let told = (&error["tool"], &error["planStep"], &error["category"], &error["attempted"]);
    assert_eq!(told, (&json!("Bash"), &json!(2), &json!("tool_failure"), &json!("cat missing.txt")));
    assert_eq!(error["context"]["commandExecuted"], "cat missing.txt");
    assert_eq!(seen.history[0].error.as_ref().unwrap().step, Some(2));
}

/// A program's own limit is not a limit of the task: it has the same codes as a model's agent, and the same
/// transitions.
#[tokio::test]
async fn a_program_that_is_cut_off_goes_where_its_file_says_and_the_task_goes_on() {
    let worker = "---\nname: worker\nwhenToUse: For work.\nkind: process\ncommand: [python3, program.py]\n";
    let script = r#"
- {agent: arbiter, when: "arbiter#1", data: {type: SELECT_MODE, mode: worker, reason: begin}}
- {agent: tester, text: It is there.}
"#;
    let cut = json!({"done": {"text": "so far", "stop_reason": "length"}});
    let table = [
        ("transitions: {onMaxIterations: tester}", cut, "max_iterations", "output_length"),
        (
            "limits: {timeout: 4s}\ntransitions: {onFailure: tester}",
            json!({"hang": null}),
            "timeout",
            "timeout",
        ),
    ];
    for (keys, step, result, code) in table {
        let yard = project(script)
            .file(".rawko/agents/worker.md", &format!("{worker}{keys}\n---\nYou work.\n"))
            .file("program.py", include_str!("program.py"))
            .file("steps.json", &json!([[step]]).to_string())
            .unconfined("worker");
        let (context, output) = run(&yard, json!({"task": "t", "remember": false})).await;
        assert_eq!(output.get("outcome").as_str(), Some("complete"), "{keys}: {output}");
        assert_eq!(who(&context), [format!("worker {result}"), "tester success".to_owned()], "{keys}");
        let first = &context.get("history").as_list().unwrap()[0];
        assert_eq!(first.get("error").get("code").as_str(), Some(code), "{keys}");
    }
}

/// Prose is never interpreted: an agent whose file declares verdicts responds with one of them, and the file's
/// transition is taken.
#[tokio::test]
async fn a_verdict_leads_where_the_file_says() {
    let tester = TESTER.replace(
        "transitions: {onSuccess: complete, onFailure: worker}",
        "transitions: {custom: {broken: worker, fine: complete}, onSuccess: complete}",
    );
    let script = r#"
- {agent: arbiter, when: "arbiter#1", data: {type: SELECT_MODE, mode: tester, reason: look first}}
- agent: tester
  when: "tester#1"
  steps:
    - text: There were 0 failures, all complete and passed!
    - {expect: "This answer is invalid", data: {verdict: broken, report: Two tests fail.}}
- agent: tester
  when: "tester#3"
  steps:
    - text: what was said before
    - data: {verdict: fine, report: All tests pass.}
- {agent: worker, text: Mended.}
- {agent: arbiter, when: "arbiter#3", data: {type: SELECT_MODE, mode: tester, reason: look again}}
"#;
    let yard = project(script).file(".rawko/agents/tester.md", &tester);
    let (context, output) = run(&yard, json!({"task": "t", "remember": false})).await;
    assert_eq!(who(&context), ["tester success", "worker success", "tester success"], "{output}");
    assert_eq!(output.get("summary").as_str(), Some("All tests pass."));
    let first = &context.get("history").as_list().unwrap()[0];
    assert_eq!(first.get("data").get("verdict").as_str(), Some("broken"));
    assert_eq!(first.get("output").as_str(), Some("Two tests fail."));
    let schema =
        yard.asked().iter().find(|request| request.agent == "tester").unwrap().schema.clone().unwrap();
    assert_eq!(
        schema.schema.get("properties").get("verdict").get("enum").to_string(),
        r#"["broken","fine","passed"]"#
    );
    // No other agent gets a verdict schema.
    assert!(
        yard.asked()
            .iter()
            .filter(|request| request.agent == "worker")
            .all(|request| request.schema.is_none())
    );
}
