//! Behaviour that users of other tools reported as broken, pinned here: a quota that ends while agents keep starting, a
//! compaction that restarts a run, failed agents that count as done. Kills, pauses and denials are in
//! `crates/rawko/tests/cli/fleet.rs`.

use rawko_model::provider::ErrorCode;
use serde_json::json;

use crate::puppet::{Act, Puppet, Turn, say};
use crate::yard::yard;

/// Twelve agents with a budget for three completions, one at a time or four at the same time.
fn fleet(max_concurrent: usize) -> String {
    format!(
        "
statechart:
  id: fleet
  initial: working
  context: {{results: null}}
  states:
    working:
      budget: {{tokens: 300}}
      invoke:
        id: jobs
        src: agent:worker
        each: range(12)
        max_concurrent: {max_concurrent}
        join: settled
        input: {{prompt: \"'part ' ~ item\"}}
        onDone: {{target: over, actions: [{{type: assign, context_updates: {{results: event.data}}}}]}}
        onError: {{target: over, actions: [{{type: assign, context_updates: {{results: event.data}}}}]}}
    over: {{type: final, output: context.results}}
"
    )
}

#[tokio::test]
async fn no_agent_spends_after_the_budget_is_used_up() {
    let usage = json!({"input_tokens": 90, "output_tokens": 10});
    let script = json!([{"agent": "worker", "text": "done", "usage": usage}]);
    for max_concurrent in [1, 4] {
        let yard = yard(&script.to_string()).chart(&fleet(max_concurrent));
        let output = yard.run("fleet", json!({})).await;
        let results = output.as_list().unwrap();
        let status =
            |word: &str| results.iter().filter(|one| one.get("status").as_str() == Some(word)).count();
        assert_eq!(status("done") + status("error"), 12, "{output}");
        // What had begun when the budget was used up is finished and paid for.
        let most = 3 + max_concurrent - 1;
        assert!(yard.asked().len() <= most, "{} completions", yard.asked().len());
        assert_eq!(status("done"), yard.asked().len(), "an agent without an answer counts as done");
        let errors = results.iter().filter(|one| one.get("status").as_str() == Some("error"));
        for error in errors {
            assert_eq!(error.get("error").get("category").as_str(), Some("limit"), "{error}");
        }
    }
}

fn forgetful(turn: &Turn<'_>) -> Act {
    if turn.occasion.ends_with("/summary") {
        return say("The lines a and b were written.");
    }
    let bash = |command: &str| Act::Call("Bash", json!({"command": command}));
    match turn.call {
        0 => bash("echo a >> ran.txt; seq 1 3000"),
        1 => bash("echo b >> ran.txt; seq 1 3000"),
        2 => Act::Fail(ErrorCode::ContextLengthExceeded),
        3 => bash("echo c >> ran.txt"),
        _ => say("Done."),
    }
}

#[tokio::test]
async fn a_compaction_continues_the_run() {
    let yard = yard("[]").answered_by(Puppet::new(forgetful));
    let output = yard.run("one", json!({"prompt": "Write a, b and c."})).await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    assert_eq!(
        yard.read("ran.txt").as_deref(),
        Some("a\nb\nc\n"),
        "a call before the compaction was repeated"
    );
    let messages = output.get("messages").to_json().to_string();
    assert!(messages.contains("Write a, b and c."), "the task is lost: {messages}");
}

/// A command that fails has changed files, if they differ.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_failing_command_count() {
    for (command, expected) in [("echo x > new.txt; exit 3", 1), ("exit 3", 0), ("true > new.txt", 1)] {
        let acting = move |turn: &Turn<'_>| match turn.call {
            0 => Act::Call("Bash", json!({"command": command})),
            _ => say("Done."),
        };
        let state = tempfile::tempdir().unwrap();
        let yard = yard("[]\n").state_dir(state.path()).answered_by(Puppet::new(acting));
        let output = yard.run("one", json!({})).await;
        assert_eq!(output.get("changes").as_i64(), Some(expected), "{command}: {output}");
    }
}
