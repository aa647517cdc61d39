//! Checkpoints, `diff`, `undo` and worktrees with the real binary and scripted models.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{command, run};
use crate::tasks::project::{SETTINGS, agent, project, worker};

/// Every file of a directory but those of git and rawko.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, about) = (entry.path(), entry.metadata().unwrap());
            let name = entry.file_name();
            if [".git", ".local", ".cache", ".rawko"].iter().any(|own| name == *own) {
                continue;
            }
            if about.is_dir() {
                folders.push(path);
            } else {
                let body = match about.is_symlink() {
                    true => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                    false => fs::read(&path).unwrap(),
                };
                found.insert(path.strip_prefix(dir).unwrap().to_owned(), (about.permissions().mode(), body));
            }
        }
    }
    found
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let known = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
    let done = Command::new("git").args(known).args(args).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// What the person has in git: index, branches, stash and reflogs.
pub(crate) fn standing(dir: &Path) -> (Vec<u8>, String, String) {
    let refs = git(dir, &["for-each-ref", "refs/heads", "refs/stash", "refs/tags"]);
    (fs::read(dir.join(".git/index")).unwrap(), refs, git(dir, &["reflog", "--all"]))
}

const WRITING: &str = r#"
- agent: worker
  steps:
    - tool_calls:
        - {name: Write, input: {path: src/new.txt, content: "fresh\n"}}
        - {name: Edit, input: {path: stock.py, old_string: "    return name, int(count)", new_string: "    return name.strip(), int(count)"}}
    - tool_calls:
        - {name: Bash, input: {command: "rm test_stock.py; printf '\\000\\377' > data.bin; chmod 755 data.bin; ln -s data.bin link; : > empty; echo more >> src/new.txt; echo KEY=2 > secret.env; chmod 600 secret.env; echo x > other.env"}}
    - text: Done.
"#;

pub(crate) fn written(with_git: bool) -> TempDir {
    let dir = project(SETTINGS, &worker("transitions: {onSuccess: complete}\n"), WRITING);
    fs::write(dir.path().join(".gitignore"), ".local/\n.cache/\n*.env\n").unwrap();
    fs::write(dir.path().join("secret.env"), "KEY=1\n").unwrap();
    if with_git {
        git(dir.path(), &["init", "-q"]);
        git(dir.path(), &["add", "-A"]);
        git(dir.path(), &["commit", "-qm", "first"]);
        fs::write(dir.path().join("staged.txt"), "staged\n").unwrap();
        git(dir.path(), &["add", "staged.txt"]);
        fs::write(dir.path().join("staged.txt"), "and changed again\n").unwrap();
    }
    dir
}

pub(crate) fn json(dir: &Path, args: &[&str]) -> Json {
    let done = run(dir, args, "");
    assert_eq!(done.code, Some(0), "{args:?}: {}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn a_task_is_shown_as_a_diff_and_undone_byte_for_byte() {
    for with_git in [true, false] {
        let dir = written(with_git);
        let dir = dir.path();
        let before = files(dir);
        let standing_before = with_git.then(|| standing(dir));
        let done = run(dir, &["task", "Do it", "--id", "fix"], "");
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        let after = files(dir);
        assert_eq!(with_git.then(|| standing(dir)), standing_before);

        let shown = json(dir, &["diff", "fix", "--json"]);
        let paths: Vec<&str> =
            shown["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["data.bin", "empty", "link", "src/new.txt", "stock.py", "test_stock.py"]);
        let checkpoints = shown["checkpoints"].as_array().unwrap();
        assert_eq!(checkpoints.len(), 3, "{shown:#}");
        assert_eq!(checkpoints.iter().all(|entry| entry["commit"].is_string()), with_git);
        let text = run(dir, &["diff", "fix"], "").stdout;
        assert!(text.contains("diff --git a/src/new.txt b/src/new.txt\nnew file mode 100644\n"), "{text}");
        assert!(text.contains("\n+fresh\n+more\n"), "{text}");
        // The journal names each checkpoint.
        let own = checkpoints[0]["instance"].as_str().unwrap();
        let journal = run(dir, &["history", own, "--json"], "").stdout;
        assert_eq!(journal.matches("\"checkpoint\":{").count(), 3, "{journal}");

        // The person works on: the undo leaves that alone, and refuses to overwrite.
        fs::write(dir.join("own.txt"), "mine\n").unwrap();
        fs::write(dir.join("empty"), "not any more\n").unwrap();
        let refused = run(dir, &["undo", "fix"], "");
        assert_eq!(refused.code, Some(1), "{}{}", refused.stdout, refused.stderr);
        assert!(refused.stderr.contains("empty") && refused.stderr.contains("--force"), "{}", refused.stderr);
        fs::write(dir.join("empty"), "").unwrap();
        let undone = json(dir, &["undo", "fix", "--json"]);
        assert_eq!(undone["restored"].as_array().unwrap().len(), 2, "{undone}");
        assert_eq!(undone["ignored"], serde_json::json!(["other.env", "secret.env"]), "{undone}");
        let mut expected = before.clone();
        expected.insert("own.txt".into(), files(dir)[Path::new("own.txt")].clone());
        assert_eq!(files(dir), expected);
        assert!(!dir.join("src").exists());
        assert_eq!(run(dir, &["diff", "fix"], "").stdout, "");
        let redone = run(dir, &["undo", "fix", "--redo"], "");
        assert_eq!(redone.code, Some(0), "{}", redone.stderr);
        let mut expected = after.clone();
        expected.insert("own.txt".into(), files(dir)[Path::new("own.txt")].clone());
        assert_eq!(files(dir), expected);
        assert_eq!(with_git.then(|| standing(dir)), standing_before);
        if with_git {
            let refs = git(dir, &["for-each-ref", "refs/rawko"]);
            assert!(!refs.is_empty());
            let last = refs.lines().last().unwrap().split('\t').next_back().unwrap().to_owned();
            assert!(!git(dir, &["ls-tree", "-r", "--name-only", &last]).contains(".env"));
        }
    }
}

#[test]
fn an_undo_goes_back_to_any_step() {
    let dir = written(true);
    let dir = dir.path();
    let done = run(dir, &["task", "Do it", "--id", "fix"], "");
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    // The agent's own steps: those that started a tool.
    let shown = json(dir, &["diff", "fix", "--json"]);
    let own = shown["checkpoints"][0]["instance"].as_str().unwrap().to_owned();
    let steps: Vec<u64> = json(dir, &["diff", &own, "--json"])["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["step"].as_u64().unwrap())
        .collect();
    assert_eq!(steps.len(), 3);
    let at = run(dir, &["diff", &own, "--at", &steps[2].to_string(), "--stat"], "").stdout;
    assert_eq!(at, "A  src/new.txt  +1 -0\nM  stock.py  +1 -1\n");
    let undone = run(dir, &["undo", &own, "--to", &steps[2].to_string()], "");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(fs::read_to_string(dir.join("src/new.txt")).unwrap(), "fresh\n");
    assert!(dir.join("test_stock.py").exists() && !dir.join("link").exists());
    let undone = run(dir, &["undo", &own, "--to", &steps[1].to_string()], "");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(fs::read_to_string(dir.join("stock.py")).unwrap().contains("return name, int(count)"));
    assert!(dir.join("src/new.txt").exists());
    let unknown = run(dir, &["undo", "fix", "--to", "999"], "");
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
}

const MANY: &str = r#"
statechart:
  id: many
  version: 1.0.0
  initial: working
  context: {names: [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9], results: [], conflict: null}
  states:
    working:
      invoke:
        id: coders
        src: {expr: "'agent:' ~ item"}
        each: context.names
        max_concurrent: 10
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
        max_concurrent: 10
        join: settled
        input: {branch: item.worktree.branch}
        onItemError: {actions: [{type: assign, context_updates: {conflict: event.data}}]}
        onDone:
          - {target: resolving, guard: "context.conflict.code == 'conflict'"}
          - {target: failed}
    resolving:
      description: The conflict edge.
      invoke:
        id: resolver
        src: agent:resolver
        input: {prompt: "'Resolve ' ~ context.conflict.files[0]", worktree: context.conflict.branch}
        onDone: again
        onError: failed
    again:
      invoke: {id: last, src: git:merge, input: {branch: context.conflict.branch}, onDone: done, onError: failed}
    done: {type: final, output: {files: event.data.files, conflict: context.conflict}}
    failed: {type: final, tags: [error], output: {why: event.data}}
"#;

fn many(dir: &str) -> String {
    let mut script = String::new();
    for number in 0..8 {
        script += &format!(
            "- agent: c{number}\n  steps:\n    - tool_calls:\n        \
             - {{name: Write, input: {{path: f{number}.txt, content: \"by c{number}\\n\"}}}}\n        \
             - {{name: Bash, input: {{command: \"echo evil > {dir}/evil{number}.txt\"}}}}\n    - text: Done.\n"
        );
    }
    for number in 8..10 {
        script += &format!(
            "- agent: c{number}\n  steps:\n    - tool_calls:\n        \
             - {{name: Edit, input: {{path: shared.txt, old_string: two, new_string: by c{number}}}}}\n    - text: Done.\n"
        );
    }
    script += "- agent: resolver\n  steps:\n    - tool_calls:\n        \
               - {name: Write, input: {path: shared.txt, content: \"one\\nboth\\nthree\\n\"}}\n    - text: Resolved.\n";
    script
}

#[test]
fn ten_agents_work_in_ten_worktrees_and_merge_back() {
    for with_git in [true, false] {
        let mut agents: Vec<(String, String)> =
            (0..10).map(|number| agent(&format!("c{number}"), "")).collect();
        agents.push(agent("resolver", ""));
        let dir = project(SETTINGS, &agents, "");
        let dir = dir.path();
        fs::write(dir.join(".rawko/script.yaml"), many(dir.to_str().unwrap())).unwrap();
        fs::write(dir.join("many.yaml"), MANY).unwrap();
        fs::write(dir.join("shared.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(dir.join(".gitignore"), ".local/\n.cache/\n").unwrap();
        if with_git {
            git(dir, &["init", "-q"]);
            git(dir, &["add", "-A"]);
            git(dir, &["commit", "-qm", "first"]);
            fs::write(dir.join("dirty.txt"), "not committed\n").unwrap();
        }
        let before = files(dir);
        let standing_before =
            with_git.then(|| (fs::read(dir.join(".git/index")).unwrap(), git(dir, &["rev-parse", "HEAD"])));
        let done = run(dir, &["run", "many.yaml", "--id", "m"], "");
        assert_eq!(done.code, Some(55), "{}{}", done.stdout, done.stderr);
        // Nothing of the person changes before the merge.
        assert_eq!(files(dir), before);
        let shown = json(dir, &["show", "m", "--json"]).to_string();
        assert!(shown.contains("rawko/m/c0."), "{shown}");
        if with_git {
            let branches = git(dir, &["branch", "--list", "rawko/*"]);
            assert_eq!(branches.lines().count(), 10, "{branches}");
            let branch = branches.lines().next().unwrap().trim_start_matches(['+', '*', ' ']);
            assert_eq!(git(dir, &["show", &format!("{branch}:f0.txt")]), "by c0\n");
            assert_eq!(git(dir, &["show", &format!("{branch}:dirty.txt")]), "not committed\n");
            assert!(git(dir, &["ls-tree", "-r", "--name-only", branch]).contains(".rawko/config.yaml"));
        }
        let exported = run(dir, &["instance", "export", "m"], "");
        assert!(
            exported.stderr.contains("merge the worktrees of the instance first: rawko/m/c0."),
            "{}",
            exported.stderr
        );
        let done = run(dir, &["send", "m", "GO"], "");
        let ended = json(dir, &["show", "m", "--json"]);
        assert_eq!(ended["outcome"], "succeeded", "{}{}{ended:#}", done.stdout, done.stderr);
        let mut expected = before.clone();
        for number in 0..8 {
            let mode = files(dir)[Path::new(&format!("f{number}.txt"))].0;
            expected.insert(format!("f{number}.txt").into(), (mode, format!("by c{number}\n").into_bytes()));
        }
        expected
            .insert("shared.txt".into(), (before[Path::new("shared.txt")].0, b"one\nboth\nthree\n".to_vec()));
        assert_eq!(files(dir), expected);
        let standing_after =
            with_git.then(|| (fs::read(dir.join(".git/index")).unwrap(), git(dir, &["rev-parse", "HEAD"])));
        assert_eq!(standing_after, standing_before);
        // Nothing is left behind.
        if with_git {
            assert_eq!(git(dir, &["branch", "--list", "rawko/*"]), "");
            assert_eq!(git(dir, &["worktree", "list"]).lines().count(), 1);
        }
        // A merge can be undone.
        let undone = run(dir, &["undo", "m"], "");
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        assert_eq!(files(dir), before);
    }
}

/// Starts a command, kills it after a while, and waits for its end.
fn killed(dir: &Path, args: &[&str], after_ms: u64) {
    let mut child = command(dir, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(after_ms));
    let _ = child.kill();
    child.wait().unwrap();
}

const MASS: &str = r#"
- agent: worker
  steps:
    - tool_calls:
        - {name: Bash, input: {command: "mkdir -p many; for n in $(seq 400); do echo $n > many/$n.txt; done; rm test_stock.py; echo x >> stock.py"}}
    - text: Done.
"#;

#[test]
fn an_undo_or_merge_that_is_killed_is_completed_by_the_next() {
    let dir = project(SETTINGS, &worker("transitions: {onSuccess: complete}\n"), MASS);
    let dir = dir.path();
    let before = files(dir);
    let done = run(dir, &["task", "Do it", "--id", "fix"], "");
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let after = files(dir);
    assert_eq!(after.len(), before.len() + 400 - 1);
    for after_ms in [20, 40, 60, 80, 120, 200] {
        killed(dir, &["undo", "fix"], after_ms);
        let undone = run(dir, &["undo", "fix"], "");
        assert_eq!(undone.code, Some(0), "{}{}", undone.stdout, undone.stderr);
        assert_eq!(files(dir), before);
        killed(dir, &["undo", "fix", "--redo"], after_ms);
        // Redone by now, or not yet.
        let redone = run(dir, &["undo", "fix", "--redo"], "");
        assert!(
            redone.code == Some(0) || redone.stderr.contains("no undo to take back"),
            "{}",
            redone.stderr
        );
        assert_eq!(files(dir), after);
    }
    run(dir, &["undo", "fix"], "");
    for after_ms in [40, 80, 160] {
        let chart = "statechart: {id: one, version: 1.0.0, initial: a, states: {a: {invoke: {id: w, src: 'agent:worker', \
                     isolation: worktree, input: {prompt: \"'Do it'\"}, onDone: b, onError: c}}, b: {type: final, output: event.data.worktree}, \
                     c: {type: final, tags: [error]}}}\n";
        fs::write(dir.join(".rawko/one.yaml"), chart).unwrap();
        let id = format!("one{after_ms}");
        let done = run(dir, &["run", ".rawko/one.yaml", "--id", &id], "");
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        assert_eq!(files(dir), before);
        let listed = json(dir, &["worktrees", "--json"]);
        let name = listed["worktrees"][0]["name"].as_str().unwrap().to_owned();
        assert_eq!(listed["worktrees"].as_array().unwrap().len(), 1, "{listed}");
        killed(dir, &["worktrees", "merge", &name], after_ms);
        let merged = run(dir, &["worktrees", "merge", &name], "");
        assert!(
            merged.code == Some(0) || merged.stderr.contains("there is no worktree"),
            "{}",
            merged.stderr
        );
        assert_eq!(files(dir), after);
        let undone = run(dir, &["undo", &id], "");
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        assert_eq!(files(dir), before);
    }
}

#[test]
fn a_fork_works_with_the_files_of_its_step() {
    let dir = written(true);
    let dir = dir.path();
    let done = run(dir, &["task", "Do it", "--id", "fix"], "");
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let after = files(dir);
    let step = json(dir, &["diff", "fix", "--json"])["checkpoints"][0]["step"].as_u64().unwrap().to_string();
    let forked = run(dir, &["fork", "fix", "--at", &step, "--id", "again", "--run"], "");
    assert_eq!(forked.code, Some(0), "{}{}", forked.stdout, forked.stderr);
    assert_eq!(files(dir), after);
    let listed = json(dir, &["worktrees", "--json"]);
    let tree = Path::new(listed["worktrees"][0]["path"].as_str().unwrap());
    // It did the same work again, from the files before it.
    assert_eq!(fs::read_to_string(tree.join("src/new.txt")).unwrap(), "fresh\nmore\n");
    assert!(!tree.join("test_stock.py").exists());
    // rawko does not carry the file into the project, regardless of its writer.
    fs::create_dir_all(tree.join("sub/.vscode")).unwrap();
    fs::write(tree.join("sub/.vscode/tasks.json"), "{}").unwrap();
    let merged = run(dir, &["worktrees", "merge", "rawko/again"], "");
    assert!(merged.code != Some(0) && merged.stderr.contains("sub/.vscode"), "{}", merged.stderr);
    assert_eq!(files(dir), after);
    let removed = run(dir, &["worktrees", "remove", "rawko/again"], "");
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert!(!tree.exists() && git(dir, &["branch", "--list", "rawko/*"]).is_empty());
}
