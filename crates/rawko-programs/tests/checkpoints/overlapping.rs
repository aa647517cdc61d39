//! The authors of changes: calls that are killed, that are cancelled, and that run at the same time.

use std::fs;

use rawko_programs::checkpoints::{
    ApplyError, ChangeAuthor, EntryKind, HistoryEntry, net_changes, shared_paths,
};

use super::{Scene, author, since, undo};

#[tokio::test]
async fn a_killed_call_is_the_author_of_its_changes() {
    let scene = Scene::new(false);
    scene.open().begin(&author(3)).await.unwrap();
    fs::write(scene.root().join("half"), "done").unwrap();
    let next = scene.open();
    next.now().await.unwrap();
    let entries = next.entries().unwrap();
    assert_eq!(entries.last().unwrap().author, author(3));
    assert_eq!(net_changes(&entries, since(3)).changes.len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_is_the_author_of_its_changes_and_calls_may_overlap() {
    let scene = Scene::new(false);
    let history = scene.open();
    history.begin(&author(1)).await.unwrap();
    history.begin(&author(2)).await.unwrap();
    fs::write(scene.root().join("one"), "1").unwrap();
    history.abandon(&author(1));
    assert_eq!(history.end(&author(2)).await.unwrap().unwrap().changes.len(), 1);
    fs::write(scene.root().join("two"), "2").unwrap();
    history.begin(&author(3)).await.unwrap();
    let last = history.entries().unwrap().pop().unwrap();
    assert_eq!((last.author, last.changes.len()), (author(1), 1));
    assert_eq!(history.end(&author(3)).await.unwrap(), None);
}

/// Calls of two instances at the same time: an undo of one does not take the files of the other away.
#[tokio::test]
async fn files_of_calls_at_the_same_time_have_no_certain_author() {
    let scene = Scene::new(false);
    let history = scene.open();
    let of = |instance: &str| ChangeAuthor {
        instance: instance.into(),
        call: format!("{instance}/1/0"),
        ..author(1)
    };
    history.now().await.unwrap();
    history.begin(&of("a")).await.unwrap();
    history.begin(&of("b")).await.unwrap();
    fs::write(scene.root().join("of-a"), "1").unwrap();
    fs::write(scene.root().join("of-b"), "1").unwrap();
    // A worktree is made meanwhile: what changed is not a person's.
    history.now().await.unwrap();
    fs::write(scene.root().join("more-of-b"), "1").unwrap();
    history.end(&of("a")).await.unwrap();
    history.end(&of("b")).await.unwrap();
    history.begin(&of("b")).await.unwrap();
    fs::write(scene.root().join("alone"), "1").unwrap();
    history.end(&of("b")).await.unwrap();
    let entries = history.entries().unwrap();
    assert!(entries.iter().all(|entry| entry.author.kind != EntryKind::Outside));
    for instance in ["a", "b"] {
        let is_own =
            |entry: &HistoryEntry| entry.author.kind == EntryKind::Call && entry.author.instance == instance;
        let shared = shared_paths(&entries, is_own, |other| other == instance);
        assert_eq!(shared, ["more-of-b", "of-a", "of-b"], "{instance}");
        let mut net = net_changes(&entries, is_own);
        net.mixed.extend(shared);
        assert!(matches!(history.revert(&net, &undo(), false).await, Err(ApplyError::Conflicts(_))));
    }
    // Both of one task: no question.
    let is_own = |entry: &HistoryEntry| entry.author.kind == EntryKind::Call;
    assert!(shared_paths(&entries, is_own, |_| true).is_empty());
}
