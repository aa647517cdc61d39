//! `rawko prune` and the files of tasks: checkpoints, worktrees, and what killed processes left. Nothing of the person's
//! repository changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::queue::until;
use crate::serving::serve;
use crate::support::run;
use crate::tasks::project::{SETTINGS, project, worker};
use crate::trees::{files, git, json, standing, written};

/// Returns the refs of checkpoints.
fn hidden(dir: &Path) -> Vec<String> {
    let refs = git(dir, &["for-each-ref", "--format=%(refname)", "refs/rawko"]);
    refs.lines().map(str::to_owned).collect()
}

/// Returns the files of the checkpoints of all projects: entries and contents outside of git.
fn kept(dir: &Path, kind: &str) -> usize {
    let mut folders = vec![dir.join(".local")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(&format!("/checkpoints/{kind}/")) {
                count += 1;
            }
        }
    }
    count
}

#[test]
fn checkpoints_of_removed_tasks_go_and_the_rest_works_on() {
    for with_git in [true, false] {
        let dir = written(with_git);
        let dir = dir.path();
        if with_git {
            // The person's own: a stash, and a worktree on a disk that is not there now.
            fs::write(
                dir.join("stock.py"),
                format!("{}\n", fs::read_to_string(dir.join("stock.py")).unwrap()),
            )
            .unwrap();
            git(dir, &["stash", "push", "-q", "stock.py"]);
            let away = tempfile::TempDir::new().unwrap();
            git(dir, &["worktree", "add", "-q", away.path().join("away").to_str().unwrap(), "-b", "away"]);
        }
        let person = with_git.then(|| (standing(dir), git(dir, &["worktree", "list"])));
        let before = files(dir);
        assert_eq!(run(dir, &["task", "Do it", "--id", "old"], "").code, Some(0));
        assert_eq!(run(dir, &["undo", "old"], "").code, Some(0));
        assert_eq!(files(dir), before);
        let entries = kept(dir, "entries");
        assert!(entries >= 4, "{entries}");

        let dry = json(dir, &["prune", "--outcome", "succeeded", "--json"]);
        assert_eq!(dry["files"]["checkpoints"], entries - 1, "{dry:#}");
        assert_eq!(kept(dir, "entries"), entries, "a dry run removes nothing");
        let done = run(dir, &["prune", "--outcome", "succeeded", "--yes"], "");
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        assert!(done.stdout.contains(&format!("removed {} checkpoints", entries - 1)), "{}", done.stdout);
        assert_eq!(kept(dir, "entries"), 1);
        if with_git {
            assert_eq!(hidden(dir).len(), 1, "{:?}", hidden(dir));
            // Nothing keeps the commits of the others.
            let commits = git(dir, &["rev-list", "--count", &hidden(dir)[0]]);
            assert_eq!(commits.trim(), "1");
        }
        assert_eq!(files(dir), before);
        assert_eq!(with_git.then(|| (standing(dir), git(dir, &["worktree", "list"]))), person);

        // The history continues: a new task is shown and undone byte for byte.
        fs::write(dir.join("between.txt"), "by the person\n").unwrap();
        let before = files(dir);
        assert_eq!(run(dir, &["task", "Do it", "--id", "new"], "").code, Some(0));
        assert_ne!(files(dir), before);
        let undone = run(dir, &["undo", "new"], "");
        assert_eq!(undone.code, Some(0), "{}{}", undone.stdout, undone.stderr);
        assert_eq!(files(dir), before);
        assert_eq!(with_git.then(|| (standing(dir), git(dir, &["worktree", "list"]))), person);
    }
}

#[test]
fn checkpoints_of_old_tasks_go_by_the_settings_and_those_of_open_tasks_stay() {
    let dir = written(true);
    let dir = dir.path();
    let settings = fs::read_to_string(dir.join(".rawko/config.yaml")).unwrap();
    fs::write(dir.join(".rawko/config.yaml"), format!("{settings}retention: {{files: 1ms}}\n")).unwrap();
    assert_eq!(run(dir, &["trust", "--yes"], "").code, Some(0));
    assert_eq!(run(dir, &["task", "Do it", "--id", "old"], "").code, Some(0));
    let entries = kept(dir, "entries");
    // No instance is that old, so the task itself stays.
    let done = run(dir, &["prune", "--older-than", "300d", "--yes"], "");
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert_eq!(kept(dir, "entries"), 1, "of {entries}: {}", done.stdout);
    assert_eq!(json(dir, &["show", "old", "--json"])["outcome"], "succeeded");
    let shown = run(dir, &["diff", "old"], "");
    assert!(shown.stderr.contains("its checkpoints were removed"), "{}{}", shown.stdout, shown.stderr);
    let undone = run(dir, &["undo", "old"], "");
    assert_ne!(undone.code, Some(0), "{}{}", undone.stdout, undone.stderr);

    // The next task has not ended: it waits.
    let script = "- agent: worker\n  steps:\n    - tool_calls: [{name: Write, input: {path: a.txt, content: a}}]\n    \
                  - tool_calls: [{name: AskUser, input: {question: Which?}}]\n";
    fs::write(dir.join(".rawko/script.yaml"), script).unwrap();
    run(dir, &["trust", "--yes"], "");
    let waits = run(dir, &["task", "Do it", "--id", "open", "--permission-mode", "wait"], "");
    assert_eq!(waits.code, Some(55), "{}{}", waits.stdout, waits.stderr);
    assert_eq!(run(dir, &["prune", "--older-than", "300d", "--yes"], "").code, Some(0));
    let undone = run(dir, &["undo", "open", "--force"], "");
    assert_eq!(undone.code, Some(0), "{}{}", undone.stdout, undone.stderr);
    assert!(!dir.join("a.txt").exists());
}

/// Returns the folder of the project's checkpoints.
fn checkpoints(dir: &Path) -> PathBuf {
    let projects = fs::read_dir(dir.join(".local/state/rawko/projects")).unwrap().flatten();
    projects.map(|entry| entry.path().join("checkpoints")).find(|path| path.is_dir()).unwrap()
}

#[test]
fn old_checkpoints_go_by_themselves_once_a_day() {
    let dir = written(false);
    let dir = dir.path();
    let settings = fs::read_to_string(dir.join(".rawko/config.yaml")).unwrap();
    fs::write(dir.join(".rawko/config.yaml"), format!("{settings}retention: {{files: 1ms}}\n")).unwrap();
    assert_eq!(run(dir, &["trust", "--yes"], "").code, Some(0));
    assert_eq!(run(dir, &["task", "Do it", "--id", "old"], "").code, Some(0));
    let entries = kept(dir, "entries");
    // Not on the first day.
    let serving = serve(dir);
    let stamp = checkpoints(dir).join("pruned");
    until("the time is noted", || stamp.exists());
    assert_eq!(kept(dir, "entries"), entries);
    serving.signal("-TERM");
    serving.end();
    let two_days_ago = SystemTime::now() - Duration::from_secs(48 * 3600);
    fs::File::options().write(true).open(&stamp).unwrap().set_modified(two_days_ago).unwrap();
    let serving = serve(dir);
    until("the checkpoints are removed", || kept(dir, "entries") == 1);
    serving.signal("-TERM");
    serving.end();
    assert_eq!(json(dir, &["show", "old", "--json"])["outcome"], "succeeded");
}

const APART: &str = "\
statechart:
  id: apart
  version: 1.0.0
  initial: a
  states:
    a: {invoke: {id: w, src: agent:worker, isolation: worktree, input: {prompt: \"'Do it'\"}, onDone: b, onError: c}}
    b: {type: final, output: event.data.worktree}
    c: {type: final, tags: [error], output: event.data}
";

/// Returns the folder of the project's copies.
fn copies(dir: &Path) -> PathBuf {
    let all = fs::read_dir(dir.join(".cache/rawko/worktrees")).unwrap().flatten();
    all.map(|entry| entry.path()).next().unwrap()
}

#[test]
fn worktrees_of_removed_tasks_go_but_not_their_work() {
    for with_git in [true, false] {
        let dir = written(with_git);
        let dir = dir.path();
        fs::write(dir.join("apart.yaml"), APART).unwrap();
        if with_git {
            git(dir, &["add", "apart.yaml"]);
            git(dir, &["commit", "-qm", "second"]);
        }
        let ran = run(dir, &["run", "apart.yaml", "--id", "m"], "");
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let listed = json(dir, &["worktrees", "--json"]);
        let tree = PathBuf::from(listed["worktrees"][0]["path"].as_str().unwrap());
        let name = listed["worktrees"][0]["name"].as_str().unwrap().to_owned();
        // Not committed: made after the agent.
        fs::write(tree.join("later.txt"), "later\n").unwrap();
        // A copy that a killed process left, and one that may be in the making.
        let (left, young) = (copies(dir).join("left"), copies(dir).join("young"));
        for folder in [&left, &young] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("x"), "x").unwrap();
        }
        let long_ago = SystemTime::now() - Duration::from_secs(7200);
        fs::File::open(&left).unwrap().set_modified(long_ago).unwrap();

        let done = run(dir, &["prune", "--outcome", "succeeded", "--yes"], "");
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        assert!(!left.exists() && young.exists(), "{}", done.stdout);
        assert_eq!(tree.exists(), !with_git, "{}", done.stdout);
        if with_git {
            assert!(done.stdout.contains("1 worktree (1 kept as a branch)"), "{}", done.stdout);
            assert_eq!(git(dir, &["show", &format!("{name}:src/new.txt")]), "fresh\nmore\n");
            assert_eq!(git(dir, &["show", &format!("{name}:later.txt")]), "later\n");
            assert_eq!(git(dir, &["worktree", "list"]).lines().count(), 1);
            assert_eq!(json(dir, &["worktrees", "--json"])["worktrees"].as_array().unwrap().len(), 0);
        } else {
            assert_eq!(fs::read_to_string(tree.join("later.txt")).unwrap(), "later\n");
        }
    }
}

#[test]
fn too_many_worktrees_are_refused_before_they_are_made() {
    let settings = format!("{SETTINGS}worktrees: {{disk_max: 100KB}}\n");
    let script = "- agent: worker\n  steps:\n    - tool_calls: [{name: Bash, input: {command: \"head -c 90000 /dev/zero > big.bin\"}}]\n    - text: Done.\n";
    let dir = project(&settings, &worker(""), script);
    let dir = dir.path();
    fs::write(dir.join(".gitignore"), ".local/\n.cache/\n").unwrap();
    fs::write(dir.join("apart.yaml"), APART).unwrap();
    fs::write(dir.join("data.txt"), "x".repeat(20_000)).unwrap();
    assert_eq!(run(dir, &["run", "apart.yaml", "--id", "one"], "").code, Some(0));
    let refused = run(dir, &["run", "apart.yaml", "--id", "two"], "");
    assert_eq!(refused.code, Some(1), "{}{}", refused.stdout, refused.stderr);
    let shown = json(dir, &["show", "two", "--json"]);
    assert_eq!(shown["output"]["code"], "disk_budget", "{shown:#}");
    let message = shown["output"]["message"].as_str().unwrap();
    assert!(message.contains("more than `worktrees.disk_max` (100000 bytes)"), "{message}");
    assert_eq!(json(dir, &["worktrees", "--json"])["worktrees"].as_array().unwrap().len(), 1);
}
