//! Worktrees of repositories with submodules, filters, line ends, sparse checkouts, staged changes and strange names: the
//! branch of a copy has what agents changed and nothing else, and git forgets the copy with it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rawko_programs::worktrees::{BYTES_MAX, MergeError, Worktree, Worktrees};
use tempfile::TempDir;

use super::{Scene, author, git};

pub(super) struct CopyScene {
    pub(super) scene: Scene,
    /// Outside of the project, as for a user.
    cache: TempDir,
}

impl CopyScene {
    pub(super) fn new() -> Self {
        let scene = Scene::new(true);
        let root = scene.root();
        fs::write(root.join("shared.txt"), "one\ntwo\n").unwrap();
        fs::write(root.join("removed.txt"), "old\n").unwrap();
        Self { scene, cache: TempDir::new().unwrap() }
    }

    pub(super) fn root(&self) -> &Path {
        self.scene.root()
    }

    pub(super) fn worktrees(&self) -> Worktrees {
        Worktrees::new(&self.scene.state.path().join("project"), self.cache.path(), BYTES_MAX)
    }

    fn commit(&self) {
        git(self.root(), &["add", "-A"]);
        git(self.root(), &["commit", "-qm", "first"]);
        settle(self.root());
    }
}

/// A file that is as old as the index is not known to be unchanged.
fn settle(root: &Path) {
    std::thread::sleep(Duration::from_millis(20));
    git(root, &["update-index", "--force-write-index"]);
}

/// Lets an agent work in a copy. Returns what its branch differs in from the commit before, by git, without filters.
async fn worked(scene: &CopyScene, work: impl FnOnce(&Worktree)) -> String {
    let (history, worktrees) = (scene.scene.open(), scene.worktrees());
    let own = || {
        let refs = git(scene.root(), &["for-each-ref", "refs/heads/m*", "refs/stash"]);
        (fs::read(scene.root().join(".git/index")).ok(), refs)
    };
    let before = own();
    let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    assert!(tree.is_git);
    assert_eq!(git(&tree.path, &["-c", "core.fsmonitor=false", "status", "--porcelain"]), "");
    work(&tree);
    fs::write(tree.path.join("shared.txt"), "one\ntwo\nby the agent\n").unwrap();
    fs::create_dir(tree.path.join("d e")).unwrap();
    fs::write(tree.path.join("d e/ü.txt"), "new\n").unwrap();
    fs::remove_file(tree.path.join("removed.txt")).unwrap();
    let changes = worktrees.changes(&history, &tree).await.unwrap();
    let made = worktrees.commit(&history, &tree, &changes, "work").await.unwrap();
    let (base, commit) = (made.base_commit.clone().unwrap(), made.commit.clone().unwrap());
    let raw = ["-c", "core.quotePath=false", "diff-tree", "-r", "--name-status", "--no-renames"];
    let changed = git(scene.root(), &[&raw[..], &[&base, &commit]].concat());
    assert_eq!(changed, "A\td e/ü.txt\nD\tremoved.txt\nM\tshared.txt\n");
    assert_eq!(git(&tree.path, &["status", "--porcelain"]), "");
    let head = std::process::Command::new("git")
        .args(["rev-parse", "-q", "--verify", "HEAD"])
        .current_dir(scene.root())
        .output()
        .unwrap();
    let against = match String::from_utf8(head.stdout).unwrap().trim() {
        "" => String::new(),
        head => git(scene.root(), &[&raw[..], &[head, &base]].concat()),
    };
    // A fork with the files of the past has the same objects.
    let fork = worktrees.open_at(&history, "again", "rawko/again", tree.base).await.unwrap();
    assert_eq!(fork.base_commit.is_some(), made.base_commit.is_some());
    let same = git(scene.root(), &[&raw[..], &[&base, fork.base_commit.as_ref().unwrap()]].concat());
    assert_eq!(same, "");
    worktrees.remove(&history, &fork).await.unwrap();
    worktrees.remove(&history, &made).await.unwrap();
    assert_eq!(git(scene.root(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(scene.root(), &["branch", "--list", "rawko/*"]), "");
    assert!(!scene.root().join(".git/worktrees").exists());
    assert_eq!(own(), before);
    against
}

#[tokio::test]
async fn a_branch_starts_at_head_if_nothing_is_changed() {
    let scene = CopyScene::new();
    scene.commit();
    assert_eq!(worked(&scene, |_| {}).await, "");
}

#[tokio::test]
async fn a_repository_without_commits_has_copies() {
    let scene = CopyScene::new();
    git(scene.root(), &["add", "shared.txt"]);
    assert_eq!(worked(&scene, |_| {}).await, "");
}

#[tokio::test]
async fn filters_and_line_ends_are_not_changes() {
    let scene = CopyScene::new();
    let root = scene.root();
    fs::write(root.join(".gitattributes"), "*.bin filter=lfs -text\n*.txt text eol=crlf\nshared.txt -text\n")
        .unwrap();
    for (key, value) in [("clean", "sed s/.*/pointer/"), ("smudge", "cat"), ("required", "true")] {
        git(root, &["config", &format!("filter.lfs.{key}"), value]);
    }
    fs::write(root.join("large.bin"), "content\n").unwrap();
    fs::write(root.join("lines.txt"), "a\r\nb\r\n").unwrap();
    scene.commit();
    assert_eq!(git(root, &["show", "HEAD:large.bin"]), "pointer\n");
    let against = worked(&scene, |tree| {
        assert_eq!(fs::read_to_string(tree.path.join("large.bin")).unwrap(), "content\n");
        assert_eq!(fs::read_to_string(tree.path.join("lines.txt")).unwrap(), "a\r\nb\r\n");
    });
    assert_eq!(against.await, "");
}

#[tokio::test]
async fn a_submodule_stays_one() {
    let scene = CopyScene::new();
    let inner = CopyScene::new();
    inner.commit();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    git(scene.root(), &[&add[..], &[inner.root().to_str().unwrap(), "sub mod"]].concat());
    scene.commit();
    let against = worked(&scene, |tree| {
        // The copy has its files; the branch cannot have changes in them.
        fs::write(tree.path.join("sub mod/shared.txt"), "changed\n").unwrap();
    });
    assert_eq!(against.await, "");
}

#[tokio::test]
async fn files_outside_of_a_sparse_checkout_stay_in_the_branch() {
    let scene = CopyScene::new();
    let root = scene.root();
    for folder in ["in", "out"] {
        fs::create_dir(root.join(folder)).unwrap();
        fs::write(root.join(folder).join("file"), "x\n").unwrap();
    }
    scene.commit();
    git(root, &["sparse-checkout", "set", "in"]);
    assert!(!root.join("out").exists());
    settle(root);
    let against = worked(&scene, |tree| {
        assert!(tree.path.join("in/file").exists() && !tree.path.join("out").exists());
        // A commit of the agent removes none of them.
        fs::write(tree.path.join("in/file"), "by the agent\n").unwrap();
        git(&tree.path, &["commit", "-qam", "mine"]);
        assert_eq!(git(&tree.path, &["show", "--name-only", "--format=", "HEAD"]), "in/file\n");
        fs::write(tree.path.join("in/file"), "x\n").unwrap();
    });
    assert_eq!(against.await, "");
}

#[tokio::test]
async fn staged_and_unstaged_changes_are_part_of_the_beginning() {
    let scene = CopyScene::new();
    let root = scene.root();
    for name in ["staged", "both", "gone", "cached"] {
        fs::write(root.join(name), "first\n").unwrap();
    }
    scene.commit();
    fs::write(root.join("staged"), "second\n").unwrap();
    fs::write(root.join("both"), "second\n").unwrap();
    git(root, &["add", "staged", "both"]);
    git(root, &["rm", "-q", "--cached", "cached"]);
    settle(root);
    fs::write(root.join("both"), "third\n").unwrap();
    fs::remove_file(root.join("gone")).unwrap();
    fs::write(root.join("new"), "new\n").unwrap();
    git(root, &["add", "-N", "new"]);
    git(root, &["checkout", "-q", "--detach"]);
    let against = worked(&scene, |tree| {
        assert_eq!(git(&tree.path, &["show", "HEAD:staged"]), "second\n");
        assert_eq!(git(&tree.path, &["show", "HEAD:both"]), "third\n");
        assert_eq!(git(&tree.path, &["show", "HEAD:new"]), "new\n");
    });
    assert_eq!(against.await, "M\tboth\nD\tgone\nA\tnew\nM\tstaged\n");
}

/// Returns the file of a record in the state directory.
fn record(scene: &CopyScene) -> std::path::PathBuf {
    let mut list = fs::read_dir(scene.scene.state.path().join("project/worktrees")).unwrap().flatten();
    list.find(|entry| entry.file_name().to_string_lossy().ends_with(".tree.json")).unwrap().path()
}

/// Deletions of a process that was killed are not the work of an agent.
#[tokio::test]
async fn a_removal_that_was_killed_is_not_a_change() {
    let scene = CopyScene::new();
    scene.commit();
    let (history, worktrees) = (scene.scene.open(), scene.worktrees());
    let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    let text = fs::read_to_string(record(&scene)).unwrap();
    fs::write(record(&scene), text.replacen('{', "{\"removal\":\"whole\",", 1)).unwrap();
    fs::remove_file(tree.path.join("removed.txt")).unwrap();
    assert!(worktrees.all().unwrap().is_empty() && worktrees.named(&tree.name).is_err());
    assert_eq!(worktrees.of_instance("task.a.1").unwrap(), None);
    // A call that is repeated knows that it removed it.
    assert_eq!(worktrees.removed_of("task.a.1").unwrap().unwrap().name, tree.name);
    // Not at once: its process may be at it.
    assert_eq!(worktrees.remove_leftovers(&history).await.unwrap(), 0);
    let old = std::time::SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    fs::File::options().write(true).open(record(&scene)).unwrap().set_modified(old).unwrap();
    assert_eq!(worktrees.remove_leftovers(&history).await.unwrap(), 1);
    assert!(!tree.path.exists() && worktrees.removed_of("task.a.1").unwrap().is_none());
    assert_eq!(git(scene.root(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(scene.root(), &["branch", "--list", "rawko/*"]), "");
}

#[tokio::test]
async fn a_conflict_that_was_being_written_is_completed() {
    let scene = CopyScene::new();
    scene.commit();
    let root = scene.root();
    let (history, worktrees) = (scene.scene.open(), scene.worktrees());
    let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    fs::write(tree.path.join("shared.txt"), "one\nagent\n").unwrap();
    fs::write(root.join("shared.txt"), "one\nperson\n").unwrap();
    fs::write(root.join("own.txt"), "of the person\n").unwrap();
    let merge = async || {
        let turn = worktrees.merge_turn("call").await.unwrap();
        worktrees.merge(&history, &tree.name, &author(1), &turn).await
    };
    // The record cannot be written: as if the process were killed before that.
    let draft = record(&scene).with_extension("draft");
    fs::create_dir(&draft).unwrap();
    assert!(matches!(merge().await, Err(MergeError::Worktree(_))));
    fs::remove_dir(&draft).unwrap();
    let both = "one\n<<<<<<< project\nperson\n=======\nagent\n>>>>>>> rawko/task/a.1\n";
    for _ in 0..2 {
        let Err(MergeError::Conflict(paths)) = merge().await else { panic!("no conflict") };
        assert_eq!(paths, ["shared.txt"]);
        assert_eq!(fs::read_to_string(tree.path.join("shared.txt")).unwrap(), both);
    }
    fs::write(tree.path.join("shared.txt"), "one\nboth\n").unwrap();
    assert_eq!(merge().await.unwrap().files, ["shared.txt"]);
    assert_eq!(fs::read_to_string(root.join("shared.txt")).unwrap(), "one\nboth\n");
    assert_eq!(fs::read_to_string(root.join("own.txt")).unwrap(), "of the person\n");
}

/// A host that is killed while it makes a copy leaves a ref and an entry of git. The next one makes the copy.
#[tokio::test]
async fn a_copy_that_was_being_made_is_made_again() {
    let scene = CopyScene::new();
    scene.commit();
    let root = scene.root();
    fs::write(root.join("shared.txt"), "not committed\n").unwrap();
    let (history, worktrees) = (scene.scene.open(), scene.worktrees());
    let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    let file = record(&scene);
    let name = file.file_name().unwrap().to_str().unwrap().replace(".tree.json", "");
    // As if it were killed before the record: another commit has the ref.
    fs::remove_file(&file).unwrap();
    let stale = git(root, &["commit-tree", "-m", "stale", "HEAD^{tree}"]);
    git(root, &["update-ref", &format!("refs/rawko/worktrees/{name}"), stale.trim()]);
    let again = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    assert!(again.is_git, "{again:?}");
    assert_eq!(again.path, tree.path);
    assert_eq!(git(&tree.path, &["show", "HEAD:shared.txt"]), "not committed\n");
    worktrees.remove(&history, &again).await.unwrap();
    assert_eq!(git(root, &["for-each-ref", "refs/heads/rawko", "refs/rawko/worktrees"]), "");
    assert_eq!(git(root, &["worktree", "list"]).lines().count(), 1);
}

/// A checkpoint whose commit was made before a kill is made again with a commit.
#[tokio::test]
async fn a_checkpoint_that_was_being_made_is_made_again() {
    let scene = CopyScene::new();
    scene.commit();
    let history = scene.scene.open();
    history.now().await.unwrap();
    let stale = git(scene.root(), &["commit-tree", "-m", "stale", "HEAD^{tree}"]);
    git(scene.root(), &["update-ref", "refs/rawko/task/2", stale.trim()]);
    history.begin(&author(1)).await.unwrap();
    fs::write(scene.root().join("new"), "1").unwrap();
    let entry = history.end(&author(1)).await.unwrap().unwrap();
    assert_eq!(entry.reference.as_deref(), Some("refs/rawko/task/2"));
    assert_eq!(git(scene.root(), &["rev-parse", "refs/rawko/task/2"]).trim(), entry.commit.unwrap());
}

/// The merge would remove them from the project.
#[tokio::test]
async fn files_that_a_rule_hides_are_not_removed() {
    for tracked in [true, false] {
        let scene = CopyScene::new();
        let root = scene.root();
        fs::write(root.join("kept.log"), "of the person\n").unwrap();
        if tracked {
            git(root, &["add", "kept.log"]);
            fs::write(root.join(".gitignore"), "*.log\n").unwrap();
            scene.commit();
        }
        let (history, worktrees) = (scene.scene.open(), scene.worktrees());
        let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
        // The rule of the agent hides files that were there before, and one that was not.
        fs::write(tree.path.join(".gitignore"), "*.txt\n*.log\n").unwrap();
        fs::write(tree.path.join("shared.txt"), "one\ntwo\nby the agent\n").unwrap();
        fs::write(tree.path.join("new.log"), "output\n").unwrap();
        fs::remove_file(tree.path.join("removed.txt")).unwrap();
        let turn = worktrees.merge_turn("m").await.unwrap();
        let merged = worktrees.merge(&history, &tree.name, &author(1), &turn).await.unwrap();
        assert_eq!(merged.files, [".gitignore", "removed.txt", "shared.txt"]);
        assert_eq!(fs::read_to_string(root.join("kept.log")).unwrap(), "of the person\n");
        assert_eq!(fs::read_to_string(root.join("shared.txt")).unwrap(), "one\ntwo\nby the agent\n");
    }
}

#[tokio::test]
async fn rules_above_a_project_hold_in_its_copies() {
    let scene = CopyScene::new();
    fs::write(scene.root().join(".gitignore"), "build/\n/part/local\n").unwrap();
    let part = scene.root().join("part");
    fs::create_dir(&part).unwrap();
    fs::write(part.join("a.txt"), "one\n").unwrap();
    let history = scene.scene.open_at(&part);
    let worktrees = scene.worktrees();
    let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    fs::write(tree.path.join("a.txt"), "two\n").unwrap();
    fs::write(tree.path.join("local"), "ignored\n").unwrap();
    fs::create_dir(tree.path.join("build")).unwrap();
    fs::write(tree.path.join("build/out"), "ignored\n").unwrap();
    let changes = worktrees.changes(&history, &tree).await.unwrap();
    let paths: Vec<&str> = changes.changes.iter().map(|change| &*change.path).collect();
    assert_eq!(paths, ["a.txt"]);
}
