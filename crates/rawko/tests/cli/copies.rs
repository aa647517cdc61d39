//! Copies of the project that end without a merge: those of stopped agents, and that of the workflow from an issue to a
//! patch.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::{command, repository, run};
use crate::tasks::project::{SETTINGS, agent, project};
use crate::trees::{files, git, json, standing};

const FIRST_WINS: &str = r#"
statechart:
  id: first
  version: 1.0.0
  initial: working
  context: {names: [quick, busy, idle, failing]}
  states:
    working:
      invoke:
        id: coders
        src: {expr: "'agent:' ~ item"}
        each: context.names
        join: any
        isolation: worktree
        input: {prompt: "'Do it'"}
        onDone: done
        onError: failed
    done: {type: final}
    failed: {type: final, tags: [error]}
"#;

/// The agents that a join stops, and one that fails, end like others: changes are a commit, and a copy without any is gone.
#[test]
fn stopped_agents_leave_their_changes_and_nothing_else() {
    let marks = tempfile::tempdir().unwrap();
    let mark = |name: &str| format!("touch {}/{name}", marks.path().display());
    let call =
        |command: &str| format!("    - tool_calls: [{{name: Bash, input: {{command: \"{command}\"}}}}]\n");
    // The first one to end waits for the others.
    let wait = format!(
        "cd {}; until test -e busy && test -e idle && test -e failing; do sleep 0.05; done",
        marks.path().display()
    );
    let write = |name: &str| format!("echo x > {name}.txt; {}", mark(name));
    let scripts = [
        ("quick", format!("{}    - text: Done.\n", call(&wait))),
        ("busy", call(&format!("{}; sleep 60", write("busy")))),
        ("idle", call(&format!("{}; sleep 60", mark("idle")))),
        ("failing", format!("{}    - error: {{code: authentication_failed}}\n", call(&write("failing")))),
    ];
    let script: String =
        scripts.iter().map(|(agent, steps)| format!("- agent: {agent}\n  steps:\n{steps}")).collect();
    let agents: Vec<_> = scripts.iter().map(|(name, _)| agent(name, "")).collect();
    let dir = project(&format!("{SETTINGS}tools: {{bash: {{sandbox: off}}}}\n"), &agents, &script);
    let dir = dir.path();
    fs::write(dir.join("first.yaml"), FIRST_WINS).unwrap();
    fs::write(dir.join(".gitignore"), ".local/\n.cache/\n").unwrap();
    git(dir, &["init", "-q"]);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-qm", "first"]);
    let done = run(dir, &["run", "first.yaml", "--id", "f"], "");
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let listed = json(dir, &["worktrees", "--json"]);
    let names: Vec<&str> =
        listed["worktrees"].as_array().unwrap().iter().map(|tree| tree["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["rawko/f/busy.0.1", "rawko/f/failing.0.3"], "{listed:#}");
    assert_eq!(git(dir, &["show", "rawko/f/busy.0.1:busy.txt"]), "x\n");
    assert_eq!(git(dir, &["show", "rawko/f/failing.0.3:failing.txt"]), "x\n");
}

/// The script that the guide shows, between the line that names it and the end of the block.
fn guide_script() -> String {
    let guide = fs::read_to_string(repository().join("docs/guide/workflows.md")).unwrap();
    let lines = guide.lines().skip_while(|line| !line.starts_with("# .rawko/merge-request.sh"));
    lines.take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_merge_request_is_opened_with_gh_and_without_it_the_patch_is_the_result() {
    let settings = SETTINGS.replace(
        "governance: {allow: ['agent:*']}",
        "governance: {allow: ['agent:*', 'statechart:*', merge_request]}\n\
         services: {merge_request: {command: [sh, .rawko/merge-request.sh], sandbox: off}}",
    );
    let script = "- agent: builder\n  steps:\n    - tool_calls: [{name: Write, input: {path: two.txt, content: \"2\\n\"}}]\n    - text: Counted.\n";
    let review = "statechart:\n  id: fine\n  version: 1.0.0\n  initial: done\n  states:\n    \
                  done: {type: final, output: {verdict: \"'approved'\", findings: \"[]\", text: \"''\"}}\n";
    let dir = project(&settings, &[agent("builder", "")], script);
    let dir = dir.path();
    fs::write(dir.join(".rawko/merge-request.sh"), guide_script()).unwrap();
    fs::write(dir.join("fine.yaml"), review).unwrap();
    fs::write(dir.join(".gitignore"), "/.local/\n/.cache/\n/bin/\n/remote.git/\n/.gitconfig\n").unwrap();
    fs::write(dir.join(".gitconfig"), "[user]\nname = ada\nemail = ada@example.org\n").unwrap();
    git(dir, &["init", "-q"]);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-qm", "first"]);
    git(dir, &["init", "-q", "--bare", "remote.git"]);
    git(dir, &["remote", "add", "origin", dir.join("remote.git").to_str().unwrap()]);
    let before = standing(dir);
    let bin = dir.join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let tree = files(dir);
    let ended = |id: &str, path: &str| -> Json {
        let args = ["run", "issue_to_patch", "--with", "fine.yaml", "--id", id, "--output-format", "json"];
        let inputs = ["review_chart=fine", "request=merge_request", "issue=Count to two"];
        let mut command = command(dir, &args);
        for input in inputs {
            command.args(["--input", input]);
        }
        let done = command.env("PATH", path).output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(told.contains(&format!("`rawko worktrees merge rawko/{id}/change`")), "{told}");
        serde_json::from_slice(&done.stdout).unwrap()
    };
    // Every program but `gh`, which this machine may have.
    for folder in std::env::split_paths(&path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() != "gh" {
                let _ = std::os::unix::fs::symlink(entry.path(), bin.join(entry.file_name()));
            }
        }
    }
    let alone = ended("without", bin.to_str().unwrap());
    let output = &alone["output"];
    assert_eq!((&output["outcome"], &output["request"]), (&"finished".into(), &Json::Null), "{alone}");
    let why = output["request_problem"]["message"].as_str().unwrap();
    assert!(why.contains("gh is not installed"), "{why}");
    let patch = fs::read_to_string(output["patch"].as_str().unwrap()).unwrap();
    assert!(patch.contains("+++ b/two.txt"), "{patch}");
    let branch = &output["worktree"]["branch"];
    assert_eq!(branch, "rawko/without/change", "{alone}");
    assert_eq!(git(dir, &["show", "rawko/without/change:two.txt"]), "2\n");

    let log = dir.join("remote.git/gh.log");
    let gh = format!("#!/bin/sh\necho \"$@\" > {}\necho https://example.org/7\n", log.display());
    fs::write(bin.join("gh"), gh).unwrap();
    fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
    let opened = ended("with", bin.to_str().unwrap());
    let output = &opened["output"];
    assert_eq!(output["request"]["url"], "https://example.org/7", "{opened}");
    let asked = fs::read_to_string(log).unwrap();
    assert_eq!(asked.trim(), "pr create --head rawko/count-to-two --title Count to two --body Counted.");
    let pushed = git(&dir.join("remote.git"), &["show", "--stat", "--format=%s", "rawko/count-to-two"]);
    assert!(pushed.starts_with("Count to two\n") && pushed.contains("two.txt"), "{pushed}");
    let (index, branches, _) = standing(dir);
    let own = branches.lines().filter(|line| !line.contains("refs/heads/rawko/"));
    let own: String = own.map(|line| format!("{line}\n")).collect();
    assert_eq!((index, own), (before.0, before.1), "index and branches of the person");
    let now = files(dir);
    let there: Vec<_> = now.keys().filter(|path| !path.starts_with("remote.git")).collect();
    let before: Vec<_> = tree.keys().filter(|path| !path.starts_with("remote.git")).collect();
    assert!(there.iter().filter(|path| !path.starts_with("bin")).eq(before.iter()), "{there:?}");
    // The runs have ended, and both changed the same file: the list marks them.
    let listed = json(dir, &["worktrees", "--json"]);
    let names = serde_json::json!(["rawko/with/change", "rawko/without/change"]);
    assert_eq!((&listed["ended"], &listed["overlaps"][0]["ended"]), (&names, &names), "{listed:#}");
    let shown = run(dir, &["worktrees"], "");
    let line = "two.txt is changed in rawko/with/change (run ended), rawko/without/change (run ended)";
    assert!(shown.stderr.contains(line), "{}{}", shown.stdout, shown.stderr);
    let merged = run(dir, &["worktrees", "merge", "rawko/with/change"], "");
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    assert_eq!(fs::read_to_string(dir.join("two.txt")).unwrap(), "2\n");
    assert!(!Path::new(opened["output"]["patch"].as_str().unwrap()).exists(), "it goes with its copy");
}
