//! Changes that no tree can have at the same time: they are conflicts or refused, and nothing is begun.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rawko_programs::checkpoints::{ApplyError, net_changes};
use rawko_programs::worktrees::MergeError;

use super::copies::CopyScene;
use super::{author, dump, since, undo};

/// What the agent did in the copy, what the person did in the project meanwhile, and the conflict.
type Clash = (&'static str, fn(&Path), fn(&Path), &'static [&'static str]);

/// A change that no tree can have beside ours is a conflict. It was begun, could not be completed, and everything that used
/// checkpoints failed from then on.
#[tokio::test]
async fn changes_that_exclude_each_other_are_a_conflict() {
    let clashes: [Clash; 4] = [
        (
            "the directory became a link",
            |copy| fs::write(copy.join("d/new"), "n").unwrap(),
            |root| {
                fs::remove_dir_all(root.join("d")).unwrap();
                symlink("elsewhere", root.join("d")).unwrap();
            },
            &["d/new"],
        ),
        (
            "the directory became a file",
            |copy| fs::write(copy.join("d/a"), "changed").unwrap(),
            |root| {
                fs::remove_dir_all(root.join("d")).unwrap();
                fs::write(root.join("d"), "file").unwrap();
            },
            &["d/a"],
        ),
        (
            "a file in the place of a directory with a new file",
            |copy| {
                fs::remove_dir_all(copy.join("d")).unwrap();
                fs::write(copy.join("d"), "file").unwrap();
            },
            |root| fs::write(root.join("d/new"), "n").unwrap(),
            &["d"],
        ),
        (
            "a file in the place of a directory with a changed file",
            |copy| {
                fs::remove_dir_all(copy.join("d")).unwrap();
                fs::write(copy.join("d"), "file").unwrap();
            },
            |root| fs::write(root.join("d/a"), "changed").unwrap(),
            &["d", "d/a"],
        ),
    ];
    for (name, agent, person, conflict) in clashes {
        let scene = CopyScene::new();
        let root = scene.root();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/a"), "a").unwrap();
        let (history, worktrees) = (scene.scene.open(), scene.worktrees());
        let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
        agent(&tree.path);
        person(root);
        let before = dump(root);
        let merge = async || {
            let turn = worktrees.merge_turn("call").await.unwrap();
            worktrees.merge(&history, &tree.name, &author(1), &turn).await
        };
        let Err(MergeError::Conflict(paths)) = merge().await else { panic!("{name}: no conflict") };
        assert_eq!(
            (paths, dump(root)),
            (conflict.iter().map(ToString::to_string).collect(), before),
            "{name}"
        );
        // The copy is as its agent left it or resolvable; merged again, it wins.
        let files = merge().await.unwrap_or_else(|error| panic!("{name}: {error}")).files;
        assert!(!files.is_empty() && dump(root) == dump(&tree.path), "{name}: {files:?}");
        history.now().await.unwrap();
    }
}

/// A file that git ignores is in no checkpoint, and stays.
#[tokio::test]
async fn an_ignored_file_in_the_way_is_named() {
    let scene = CopyScene::new();
    let root = scene.root();
    let (history, worktrees) = (scene.scene.open(), scene.worktrees());
    let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    fs::write(tree.path.join("new.log"), "of the agent").unwrap();
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    fs::write(root.join("new.log"), "of the person").unwrap();
    let turn = worktrees.merge_turn("call").await.unwrap();
    let refused = worktrees.merge(&history, &tree.name, &author(1), &turn).await.unwrap_err().to_string();
    assert!(refused.contains("in the way of new.log"), "{refused}");
    assert_eq!(fs::read_to_string(root.join("new.log")).unwrap(), "of the person");
}

#[tokio::test]
async fn a_changed_file_that_the_copy_removed_is_there_after_the_conflict() {
    let scene = CopyScene::new();
    let root = scene.root();
    let (history, worktrees) = (scene.scene.open(), scene.worktrees());
    let tree = worktrees.open(&history, "task.a.1", "rawko/task/a.1").await.unwrap();
    fs::remove_file(tree.path.join("shared.txt")).unwrap();
    fs::write(root.join("shared.txt"), "of the person\n").unwrap();
    let merge = async || {
        let turn = worktrees.merge_turn("call").await.unwrap();
        worktrees.merge(&history, &tree.name, &author(1), &turn).await
    };
    assert!(matches!(merge().await, Err(MergeError::Conflict(_))));
    assert_eq!(fs::read_to_string(tree.path.join("shared.txt")).unwrap(), "of the person\n");
    assert!(merge().await.unwrap().files.is_empty());
    assert_eq!(fs::read_to_string(root.join("shared.txt")).unwrap(), "of the person\n");
}

/// Even a forced undo leaves what it cannot replace, and the next command works.
#[tokio::test]
async fn an_undo_that_is_impossible_begins_nothing() {
    for in_the_way in [
        (|root: &Path| {
            fs::remove_file(root.join("d/a")).unwrap();
            fs::create_dir(root.join("d/a")).unwrap();
            fs::write(root.join("d/a/own"), "of the person").unwrap();
        }) as fn(&Path),
        |root: &Path| {
            fs::remove_dir_all(root.join("d")).unwrap();
            symlink("elsewhere", root.join("d")).unwrap();
        },
    ] {
        let scene = CopyScene::new();
        let root = scene.root();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/a"), "a").unwrap();
        let history = scene.scene.open();
        history.begin(&author(1)).await.unwrap();
        fs::write(root.join("d/a"), "changed").unwrap();
        history.end(&author(1)).await.unwrap();
        in_the_way(root);
        let before = dump(root);
        let net = net_changes(&history.entries().unwrap(), since(0));
        let refused = history.revert(&net, &undo(), true).await.unwrap_err();
        assert!(matches!(&refused, ApplyError::Blocked(paths) if paths == &["d/a"]), "{refused}");
        assert_eq!(dump(root), before);
        history.now().await.unwrap();
    }
}
