//! Execution modes and ready workflows with a real host: only the models are scripted.

use rawko_agents::modes::{ExecutionMode, Join, ModeStep};
use rawko_core::{Status, Value};
use serde_json::{Value as Json, json};

use crate::yard::{Yard, yard};

fn agents(script: &Json, names: &[&str]) -> Yard {
    let agent = |name: &str| format!("---\nname: {name}\nwhenToUse: For work.\n---\nYou work.\n");
    let all = yard(&script.to_string());
    names.iter().fold(all, |yard, name| yard.file(&format!(".rawko/agents/{name}.md"), &agent(name)))
}

fn texts(output: &Value) -> Vec<String> {
    let results = output.get("results").as_list().unwrap_or_default();
    let shown = |result: &Value| {
        let text = result.get("text").as_str().unwrap_or("-");
        format!("{} {} {text}", result.get("step").as_str().unwrap(), result.get("status").as_str().unwrap())
    };
    results.iter().map(shown).collect()
}

#[tokio::test]
async fn each_mode_runs_agents_and_charts() {
    let script = json!([
        {"agent": "writer", "text": "a draft"},
        {"agent": "editor", "when": "a draft", "text": "a better draft"},
        {"agent": "editor", "text": "nothing to edit"},
        {"agent": "worker", "text": "done"},
    ]);
    let steps =
        [ModeStep::agent("writer"), ModeStep::agent("editor").prompt("Shorten it."), ModeStep::chart("one")];
    let modes = [
        (ExecutionMode::Sequential, ["writer done a draft", "editor done a better draft"]),
        (ExecutionMode::Pipeline, ["writer done a draft", "editor done a better draft"]),
        (ExecutionMode::Parallel(Join::All), ["writer done a draft", "editor done nothing to edit"]),
    ];
    for (mode, expected) in modes {
        let yard = agents(&script, &["writer", "editor"]);
        let host = yard.host().await;
        let results = mode.execute(&host, "Write.", &steps, None).await.unwrap();
        host.close().await;
        assert_eq!(results.status, Status::Done, "{mode:?}: {results:?}");
        let texts = texts(&results.output);
        assert_eq!(texts[..2], expected, "{mode:?}");
        assert!(texts[2].starts_with("one done"), "{mode:?}: {texts:?}");
        assert_eq!(results.output.get("outcome").as_str(), Some("finished"), "{mode:?}");
    }
}

/// A chart whose output reports no usage.
const QUIET: &str = "
statechart:
  id: quiet
  initial: asking
  context: {prompt: ''}
  states:
    asking:
      invoke:
        id: ask
        src: agent:writer
        input: {prompt: context.prompt}
        onDone: done
        onError: {target: failed, actions: [{type: assign, context_updates: {prompt: event.data.category}}]}
    done: {type: final, output: \"{text: 'done'}\"}
    failed: {type: final, tags: [failed], output: \"{text: context.prompt}\"}
";

/// The budget is that of the machine: what a step does not report counts, too.
#[tokio::test]
async fn the_budget_of_a_mode_bounds_all_that_its_steps_start() {
    let usage = json!({"input_tokens": 80, "output_tokens": 20});
    let yard =
        agents(&json!([{"agent": "writer", "text": "a draft", "usage": usage}]), &["writer"]).chart(QUIET);
    let host = yard.host().await;
    let steps = [ModeStep::chart("quiet"), ModeStep::chart("quiet"), ModeStep::chart("quiet")];
    for (mode, before) in [(ExecutionMode::Sequential, 0), (ExecutionMode::Pipeline, 2)] {
        let results = mode.execute(&host, "Write.", &steps, Some(150)).await.unwrap();
        let texts = texts(&results.output);
        assert_eq!(
            texts,
            ["quiet done done", "quiet done done", "quiet done limit"],
            "{mode:?}: {results:?}"
        );
        let completions = yard.asked().len() - before;
        assert_eq!(completions, 2, "{mode:?}: the second passes the limit, and none starts after it");
    }
    host.close().await;
}

/// A chart with a budget of its own and one in its context.
const BOTH: &str = "
statechart:
  id: both
  initial: asking
  context: {limits: null, outcome: null}
  budget: {tokens: 0, from_context: limits}
  states:
    asking:
      invoke:
        id: ask
        src: agent:writer
        input: {prompt: \"'Write.'\"}
        onDone: done
        onError: {target: failed, actions: [{type: assign, context_updates: {outcome: event.data.category}}]}
    done: {type: final, output: \"'done'\"}
    failed: {type: final, tags: [failed], output: context.outcome}
";

/// The budget of the caller only narrows, in any notation.
#[tokio::test]
async fn a_budget_in_the_context_never_widens_that_of_the_chart() {
    let narrowed = BOTH.replace("tokens: 0,", "tokens: 1000,");
    for (chart, limits, expected) in [
        (BOTH, json!(null), "limit"),
        (BOTH, json!({"tokens": 5}), "limit"),
        (BOTH, json!({"tokens": 5.5}), "limit"),
        (BOTH, json!({"tokens": 1e5}), "limit"),
        (&narrowed, json!(null), "done"),
        (&narrowed, json!({"tokens": 0.5}), "limit"),
        (&narrowed, json!({"tokens": "5m"}), "limit"),
        (&narrowed, json!({"tokens": null, "cost_usd": 0}), "limit"),
    ] {
        let yard = agents(&json!([{"agent": "writer", "text": "a draft"}]), &["writer"]).chart(chart);
        let output = yard.run("both", json!({"limits": limits})).await;
        assert_eq!(output.as_str(), Some(expected), "{limits}: {output}");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_exist_is_a_failed_step() {
    let yard = agents(&json!([{"agent": "writer", "text": "a draft"}]), &["writer"]);
    let steps = [ModeStep::agent("writer"), ModeStep::agent("missing")];
    let host = yard.host().await;
    for (join, outcome) in
        [(Join::All, "failed"), (Join::Settled, "finished"), (Join::AtLeast(1), "finished")]
    {
        let results = ExecutionMode::Parallel(join).execute(&host, "Write.", &steps, None).await.unwrap();
        assert_eq!(results.output.get("outcome").as_str(), Some(outcome), "{join:?}: {}", results.output);
    }
    host.close().await;
}

/// The whole way from an issue to a patch, with a rejected first change.
#[tokio::test]
async fn an_issue_becomes_a_patch() {
    let write =
        |text: &str| json!({"tool_calls": [{"name": "Write", "input": {"path": "a.txt", "content": text}}]});
    let vote = |verdict: &str| json!({"verdict": verdict, "summary": verdict, "findings": []});
    let script = json!([
        {"agent": "builder", "when": "change#0", "steps": [write("1\n"), {"text": "Counts to one."}]},
        {"agent": "builder", "when": "change#1", "steps": [write("1\n2\n"), {"text": "Counts to two."}]},
        {"agent": "explorer", "when": "+2", "data": vote("approve")},
        {"agent": "explorer", "data": vote("reject")},
    ]);
    let state = tempfile::tempdir().unwrap();
    let yard = yard(&script.to_string()).file("a.txt", "0\n").state_dir(state.path());
    let output = yard.run("issue_to_patch", json!({"issue": "Count to two", "reviewers": ["logic"]})).await;
    assert_eq!(yard.read("a.txt").as_deref(), Some("0\n"), "the project does not change");
    assert_eq!(std::fs::read_dir(yard.root()).unwrap().count(), 2, "`a.txt` and `.rawko`");
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    assert_eq!(output.get("rounds").as_i64(), Some(2), "{output}");
    assert_eq!(output.get("branch").as_str(), Some("rawko/count-to-two"));
    let path = output.get("patch").as_str().unwrap().to_owned();
    assert!(path.ends_with("/rawko-count-to-two.patch"), "{path}");
    let patch = std::fs::read_to_string(path).unwrap();
    let copy = std::path::PathBuf::from(output.get("worktree").get("path").as_str().unwrap());
    assert_eq!(std::fs::read_to_string(copy.join("a.txt")).unwrap(), "1\n2\n");
    assert!(patch.contains("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-0\n+1\n+2\n"), "{patch}");
    assert!(patch.starts_with("Subject: Count to two\nBranch: rawko/count-to-two\n"), "{patch}");
}
