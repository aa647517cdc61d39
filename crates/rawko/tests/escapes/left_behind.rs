//! What a call leaves for the person's own git, editor and shell, which run without a sandbox: each row runs as an agent with
//! the real binary, then the person's command runs. The control runs the same lines without rawko, and gets through.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::shell::Project;

/// A name, the lines of an agent (one call each), and a line of the person. `$OUT` is a directory outside the project with
/// the file `marker`. An attempt gets through if that directory changes, or if a file `PWNED` appears anywhere.
type Row = (&'static str, &'static [&'static str], &'static str);

const EVIL: &str =
    "evil() { printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch PWNED; false\\n'; };";

const ROWS: &[Row] = &[
    // Links in the project's own git directory.
    ("FETCH_HEAD", &["ln -sf $OUT/marker .git/FETCH_HEAD"], "git fetch -q ."),
    ("COMMIT_EDITMSG", &["ln -sf $OUT/marker .git/COMMIT_EDITMSG"], "git commit -q --allow-empty -m x"),
    ("a log", &["ln -sf $OUT/marker .git/logs/HEAD"], "git commit -q --allow-empty -m x"),
    ("the index", &["rm -f .git/index; ln -s $OUT/new .git/index"], "git add open.txt"),
    ("packed refs", &["ln -s $OUT/new .git/packed-refs"], "git pack-refs --all"),
    ("packs", &["rmdir .git/objects/pack; ln -s $OUT .git/objects/pack"], "git repack -adq"),
    ("a directory of branches", &["ln -s $OUT .git/refs/heads/x"], "git branch x/y"),
    ("the shallow commits", &["ln -s $OUT/new .git/shallow"], "git fetch -q --depth 1 file://$PWD"),
    ("by two calls", &["ln -s $OUT/marker .git/later", "mv .git/later .git/FETCH_HEAD"], "git fetch -q ."),
    ("by a link of a link", &["ln -s $OUT .git/out; ln -sf out/marker .git/FETCH_HEAD"], "git fetch -q ."),
    ("relative", &["ln -sf ../$(realpath --relative-to=. $OUT)/marker .git/FETCH_HEAD"], "git fetch -q ."),
    (
        "a file of authority",
        &["ln -sf config .git/COMMIT_EDITMSG; evil > .git/MERGE_MSG"],
        "git -c core.editor=true commit -q --allow-empty; git status",
    ),
    (
        "a pipe",
        &["rm -f .git/FETCH_HEAD; mkfifo .git/FETCH_HEAD"],
        "timeout 3 git fetch -q .; test $? = 124 && touch PWNED",
    ),
    // Links in other git directories.
    (
        "a repository deep in the project",
        &["git init -q a/b/c/d/e/f; ln -s $OUT/marker a/b/c/d/e/f/.git/FETCH_HEAD"],
        "git -C a/b/c/d/e/f fetch -q ../../../../../..",
    ),
    (
        "a bare repository",
        &["git clone -q --bare . b.git; ln -s $OUT/marker b.git/FETCH_HEAD"],
        "git -C b.git fetch -q ..",
    ),
    (
        "a worktree",
        &["git worktree add -q w; ln -s $OUT/marker .git/worktrees/w/FETCH_HEAD"],
        "git -C w fetch -q .",
    ),
    // Configuration, at any depth, in any directory.
    (
        "configuration deep in the project",
        &["git init -q a/b/c/d/e; evil >> a/b/c/d/e/.git/config"],
        "git -C a/b/c/d/e status",
    ),
    (
        "configuration of a bare repository",
        &[
            "git init -q --bare b; mkdir b/tree; evil > b/config; printf '\\tbare = false\\n\\tworktree = tree\\n' >> b/config",
        ],
        "git -C b/tree status",
    ),
    (
        "configuration of a directory that is led to another",
        &[
            "git init -q --bare e; mkdir x; printf '[core]\\n\\tbare = true\\n[remote \"origin\"]\\n\\turl = .\\n\\tuploadpack = touch PWNED; false\\n' > e/config; cp e/HEAD x/; echo ../e > x/commondir; rm e/HEAD",
        ],
        "git -C x fetch",
    ),
    (
        "configuration of a submodule with a long name",
        &[
            "mkdir -p .git/modules/a/b/c/d/e/f; git init -q s; git -C s commit -q --allow-empty -m s; mv s/.git/* .git/modules/a/b/c/d/e/f/; rmdir s/.git; echo 'gitdir: ../.git/modules/a/b/c/d/e/f' > s/.git; evil >> .git/modules/a/b/c/d/e/f/config",
        ],
        "git -C s status",
    ),
    (
        "a second name for the configuration",
        &["git init -q near; ln near/.git/config near/.git/COMMIT_EDITMSG; evil > near/.git/MERGE_MSG"],
        "cd near; git -c core.editor=true commit -q --allow-empty; git status",
    ),
    (
        "a working tree outside the project",
        &[
            "git init -q near; cd near; echo evil > marker; git add marker; git commit -qm x; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = %s\\n' $OUT > .git/config",
        ],
        "git -C near checkout -f",
    ),
    (
        "a file that leads to another git directory",
        &[
            "git init -q e; mkdir -p a/b/c/d; mv e/.git e/g; evil >> e/g/config; echo 'gitdir: ../../../../e/g' > a/b/c/d/.git",
        ],
        "git -C a/b/c/d status",
    ),
    // Work that the person continues.
    (
        "a rebase with a command",
        &["GIT_SEQUENCE_EDITOR='printf \"break\\nexec touch PWNED\\n\" >' git rebase -i --root"],
        "git rebase --continue",
    ),
    (
        "a rebase with a command that is added later",
        &[
            "GIT_SEQUENCE_EDITOR='printf \"break\\nnoop\\n\" >' git rebase -i --root",
            "echo 'x touch PWNED' >> .git/rebase-merge/git-rebase-todo",
        ],
        "git rebase --continue",
    ),
    (
        "a rebase with a strategy of the project",
        &[
            "mkdir git-merge-a; printf '#!/bin/sh\\ntouch PWNED\\n' > git-merge-a/b; chmod +x git-merge-a/b; git checkout -q -b one; git add open.txt; git commit -qm one; git checkout -q -b two HEAD~1; git add good.sh; git commit -qm two; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i one; echo a/b > .git/rebase-merge/strategy",
        ],
        "git rebase --continue",
    ),
    (
        "a conflict that is recorded for a file outside",
        &[
            "i=0123456789012345678901234567890123456789; mkdir -p .git/rr-cache/$i; : > .git/rr-cache/$i/preimage; printf '%s\\t%s\\0' $i $OUT/marker > .git/MERGE_RR",
        ],
        "git rerere; git commit -q --allow-empty -m x; grep -rq mine .git/rr-cache && touch PWNED",
    ),
    (
        "objects of another repository",
        &["mkdir -p .git/objects/info; echo $OUT > .git/objects/info/alternates"],
        "grep -rq out .git/objects/info/alternates && touch PWNED",
    ),
    (
        "attributes that no diff shows",
        &["mkdir -p .git/info; echo '* filter=person' > .git/info/attributes"],
        "git -c filter.person.clean='touch PWNED; cat' add open.txt",
    ),
];

/// Everyday work with git that leaves nothing to refuse.
const ORDINARY: &[(&str, &str)] = &[
    ("git add open.txt && git commit -qm made", "git log --format=%s | grep made"),
    ("git init -q --bare remote.git && git push -q remote.git HEAD:main", "git -C remote.git log -1 main"),
    ("git clone -q -s . copy", "git -C copy log -1"),
    ("git worktree add -q tree && git -C tree commit -q --allow-empty -m in-tree", "git -C tree log -1"),
    (
        "git checkout -q -b one && git commit -q --allow-empty -m one && GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --root; true",
        "git rebase --continue",
    ),
    ("git stash -q; git gc -q; git tag v1", "git fsck"),
];

/// Rows at the same time.
const LANES: usize = 4;
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "a"),
    ("GIT_AUTHOR_EMAIL", "a@b"),
    ("GIT_COMMITTER_NAME", "a"),
    ("GIT_COMMITTER_EMAIL", "a@b"),
];

fn project(lines: &[&str]) -> Project {
    let identity: Vec<String> = IDENTITY.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let settings = format!("tools: {{bash: {{env: {{{}}}}}}}\n", identity.join(", "));
    // In files: the kernel is the boundary, not the filter of command lines.
    let calls: Vec<(&str, Value)> = (0..lines.len())
        .map(|number| ("Bash", json!({"command": format!("bash {number}.sh; echo RAN")})))
        .collect();
    let project = Project::new(&settings, "", &calls);
    let out = out(&project);
    fs::create_dir(&out).unwrap();
    fs::write(Path::new(&out).join("marker"), "mine\n").unwrap();
    for (number, line) in lines.iter().enumerate() {
        let text = format!("{EVIL} OUT={out}; {line}\n");
        fs::write(project.dir.path().join(format!("{number}.sh")), text).unwrap();
    }
    project
}

fn out(project: &Project) -> String {
    project.home.path().join("out").display().to_string()
}

/// A line of the person, or of an agent without rawko.
fn shell(project: &Project, line: &str) -> bool {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{EVIL} {line}")]).current_dir(project.dir.path());
    command.env("HOME", project.home.path()).env("OUT", out(project)).envs(IDENTITY);
    command.stdin(std::process::Stdio::null()).output().unwrap().status.success()
}

/// What an attempt brought about.
fn effect(project: &Project) -> Option<String> {
    let out = out(project);
    let entries = fs::read_dir(&out).unwrap().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>();
    let marker = fs::read_to_string(Path::new(&out).join("marker")).unwrap_or_default();
    if marker != "mine\n" || entries.len() != 1 {
        return Some(format!("{entries:?} {marker:?}"));
    }
    let found = Command::new("find").arg(project.dir.path()).args(["-name", "PWNED"]).output().unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    Some(found).filter(|found| !found.is_empty())
}

/// Runs one row; the error is what happened instead.
fn attempt((name, lines, person): &Row) -> Result<(), String> {
    let control = project(lines);
    for line in *lines {
        shell(&control, line);
    }
    shell(&control, person);
    let tried = project(lines);
    let results = tried.run(&[]);
    let ran = results.len() == lines.len() && results.iter().all(|result| result.contains("RAN"));
    shell(&tried, person);
    match (effect(&tried), effect(&control)) {
        (None, Some(_)) if ran => Ok(()),
        (None, Some(_)) => Err(format!("{name}: did not run: {results:?}")),
        (None, None) => Err(format!("{name}: the control failed")),
        (Some(effect), _) => Err(format!("{name}: escaped: {effect}: {results:?}")),
    }
}

#[test]
fn nothing_is_left_for_the_persons_git() {
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let lanes: Vec<_> = ROWS
            .chunks(ROWS.len().div_ceil(LANES))
            .map(|rows| scope.spawn(|| rows.iter().map(attempt).collect::<Vec<_>>()))
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    println!("left for git: {} of {} held", ROWS.len() - wrong.len(), ROWS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ordinary_work_with_git_is_kept() {
    for (line, person) in ORDINARY {
        let project = project(&[line]);
        let results = project.run(&[]);
        assert!(results[0].contains("RAN") && !results[0].contains("refused"), "{line}: {results:?}");
        assert!(shell(&project, person), "{line}: {results:?}");
    }
}

/// A rebase of the person with commands of their own, which an agent continues.
#[test]
fn steps_of_the_person_stay() {
    let project = project(&["git rebase --continue"]);
    let steps = "printf 'break\\nexec true\\nbreak\\nexec touch mine\\n'";
    assert!(shell(&project, &format!("GIT_SEQUENCE_EDITOR=\"{steps} >\" git rebase -i --root")));
    let results = project.run(&[]);
    assert!(!results[0].contains("refused"), "{results:?}");
    assert!(shell(&project, "git rebase --continue") && project.has("mine"), "{results:?}");
}

/// Every name of the table, in a new directory and at the top.
#[test]
fn no_name_of_the_table_is_left() {
    let names = rawko_process::PROTECTED_NAMES.iter().flat_map(|class| class.names.iter());
    let names: Vec<String> =
        names.filter(|name| **name != ".git").map(|name| name.replace('*', "x")).collect();
    let lines: Vec<String> = ["new/deep", "."]
        .iter()
        .flat_map(|at| names.iter().map(move |name| format!("{at}/{name}")))
        .map(|path| format!("mkdir -p $(dirname {path}); test -e {path} || echo MADE > {path}"))
        .collect();
    let line = lines.join("\n");
    let left = |project: &Project| -> Vec<String> {
        let all =
            ["new/deep", "."].iter().flat_map(|at| names.iter().map(move |name| format!("{at}/{name}")));
        let is_made = |path: &String| {
            fs::read_to_string(project.dir.path().join(path)).is_ok_and(|text| text.contains("MADE"))
        };
        all.filter(is_made).collect()
    };
    let control = project(&[]);
    shell(&control, &line);
    let expected = left(&control).len();
    assert!(expected >= 2 * names.len() - 3, "{expected}");
    let tried = project(&[&line]);
    let results = tried.run(&[]);
    let found = left(&tried);
    println!("names: {} of {expected} held", expected - found.len());
    assert!(found.is_empty() && results[0].contains("RAN"), "{found:?}: {results:?}");
}
