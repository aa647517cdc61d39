//! The merge queue of worktrees: one merge at a time with its checks, and overlaps that are reported before it.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::queue::until;
use crate::support::{command, run};
use crate::tasks::project::{SETTINGS, agent, project};
use crate::trees::{files, git, json, standing};

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

const ONE_MERGE: &str = r#"
statechart:
  id: one
  version: 1.0.0
  initial: working
  context: {branch: null}
  states:
    working:
      invoke:
        id: coder
        src: agent:coder
        isolation: worktree
        input: {prompt: "'Do it'"}
        onDone: {target: merging, actions: [{type: assign, context_updates: {branch: event.data.worktree.branch}}]}
        onError: failed
    merging:
      invoke: {id: merge, src: git:merge, input: {branch: context.branch, checks: "true"}, onDone: done, onError: failed}
    done: {type: final, output: event.data}
    failed: {type: final, tags: [error], output: event.data}
"#;

/// The host is killed while the checks judge a merge. The next one judges it, and takes it back if they fail.
#[test]
fn a_merge_whose_checks_were_killed_is_judged_by_the_next_host() {
    for is_good in [true, false] {
        let check = "touch marks/judging; test -e marks/go || sleep 60; test ! -e bad.txt";
        let settings = SETTINGS.replace(
            "phases: {validate: {checks: []}}\n",
            &format!("phases: {{validate: {{checks: [{{name: small, command: \"{check}\"}}]}}}}\n"),
        );
        let name = if is_good { "good.txt" } else { "bad.txt" };
        let script = format!(
            "- agent: coder\n  steps:\n    - tool_calls: [{{name: Write, input: {{path: {name}, content: x}}}}]\n    - text: Done.\n"
        );
        let dir = project(&settings, &[agent("coder", "")], &script);
        let dir = dir.path();
        fs::create_dir(dir.join("marks")).unwrap();
        fs::write(dir.join(".gitignore"), ".local/\n.cache/\nmarks/\n").unwrap();
        fs::write(dir.join("one.yaml"), ONE_MERGE).unwrap();
        let before = files(dir);
        let mut child = command(dir, &["run", "one.yaml", "--id", "m"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the checks run", || dir.join("marks/judging").exists());
        assert!(dir.join(name).exists());
        child.kill().unwrap();
        child.wait().unwrap();
        fs::write(dir.join("marks/go"), "").unwrap();
        run(dir, &["resume", "m"], "");
        let ended = json(dir, &["show", "m", "--json"]);
        assert_eq!(dir.join(name).exists(), is_good, "{ended:#}");
        if is_good {
            assert_eq!(ended["outcome"], "succeeded", "{ended:#}");
            assert_eq!(ended["output"]["files"], serde_json::json!([name]), "{ended:#}");
            assert!(ended["output"]["checkpoint"]["number"].is_u64(), "{ended:#}");
        } else {
            assert_eq!(ended["output"]["code"], "checks_failed", "{ended:#}");
            assert!(before.keys().all(|path| files(dir)[path] == before[path]));
        }
    }
}

/// Starts agents in worktrees and kills the host again and again, also while copies are made and removed and merges are
/// judged: every agent's work is merged once, and only that. `RAWKO_KILLS=20` kills more often.
#[test]
fn a_killed_host_loses_no_work_of_worktrees() {
    let kills_max: usize =
        std::env::var("RAWKO_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(3);
    let agents: Vec<_> = (0..6).map(|number| agent(&format!("c{number}"), "")).collect();
    let mut script = String::new();
    for number in 0..6 {
        // A call that was interrupted is made again, with the same result. The last agent changes nothing.
        let work = match number {
            0 => "sed -i 's/^first$/first by c0/' shared.txt; echo by c0 > f0.txt",
            1 => "sed -i 's/^last$/last by c1/' shared.txt; echo by c1 > f1.txt",
            2 => "rm -f removed.txt; echo by c2 > f2.txt",
            5 => "true",
            _ => "echo x > fN.txt",
        };
        let work = work.replace('N', &number.to_string());
        // Equal calls would be a loop.
        let call = |time: u32| {
            format!(
                "    - tool_calls: [{{name: Bash, input: {{command: \"{work}; sleep 0.1; : {time}\"}}}}]\n"
            )
        };
        let calls: String = (0..4).map(call).collect();
        script += &format!("- agent: c{number}\n  steps:\n{calls}    - text: Done.\n");
    }
    let check = "phases: {validate: {checks: [{name: small, command: \"sleep 0.1; test ! -e f3.txt\"}]}}\n";
    let settings = SETTINGS.replace("phases: {validate: {checks: []}}\n", check);
    let dir = project(&settings, &agents, &script);
    let dir = dir.path();
    let chart = MERGING.replace("onDone: {target: looking,", "onDone: {target: merging,");
    fs::write(dir.join("merging.yaml"), chart).unwrap();
    fs::write(dir.join("shared.txt"), "first\n2\n3\n4\n5\n6\n7\nlast\n").unwrap();
    fs::write(dir.join("removed.txt"), "old\n").unwrap();
    fs::write(dir.join(".gitignore"), ".local/\n.cache/\n").unwrap();
    git(dir, &["init", "-q"]);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-qm", "first"]);
    let (before, standing_before) = (files(dir), standing(dir));
    let mut kills = 0;
    loop {
        // It may have been killed before the first commit.
        let args = match run(dir, &["show", "m"], "").code {
            Some(0) => vec!["resume", "m"],
            _ => vec!["run", "merging.yaml", "--id", "m"],
        };
        let mut child = command(dir, &args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pause = Duration::from_millis(900 + 370 * (kills as u64 % 5));
        let begun = Instant::now();
        let mut ended = child.try_wait().unwrap();
        while ended.is_none() && (kills >= kills_max || begun.elapsed() < pause) {
            std::thread::sleep(Duration::from_millis(10));
            ended = child.try_wait().unwrap();
        }
        if ended.is_some() {
            break;
        }
        kills += 1;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ended = json(dir, &["show", "m", "--json"]);
    assert_eq!(ended["outcome"], "succeeded", "{ended:#}");
    let failed = &ended["output"]["failed"];
    assert_eq!((&failed["code"], &failed["branch"]), (&"checks_failed".into(), &"rawko/m/c3.0.3".into()));
    let changed = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
    assert_eq!(changed("shared.txt"), "first by c0\n2\n3\n4\n5\n6\n7\nlast by c1\n");
    let after = files(dir);
    let names: Vec<String> = after.keys().map(|path| path.display().to_string()).collect();
    for number in [0, 1, 2, 4] {
        assert!(!changed(&format!("f{number}.txt")).is_empty(), "f{number}.txt: {ended:#}");
    }
    assert_eq!(after.len(), before.len() + 3, "{names:?}");
    let own = |(index, refs, log): (Vec<u8>, String, String)| {
        let refs: Vec<String> =
            refs.lines().filter(|line| !line.contains("refs/heads/rawko/")).map(str::to_owned).collect();
        (index, refs, log)
    };
    assert_eq!(own(standing(dir)), own(standing_before));
    let undone = run(dir, &["undo", "m"], "");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(files(dir), before);
    println!("worktrees: {kills} kills, no work lost");
}
