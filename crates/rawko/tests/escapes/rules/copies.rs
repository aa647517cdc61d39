//! An agent in a copy of the project: the repository stays the person's.

use std::process::Command;

use super::support::{Tally, Yard};

const COPY: &str = "---\nname: worker\ndescription: Works.\nisolation: worktree\n---\nYou work.\n";

fn git(yard: &Yard, args: &[&str]) -> String {
    let mut git = Command::new("git");
    let output = git.args(args).current_dir(yard.root()).env("HOME", yard.home()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All that belongs to the person.
fn state(yard: &Yard) -> String {
    let read = |path: &str| yard.read(path).unwrap_or_default();
    let refs =
        git(yard, &["for-each-ref", "refs/heads/main", "refs/heads/packed", "refs/tags", "refs/stash"]);
    [read(".git/HEAD"), read(".git/packed-refs"), refs, git(yard, &["ls-files", "--stage"])].join("\n")
}

pub(super) fn attempt(tally: &mut Tally) {
    let common = "C=$(git rev-parse --git-common-dir)";
    for (name, line) in [
        ("HEAD", "echo 'ref: refs/heads/evil' > $C/HEAD"),
        ("HEAD by git", "git --git-dir=$C symbolic-ref HEAD refs/heads/evil"),
        (
            "the branch of the project",
            "git commit -q --allow-empty -m x; git update-ref refs/heads/main HEAD",
        ),
        ("a packed branch", "git commit -q --allow-empty -m x; git branch -f packed HEAD"),
        ("a packed branch as a file", "git rev-parse HEAD~0 > $C/refs/heads/packed; echo 0 > $C/packed-refs"),
        ("the index", "rm -f $C/index; git --git-dir=$C rm -q --cached probe.yaml"),
        ("a lock", "touch $C/index.lock $C/HEAD.lock; test -e $C/index.lock"),
        ("a tag", "git tag evil"),
        ("the stash", "echo x > probe.yaml; git stash"),
        ("a reference of rawko", "git update-ref refs/rawko/evil HEAD; git tag evil $(git rev-parse HEAD)"),
    ] {
        let new = |line: &str| {
            let call = format!("{{name: Bash, input: {{command: \"{}\"}}}}", line.replace('"', "\\\""));
            let commit = "{name: Bash, input: {command: 'echo y > made.txt; git add made.txt; git commit -qm made && git log --format=%s -1'}}";
            let yard = Yard::with_calls(&[call, commit.to_owned()], &[(".rawko/agents/worker.md", COPY)]);
            git(&yard, &["init", "-q", "-b", "main"]);
            git(&yard, &["config", "user.name", "Ada"]);
            git(&yard, &["config", "user.email", "ada@example.test"]);
            git(&yard, &["add", "probe.yaml"]);
            git(&yard, &["commit", "-qm", "first"]);
            git(&yard, &["branch", "packed"]);
            git(&yard, &["pack-refs", "--all"]);
            git(&yard, &["commit", "-q", "--allow-empty", "-m", "second"]);
            yard
        };
        let yard = new(&format!("{common}; {line}"));
        let before = state(&yard);
        yard.trust().run(&["run", "probe.yaml", "--id", "a"]);
        let held = state(&yard) == before
            && !yard.has(".git/index.lock")
            && !git(&yard, &["for-each-ref", "refs/rawko"]).contains("refs/rawko/evil");
        // The agent's own commit is there.
        let control = git(&yard, &["log", "--format=%s", "rawko/a/worker.0"]).contains("made");
        tally.row(format!("a copy changes {name}"), held, control);
    }
}
