//! Charts as agents, and tasks on another chart: the arbiter hands work to `plan_build`, and `task --chart` passes the
//! task as the goal.

use super::project::{agent, project};
use crate::support::run;

const SETTINGS: &str = "\
governance: {allow: ['agent:*', 'checks:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
";
const NO_CHECKS: &str = "phases: {validate: {checks: []}}\n";

fn team(chart: &str) -> (String, String) {
    let text = format!("---\nname: team\nwhenToUse: For a whole change.\nkind: chart\nchart: {chart}\n---\n");
    (".rawko/agents/team.md".to_owned(), text)
}

/// The phases of `plan_build`, with a builder that writes this file.
fn phases(goal: &str, builder: &str) -> String {
    format!(
        "- {{agent: planner, when: plan.analyze_code, expect: \"{goal}\", text: Looked.}}\n\
         - {{agent: planner, when: plan.research, text: Known.}}\n\
         - agent: planner\n  when: plan.design\n  steps:\n    \
           - tool_calls: [{{name: PlanWrite, input: {{goal: g, steps: [{{id: a, title: Write it}}]}}}}]\n    \
           - {{text: One step.}}\n{builder}"
    )
}

#[test]
fn the_arbiter_hands_work_to_a_chart() {
    let builder = "- agent: builder\n  steps:\n    - tool_calls: [{name: Write, input: {path: note.txt, content: hello}}]\n    - {text: Written.}\n";
    let arbiter = "- {agent: arbiter, when: \"arbiter#1\", data: {type: SELECT_MODE, mode: team, reason: a whole change}}\n\
                   - {agent: arbiter, data: {type: COMPLETE, reason: The note is there.}}\n";
    let script = format!("{arbiter}{}", phases("Task: Write a note", builder));
    let dir = project(&format!("{SETTINGS}{NO_CHECKS}"), &[team("plan_build"), agent("worker", "")], &script);
    let listed = run(dir.path(), &["agents", "list"], "");
    assert!(
        listed.stdout.contains("team") && listed.stdout.contains("chart plan_build"),
        "{}",
        listed.stdout
    );
    let ran = run(dir.path(), &["task", "Write a note", "--id", "t"], "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(std::fs::read_to_string(dir.path().join("note.txt")).unwrap(), "hello");
    let shown = run(dir.path(), &["show", "t", "--json"], "");
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let did = &shown["context"]["history"][0];
    assert_eq!((&did["agent"], &did["output"]), (&"team".into(), &"Written.".into()), "{did}");
    assert_eq!(did["filesModified"], serde_json::json!(["note.txt"]), "{did}");
    assert!(did["tokenUsage"]["input_tokens"].as_i64() > Some(0), "{did}");
    assert_eq!(shown["context"]["plan"]["steps"][0]["title"], "Write it");
}

#[test]
fn a_chart_that_is_not_there_is_found_before_it_is_needed() {
    let dir = project(SETTINGS, &[team("plan_bild")], "[]\n");
    std::fs::create_dir_all(dir.path().join(".rawko/charts")).unwrap();
    std::fs::write(
        dir.path().join(".rawko/charts/own.yaml"),
        "statechart: {id: own, initial: a, states: {a: {type: final}}}\n",
    )
    .unwrap();
    for command in [&["check", "."][..], &["agents", "check"], &["doctor"]] {
        let ran = run(dir.path(), command, "");
        assert_ne!(ran.code, Some(0), "{command:?}: {}{}", ran.stdout, ran.stderr);
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(text.contains("plan_bild"), "{command:?}: {text}");
    }
    let (path, text) = team("own");
    std::fs::write(dir.path().join(path), text).unwrap();
    let ran = run(dir.path(), &["check", "."], "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_task_on_another_chart_has_the_task_as_its_goal_and_ends_as_stuck() {
    let write = |n: usize| {
        format!(
            "- agent: builder\n  when: \"build.implement#{n}\"\n  steps:\n    \
             - tool_calls: [{{name: Write, input: {{path: junk.txt, content: \"{n}\"}}}}]\n    - {{text: Fixed.}}\n\
             - {{agent: planner, when: \"build.validate#{n}\", text: It still fails.}}\n"
        )
    };
    let builder: String = (1..=6).map(write).collect();
    let script = phases("Goal: Make the tests pass", &builder);
    let red = "phases: {validate: {checks: [{name: red, command: [sh, -c, 'exit 1']}]}}\n";
    let dir = project(&format!("{SETTINGS}{red}"), &[], &script);
    let ran = run(dir.path(), &["task", "Make the tests pass", "--chart", "plan_build", "--id", "t"], "");
    assert_eq!(ran.code, Some(54), "{}{}", ran.stdout, ran.stderr);
    let listed = run(dir.path(), &["ps", "--json"], "");
    let outcome = listed.stdout.contains("\"stuck\"") || listed.stdout.contains("\"loop\"");
    assert!(outcome, "{}", listed.stdout);
}
