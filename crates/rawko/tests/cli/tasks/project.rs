//! Projects with agents and a script, and the output of a task without its variable parts.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{command, directory, repository, run, stable};

pub(crate) const SETTINGS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
phases: {validate: {checks: []}}
";

pub(crate) const ARBITER: &str = r#"
- {agent: arbiter, when: "arbiter#1", data: {type: SELECT_MODE, mode: planner, reason: there is no plan yet}}
- {agent: arbiter, when: "arbiter#2", data: {type: SELECT_MODE, mode: developer, reason: the plan can be built}}
- {agent: arbiter, when: "arbiter#3", data: {type: SELECT_MODE, mode: tester, reason: it should be tried}}
- {agent: arbiter, when: "arbiter#4", data: {type: SELECT_MODE, mode: developer, reason: a test fails}}
- {agent: arbiter, when: "arbiter#5", data: {type: SELECT_MODE, mode: tester, reason: it should be tried again}}
- {agent: arbiter, when: "arbiter#6", data: {type: SELECT_MODE, mode: reviewer, reason: all tests pass}}
"#;

/// Planner, developer, tester, reviewer; the first attempt of the developer is not enough.
pub(crate) const LOOP: &str = r#"
- agent: planner
  steps:
    - text: Let me see.
      tool_calls: [{name: Read, input: {path: stock.py}}]
    - tool_calls:
        - name: PlanWrite
          input: {goal: The tests pass., steps: [{id: strip, title: Ignore spaces}, {id: add, title: Add up equal names}]}
    - text: Strip the names, then add up.
- agent: developer
  steps:
    - tool_calls:
        - {name: Edit, input: {path: stock.py, old_string: "    return name, int(count)", new_string: "    return name.strip(), int(count)"}}
        - {name: PlanUpdate, input: {id: strip, status: done}}
    - text: Names are stripped now.
    - expect: One test fails
      tool_calls:
        - {name: Edit, input: {path: stock.py, old_string: "        counts[name] = count", new_string: "        counts[name] = counts.get(name, 0) + count"}}
        - {name: PlanUpdate, input: {id: add, status: done}}
    - text: Equal names are added up.
- agent: tester
  steps:
    - tool_calls: [{name: Bash, input: {command: "python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)"}}]
    - text: One test fails, equal names are not added up.
    - tool_calls: [{name: Bash, input: {command: "python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)"}}]
    - text: All tests pass.
- agent: reviewer
  text: The change is small and right.
"#;

pub(crate) fn agent(name: &str, more: &str) -> (String, String) {
    let text =
        format!("---\nname: {name}\nwhenToUse: For what a {name} does.\n{more}---\nYou are the {name}.\n");
    (format!(".rawko/agents/{name}.md"), text)
}

/// Creates a project with these agents and this script, and code to fix.
pub(crate) fn project(settings: &str, agents: &[(String, String)], script: &str) -> TempDir {
    let dir = directory(&[(".rawko/config.yaml", settings), (".rawko/script.yaml", script)]);
    for (path, text) in agents {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for name in ["stock.py", "test_stock.py"] {
        fs::copy(repository().join("examples/plan-build").join(name), dir.path().join(name)).unwrap();
    }
    dir
}

pub(crate) fn team() -> Vec<(String, String)> {
    // The plan is complete before the tester runs, so the verdict is up to the arbiter.
    vec![
        agent("planner", ""),
        agent("developer", "transitions: {onSuccess: tester}\n"),
        agent("tester", ""),
        agent("reviewer", "transitions: {onSuccess: complete, onFailure: developer}\n"),
    ]
}

pub(crate) fn whole() -> TempDir {
    let script = format!("{ARBITER}{LOOP}");
    // Completing the last step would end the task before the tester runs.
    let script = script.replace("        - {name: PlanUpdate, input: {id: add, status: done}}\n", "");
    project(SETTINGS, &team(), &script)
}

/// Masks durations, and tokens, which are estimated from prompts that contain times.
pub(crate) fn told(text: &str, dir: &Path) -> String {
    let text = stable(text, dir);
    let lines = text.lines().map(|line| match line.strip_prefix("spent ") {
        Some(spent) => format!("spent … {}\n", spent.split(", ").find(|part| part.contains("tool")).unwrap()),
        None => format!("{line}\n"),
    });
    lines.collect()
}

pub(crate) fn lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn decided(decision: &Json) -> String {
    let text = |key: &str| decision[key].as_str().unwrap_or("-").to_owned();
    format!("{} {} by {}: {}", text("type"), text("mode"), text("by"), text("reason"))
}

pub(crate) const ONE: &str = "- {agent: worker, text: Done.}\n";

pub(crate) fn worker(more: &str) -> Vec<(String, String)> {
    vec![agent("worker", more)]
}

/// Starts the process and waits until it has printed this many lines.
pub(crate) fn running(dir: &Path, args: &[&str], lines: usize) -> (Child, impl BufRead + use<>) {
    let mut child =
        command(dir, args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(out.by_ref().lines().take(lines).count(), lines);
    (child, out)
}

pub(crate) fn configuration(dir: &Path, id: &str) -> String {
    let shown = run(dir, &["show", id, "--json"], "");
    let shown: Json = serde_json::from_str(&shown.stdout).unwrap_or_default();
    shown["configuration"].to_string()
}
