//! The merge queue of worktrees: one merge at a time with its checks, and overlaps that are reported before it.

use std::fs;

use crate::support::run;
use crate::tasks::project::{SETTINGS, agent, project};
use crate::trees::json;

const MERGING: &str = r#"
statechart:
  id: merging
  version: 1.0.0
  initial: working
  context: {names: [c0, c1, c2, c3, c4, c5], results: [], order: [], failed: null}
  states:
    working:
      invoke:
        id: coders
        src: {expr: "'agent:' ~ item"}
        each: context.names
        max_concurrent: 6
        isolation: worktree
        input: {prompt: "'Do it'"}
        onDone: {target: looking, actions: [{type: assign, context_updates: {results: event.data}}]}
        onError: failed
    looking:
      on: {GO: merging}
    merging:
      invoke:
        id: merges
        src: git:merge
        each: context.results
        max_concurrent: 6
        join: settled
        input: {branch: item.worktree.branch, checks: "true"}
        onItemDone: {actions: [{type: assign, context_updates: {order: "context.order + [event.index]"}}]}
        onItemError: {actions: [{type: assign, context_updates: {failed: event.data}}]}
        onDone: done
    done: {type: final, output: {order: context.order, failed: context.failed}}
    failed: {type: final, tags: [error], output: {why: event.data}}
"#;

/// Slow, so that another merge would come in between.
const CHECK: &str =
    "phases: {validate: {checks: [{name: small, command: \"sleep 0.2; test ! -e f3.txt\"}]}}\n";

#[test]
fn each_merge_is_checked_alone_and_a_bad_one_is_taken_back() {
    let agents: Vec<_> = (0..6).map(|number| agent(&format!("c{number}"), "")).collect();
    let mut script = String::new();
    for number in 0..6 {
        // The first two change the same file, in different places.
        let line = ["first", "last"].get(number);
        let edit = line.map_or_else(String::new, |line| {
            format!("        - {{name: Edit, input: {{path: shared.txt, old_string: {line}, new_string: {line} by c{number}}}}}\n")
        });
        script += &format!(
            "- agent: c{number}\n  steps:\n    - tool_calls:\n        \
             - {{name: Write, input: {{path: f{number}.txt, content: \"by c{number}\\n\"}}}}\n{edit}    - text: Done.\n"
        );
    }
    let settings = SETTINGS.replace("phases: {validate: {checks: []}}\n", CHECK);
    assert_ne!(settings, SETTINGS);
    let dir = project(&settings, &agents, &script);
    let dir = dir.path();
    fs::write(dir.join("merging.yaml"), MERGING).unwrap();
    fs::write(dir.join("shared.txt"), "first\n2\n3\n4\n5\n6\n7\nlast\n").unwrap();
    fs::write(dir.join(".gitignore"), ".local/\n.cache/\n").unwrap();
    let ran = run(dir, &["run", "merging.yaml", "--id", "m"], "");
    assert_eq!(ran.code, Some(55), "{}{}", ran.stdout, ran.stderr);

    // Both have changed the file, and nothing is merged yet.
    let listed = json(dir, &["worktrees", "--json"]);
    let overlaps = &listed["overlaps"];
    assert_eq!(overlaps.as_array().unwrap().len(), 1, "{listed:#}");
    assert_eq!(overlaps[0]["path"], "shared.txt");
    let trees: Vec<&str> =
        overlaps[0]["worktrees"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(trees[0].starts_with("rawko/m/c0.") && trees[1].starts_with("rawko/m/c1."), "{trees:?}");
    let shown = run(dir, &["show", "m"], "").stdout;
    assert!(shown.contains(&format!("shared.txt is changed in {}", trees.join(", "))), "{shown}");
    // The journal of the agent that came second has it; of both, if they came at the same moment.
    let rows = json(dir, &["ps", "--all", "--json"]);
    let ids = rows["instances"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
    let agents: Vec<&str> = ids.filter(|id| id.starts_with("m.c")).collect();
    let told = agents.iter().filter(|id| {
        run(dir, &["replay", id], "").stdout.contains("overlap: shared.txt (also changed in rawko/m/c")
    });
    assert_ne!(told.count(), 0, "{agents:?}");

    run(dir, &["send", "m", "GO"], "");
    let ended = json(dir, &["show", "m", "--json"]);
    assert_eq!(ended["outcome"], "succeeded", "{ended:#}");
    let failed = &ended["output"]["failed"];
    assert_eq!(failed["code"], "checks_failed", "{ended:#}");
    assert!(failed["branch"].as_str().unwrap().starts_with("rawko/m/c3."), "{failed}");
    // The first to arrive begins; those that wait come in the order of the items.
    let order: Vec<i64> =
        ended["output"]["order"].as_array().unwrap().iter().map(|index| index.as_i64().unwrap()).collect();
    assert_eq!(order.len(), 5, "{order:?}");
    assert!(order[1..].is_sorted(), "{order:?}");
    for number in 0..6 {
        assert_eq!(dir.join(format!("f{number}.txt")).exists(), number != 3, "f{number}.txt");
    }
    assert_eq!(
        fs::read_to_string(dir.join("shared.txt")).unwrap(),
        "first by c0\n2\n3\n4\n5\n6\n7\nlast by c1\n"
    );
    // Its work is still in its worktree.
    let left = json(dir, &["worktrees", "--json"]);
    assert_eq!(left["worktrees"].as_array().unwrap().len(), 1, "{left}");
    assert_eq!(left["overlaps"].as_array().unwrap().len(), 0, "{left}");
}
