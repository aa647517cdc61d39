//! Random trees, random calls, changes by a person in between: every state comes back byte for byte, also if the undo is
//! killed in the middle, with git and without.

#![allow(clippy::unwrap_used, reason = "tests")]

mod clashes;
mod copies;
mod operations;
mod overlapping;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rawko_process::Confinement;
use rawko_programs::checkpoints::{
    ApplyError, ChangeAuthor, CheckpointSettings, Checkpoints, EntryKind, HistoryEntry, PathChange, PathKind,
    net_changes, real_path,
};
use rawko_settings::Environment;
use tempfile::TempDir;

use operations::{Op, op, perform};

/// Everything of a tree, without git's own files.
fn dump(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, about) = (entry.path(), entry.metadata().unwrap());
            if entry.file_name() == ".git" {
                continue;
            }
            let body = if about.is_dir() {
                folders.push(path.clone());
                b"directory".to_vec()
            } else if about.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().as_bytes().to_vec()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), (about.mode(), body));
        }
    }
    found
}

struct Scene {
    project: TempDir,
    state: TempDir,
}

impl Scene {
    fn new(with_git: bool) -> Self {
        let scene = Self { project: TempDir::new().unwrap(), state: TempDir::new().unwrap() };
        if with_git {
            git(scene.root(), &["init", "-q"]);
        }
        scene
    }

    fn root(&self) -> &Path {
        self.project.path()
    }

    /// A history as a new process opens it.
    fn open(&self) -> Checkpoints {
        self.open_at(self.root())
    }

    /// The history of a project at this place.
    fn open_at(&self, root: &Path) -> Checkpoints {
        Checkpoints::new(CheckpointSettings {
            root: root.to_owned(),
            folder: self.state.path().join("checkpoints"),
            excluded: Vec::new(),
            git: true,
            environment: Environment::of_process(),
            confinement: Confinement::of_project(root),
        })
    }
}

fn git(root: &Path, args: &[&str]) -> String {
    let known = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
    let done = std::process::Command::new("git").args(known).args(args).current_dir(root).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn author(step: usize) -> ChangeAuthor {
    let call = format!("task/{step}/0");
    ChangeAuthor { kind: EntryKind::Call, instance: "task".into(), call, label: "Bash".into() }
}

fn undo() -> ChangeAuthor {
    ChangeAuthor { kind: EntryKind::Undo, instance: "task".into(), call: String::new(), label: "undo".into() }
}

fn since(step: u64) -> impl Fn(&HistoryEntry) -> bool {
    move |entry| match entry.author.kind {
        EntryKind::Call => entry.author.step().is_some_and(|own| own >= step),
        EntryKind::Undo | EntryKind::Redo => true,
        EntryKind::Base | EntryKind::Outside | EntryKind::Merge => false,
    }
}

async fn story(with_git: bool, begun: Vec<Op>, calls: Vec<Vec<Op>>, to: usize, killed: usize) {
    let scene = Scene::new(with_git);
    let root = scene.root();
    perform(root, &begun);
    let history = scene.open();
    let mut states = vec![dump(root)];
    for (step, ops) in calls.iter().enumerate() {
        history.begin(&author(step)).await.unwrap();
        perform(root, ops);
        history.end(&author(step)).await.unwrap();
        states.push(dump(root));
    }
    let to = to % states.len();
    let entries = history.entries().unwrap();
    assert!(entries.iter().all(|entry| entry.commit.is_some() == with_git));
    let is_git = |path: &str| path.split('/').any(|part| part == ".git");
    assert!(!entries.iter().flat_map(|it| it.changes.iter().chain(&it.ignored)).any(|it| is_git(&it.path)));
    let net = net_changes(&entries, since(to as u64));
    let applied = history.revert(&net, &undo(), false).await.unwrap();
    assert_eq!(dump(root), states[to], "undo to {to}");
    // The undo is undone.
    if let Some(entry) = applied.entry {
        let net = net_changes(&history.entries().unwrap(), |other| other.number == entry.number);
        history.revert(&net, &undo(), false).await.unwrap();
        assert_eq!(dump(root), *states.last().unwrap(), "redo");
    }
    // An undo to the beginning, killed after some of its changes. The next process completes it.
    let net = net_changes(&history.entries().unwrap(), since(0));
    let old = net.changes.iter().zip(&net.between);
    let old = old.filter_map(|(it, (first, _))| Some((it.path.clone(), it.before.clone()?, first - 1)));
    let old: Vec<_> = old.collect();
    for ((_, mark, _), body) in old.iter().zip(history.contents(&old).await.unwrap()) {
        body.iter().for_each(|body| history.keep(mark, body).unwrap());
    }
    let back = |it: &PathChange| PathChange {
        path: it.path.clone(),
        before: it.after.clone(),
        after: it.before.clone(),
    };
    let mut changes: Vec<PathChange> = net.changes.iter().chain(&net.ignored).map(back).collect();
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    if !changes.is_empty() {
        let intent = serde_json::json!({"author": undo(), "changes": changes});
        fs::write(scene.state.path().join("checkpoints/intent.json"), intent.to_string()).unwrap();
        drop(history);
        let is_file =
            |it: &&PathChange| it.before.as_ref().is_some_and(|mark| mark.kind != PathKind::Directory);
        for change in changes.iter().rev().take(killed % (changes.len() + 1)).filter(is_file) {
            fs::remove_file(root.join(real_path(&change.path))).unwrap();
        }
        scene.open().now().await.unwrap();
    }
    assert_eq!(dump(root), states[0], "killed undo");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn undo_restores_every_step(
        begun in prop::collection::vec(op(), 0..6),
        calls in prop::collection::vec(prop::collection::vec(op(), 0..4), 0..4),
        (to, killed) in (any::<usize>(), any::<usize>()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(story(false, begun, calls, to, killed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn undo_restores_every_step_from_commits(
        begun in prop::collection::vec(op(), 0..6),
        calls in prop::collection::vec(prop::collection::vec(op(), 0..4), 0..4),
        (to, killed) in (any::<usize>(), any::<usize>()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(story(true, begun, calls, to, killed));
    }
}

/// Everything in the git directory but objects and rawko's own refs.
fn repository_of(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = dump(&root.join(".git"));
    found.retain(|path, _| !path.starts_with("objects") && !path.starts_with("refs/rawko"));
    found
}

#[tokio::test]
async fn a_checkpoint_leaves_the_repository_alone_and_runs_nothing_of_it() {
    let scene = Scene::new(true);
    let root = scene.root();
    fs::write(root.join("kept.txt"), "one\n").unwrap();
    fs::write(root.join(".gitignore"), "out/\n*.secret\n").unwrap();
    fs::write(root.join(".gitattributes"), "* filter=evil\n").unwrap();
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "first"]);
    fs::write(root.join("kept.txt"), "stashed\n").unwrap();
    git(root, &["stash", "-q"]);
    let trap = format!("touch {}", root.join("ran").display());
    git(root, &["config", "filter.evil.clean", &format!("{trap}; cat")]);
    git(root, &["config", "filter.evil.smudge", &format!("{trap}; cat")]);
    git(root, &["config", "core.fsmonitor", &trap]);
    for hook in ["reference-transaction", "post-index-change", "pre-commit", "post-commit"] {
        let file = root.join(".git/hooks").join(hook);
        fs::write(&file, format!("#!/bin/sh\n{trap}\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir(root.join("out")).unwrap();
    fs::write(root.join("out/ignored"), "x").unwrap();
    fs::write(root.join("token.secret"), "x").unwrap();
    let before = repository_of(root);
    let history = scene.open();
    history.begin(&author(1)).await.unwrap();
    fs::write(root.join("kept.txt"), "two\r\n").unwrap();
    fs::write(root.join("new.bin"), [0, 159, 146]).unwrap();
    let entry = history.end(&author(1)).await.unwrap().unwrap();
    assert!(!root.join("ran").exists());
    assert_eq!(repository_of(root), before);
    let changed: Vec<&str> = entry.changes.iter().map(|change| &*change.path).collect();
    assert_eq!(changed, ["kept.txt", "new.bin"]);
    let reference = entry.reference.unwrap();
    assert_eq!(reference, "refs/rawko/task/2");
    fs::remove_dir_all(root.join(".git/hooks")).unwrap();
    git(root, &["config", "--unset", "core.fsmonitor"]);
    let listed = git(root, &["ls-tree", "-r", "--name-only", &reference]);
    assert_eq!(listed, ".gitattributes\n.gitignore\nkept.txt\nnew.bin\n");
    assert_eq!(git(root, &["cat-file", "blob", &format!("{reference}:kept.txt")]), "two\r\n");
}

#[tokio::test]
async fn changes_of_the_person_are_not_overwritten_and_not_the_tasks() {
    let scene = Scene::new(false);
    let root = scene.root();
    fs::write(root.join("a"), "1").unwrap();
    let history = scene.open();
    history.begin(&author(1)).await.unwrap();
    fs::write(root.join("a"), "22").unwrap();
    fs::write(root.join("b"), "1").unwrap();
    history.end(&author(1)).await.unwrap();
    fs::write(root.join("own"), "mine").unwrap();
    let net = |history: &Checkpoints| net_changes(&history.entries().unwrap(), since(0));
    fs::write(root.join("b"), "by the person").unwrap();
    let refused = history.revert(&net(&history), &undo(), false).await;
    assert!(matches!(&refused, Err(ApplyError::Conflicts(paths)) if paths == &["b"]), "{refused:?}");
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "22");
    let applied = history.revert(&net(&history), &undo(), true).await.unwrap();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "1");
    assert!(!root.join("b").exists() && root.join("own").exists());
    // The overwritten text is in the history.
    let number = applied.entry.unwrap().number;
    let net = net_changes(&history.entries().unwrap(), |entry| entry.number == number);
    history.revert(&net, &undo(), false).await.unwrap();
    assert_eq!(fs::read_to_string(root.join("b")).unwrap(), "by the person");
}

#[tokio::test]
async fn ignored_files_are_restored_and_are_in_no_commit_and_no_worktree() {
    for with_git in [true, false] {
        let scene = Scene::new(with_git);
        let root = scene.root();
        let text = |name: &str| fs::read_to_string(root.join(name)).ok();
        for folder in ["build", "cache", "many"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        for number in 0..300 {
            fs::write(root.join("many").join(number.to_string()), "1").unwrap();
        }
        fs::write(root.join("cache/z"), "1").unwrap();
        let large = "x".repeat(2 << 20);
        for (name, text) in [
            (".gitignore", "*.env\nbuild/\ncache/\nmany/\n"),
            ("a.env", "1"),
            ("gone.env", "2"),
            ("large.env", &large),
            ("build/x", "1"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        fs::set_permissions(root.join("gone.env"), fs::Permissions::from_mode(0o600)).unwrap();
        let before = dump(root);
        let history = scene.open();
        history.begin(&author(1)).await.unwrap();
        fs::remove_file(root.join("gone.env")).unwrap();
        for name in ["a.env", "new.env", "large.env", "build/x", "build/y", "many/7"] {
            fs::write(root.join(name), "changed").unwrap();
        }
        fs::remove_dir_all(root.join("cache")).unwrap();
        assert_eq!(history.end(&author(1)).await.unwrap(), None, "no file that git has was changed");
        let (_, files) = history.now().await.unwrap();
        assert!(!files.keys().any(|name| name.ends_with(".env")), "{files:?}");
        // The next process, and a file of the person.
        fs::write(root.join("own.env"), "mine").unwrap();
        let history = scene.open();
        let net = net_changes(&history.entries().unwrap(), since(0));
        let paths: Vec<&str> = net.ignored.iter().map(|change| change.path.as_str()).collect();
        let expected =
            ["a.env", "build/x", "build/y", "cache", "cache/z", "gone.env", "large.env", "new.env"];
        assert_eq!((net.changes.len(), paths), (0, expected.to_vec()));
        let applied = history.revert(&net, &undo(), false).await.unwrap();
        assert_eq!(applied.skipped, ["large.env"]);
        assert_eq!(
            (text("a.env").as_deref(), text("new.env"), text("own.env").as_deref()),
            (Some("1"), None, Some("mine"))
        );
        assert_eq!(dump(root).get(Path::new("gone.env")), before.get(Path::new("gone.env")));
        assert_eq!(
            (text("build/x").as_deref(), text("build/y"), text("cache/z").as_deref()),
            (Some("1"), None, Some("1"))
        );
        // Too large to be stored, and in a large ignored directory.
        assert_eq!(
            (text("large.env").as_deref(), text("many/7").as_deref()),
            (Some("changed"), Some("changed"))
        );
        // The undo is undone.
        let last = history.entries().unwrap().last().unwrap().number;
        let net = net_changes(&history.entries().unwrap(), |entry| entry.number == last);
        history.revert(&net, &undo(), false).await.unwrap();
        assert_eq!((text("a.env").as_deref(), text("gone.env")), (Some("changed"), None));
        // What the person changes since then stays.
        history.begin(&author(2)).await.unwrap();
        fs::write(root.join("a.env"), "by an agent").unwrap();
        history.end(&author(2)).await.unwrap();
        fs::write(root.join("a.env"), "by the person").unwrap();
        let net = net_changes(&history.entries().unwrap(), since(2));
        history.revert(&net, &undo(), false).await.unwrap();
        assert_eq!(text("a.env").as_deref(), Some("by the person"));
    }
}

/// A directory that grows and shrinks: nothing of it is taken for new, and its recorded part comes back.
#[tokio::test]
async fn an_ignored_directory_that_was_too_large_is_not_emptied_by_an_undo() {
    let scene = Scene::new(false);
    let root = scene.root();
    let file = |number: usize| root.join("out").join(number.to_string());
    fs::write(root.join(".gitignore"), "out/\n").unwrap();
    fs::create_dir(root.join("out")).unwrap();
    (0..300).for_each(|number| fs::write(file(number), "1").unwrap());
    let history = scene.open();
    history.begin(&author(1)).await.unwrap();
    (10..300).for_each(|number| fs::remove_file(file(number)).unwrap());
    history.end(&author(1)).await.unwrap();
    // Now it is known: a change comes back, and a rule that shows it does not make its files new.
    history.begin(&author(2)).await.unwrap();
    fs::write(file(3), "2").unwrap();
    fs::write(root.join(".gitignore"), "").unwrap();
    history.end(&author(2)).await.unwrap();
    let net = net_changes(&history.entries().unwrap(), since(0));
    history.revert(&net, &undo(), false).await.unwrap();
    assert_eq!(fs::read_dir(root.join("out")).unwrap().count(), 10);
    assert_eq!(fs::read_to_string(file(3)).unwrap(), "1");
    assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap(), "out/\n");
}

/// A directory takes the place of a link to where it was moved.
#[tokio::test]
async fn a_moved_directory_comes_back_in_place_of_a_link_to_it() {
    for with_git in [true, false] {
        let scene = Scene::new(with_git);
        let root = scene.root();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "1").unwrap();
        let before = dump(root);
        let history = scene.open();
        history.begin(&author(1)).await.unwrap();
        fs::rename(root.join("src"), root.join("moved")).unwrap();
        symlink("moved", root.join("src")).unwrap();
        history.end(&author(1)).await.unwrap();
        let net = net_changes(&history.entries().unwrap(), since(0));
        history.revert(&net, &undo(), false).await.unwrap();
        assert_eq!(dump(root), before);
    }
}
