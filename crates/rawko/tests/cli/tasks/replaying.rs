//! A replay of a task in its own words, without states and context.

use super::project::{ARBITER, LOOP, SETTINGS, agent, project, team};
use crate::support::run;

#[test]
fn a_task_is_replayed_in_the_words_of_its_session() {
    let dir = project(SETTINGS, &team(), &format!("{ARBITER}{LOOP}"));
    assert_eq!(run(dir.path(), &["task", "Make the tests pass", "--id", "fix"], "").code, Some(0));
    let told = run(dir.path(), &["replay", "fix"], "").stdout;
    for wanted in [
        "→ planner: there is no plan yet",
        "● developer",
        "✓ Edit stock.py",
        "+    return name.strip(), int(count)",
        "plan [x] Ignore spaces",
        // The lines of the call, although the file has changed since.
        "-        counts[name] = count\n    +        counts[name] = counts.get(name, 0) + count\n",
        "Equal names are added up.",
        "complete  after",
        "changed  stock.py",
    ] {
        assert!(told.contains(wanted), "{wanted}\n{told}");
    }
    let brief = run(dir.path(), &["replay", "fix", "--decisions"], "").stdout;
    assert!(brief.contains("developer: a test fails") && !brief.contains("## Task"), "{brief}");
    let history = run(dir.path(), &["history", "fix"], "").stdout;
    // The names of the context are for `-v`.
    for text in [&told, &brief, &history] {
        assert!(!text.contains("currentMode") && !text.contains("iterationCount"), "{text}");
    }
    let whole = run(dir.path(), &["history", "fix", "-v"], "").stdout;
    assert!(whole.contains("currentMode"), "{whole}");
    assert_eq!(run(dir.path(), &["replay", "fix", "--json"], "").code, Some(2), "only with --decisions");
}

/// Providers number the calls of each conversation, so agents that work at the same time use the same ids.
#[test]
fn calls_of_agents_that_work_at_the_same_time_keep_their_results() {
    let script = r#"
- agent: worker
  steps:
    - {tool_calls: [{name: Task, input: {agent: helper, prompt: one}}, {name: Task, input: {agent: other, prompt: two}}]}
    - {text: Both.}
- agent: helper
  steps:
    - {tool_calls: [{name: Bash, input: {command: "while grep -q 'int(count)' stock.py; do sleep 0.05; done; echo first; echo second"}}]}
    - {text: Helped.}
- agent: other
  steps:
    - {tool_calls: [{name: Edit, input: {path: stock.py, old_string: int(count), new_string: float(count)}}]}
    - {text: Edited.}
"#;
    let agents =
        [agent("worker", "transitions: {onSuccess: complete}\n"), agent("helper", ""), agent("other", "")];
    let settings = "governance: {allow: ['agent:*']}\nmemories: {remember: false}\n\
                    providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}\n";
    let dir = project(settings, &agents, script);
    // The arbiter has no script and the check fails: only the work of the agents counts here.
    run(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"], "");
    let replayed = run(dir.path(), &["replay", "t"], "").stdout;
    let line = |text: &str| {
        replayed.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}\n{replayed}"))
    };
    assert!(line("✓ Bash while").contains("— first"), "{replayed}");
    assert!(!line("✓ Edit stock.py").contains("—"), "an edit has its diff: {replayed}");
    assert!(replayed.contains("    -int(count)\n    +float(count)\n"), "{replayed}");
    assert_eq!(replayed.matches("✓ Task").count(), 2, "{replayed}");
}
