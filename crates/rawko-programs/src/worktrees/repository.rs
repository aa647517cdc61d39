//! Git's side of a worktree: the commit it begins with, its branch and its entry. Files are never checked out by git:
//! filters of the repository would run.

use std::io;
use std::path::Path;

use super::{Worktree, WorktreeChanges};
use crate::checkpoints::{Checkpoints, Git, ImportRequest, Manifest};

/// Adds a git worktree with a branch. Returns the commit it begins with: the present files of the project, after HEAD.
pub(super) async fn add(history: &Checkpoints, tree: &Worktree, files: &Manifest) -> io::Result<String> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?.with_place(above(&tree.path));
    let checkpoint = history.commit_of(tree.base)?.ok_or(io::ErrorKind::NotFound)?;
    let head = git.text(&["rev-parse", "-q", "--verify", "HEAD^{commit}"]).await.ok();
    let root = git.text(&["rev-parse", &format!("{checkpoint}^{{tree}}")]).await?;
    let kept = match &head {
        Some(head) => kept(&git, head, history.root(), files).await?,
        None => Vec::new(),
    };
    let reference = format!("refs/rawko/worktrees/{}", rawko_settings::short_hash(tree.name.as_bytes()));
    let request = ImportRequest {
        reference: &reference,
        parent: head.as_deref(),
        message: format!("rawko: files at the beginning of {}\n", tree.name),
        root: Some(&root),
        kept,
        ..ImportRequest::default()
    };
    let mut base = git.import(&request, &tree.path).await?.commit;
    if let Some(head) = head {
        let of = async |commit: &str| git.text(&["rev-parse", &format!("{commit}^{{tree}}")]).await;
        if of(&head).await? == of(&base).await? {
            base = head;
        }
    }
    let path = tree.path.to_string_lossy();
    // An entry that a killed process left. Only its own: entries of the person whose folders are away stay.
    let _ = git.run(&["worktree", "remove", "-f", "-f", &path], &[], Vec::new()).await;
    git.run(&["worktree", "add", "-q", "--no-checkout", "-B", &tree.name, &path, &base], &[], Vec::new())
        .await?;
    git.run(&["update-ref", "-d", &reference], &[], Vec::new()).await?;
    Ok(base)
}

/// Files of HEAD that no checkpoint has, although they exist: secrets, rawko's own, submodules.
async fn kept(
    git: &Git,
    head: &str,
    root: &Path,
    files: &Manifest,
) -> io::Result<Vec<(String, String, String)>> {
    let listed = git.run(&["ls-tree", "-r", "-z", head], &[], Vec::new()).await?;
    let mut kept = Vec::new();
    for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let Some((about, name)) = line.split_once('\t') else { continue };
        let parts: Vec<&str> = about.split(' ').collect();
        let [mode, _, id] = parts[..] else { continue };
        let is_there = mode == "160000" || root.join(name).symlink_metadata().is_ok();
        if is_there && !files.contains_key(name) {
            kept.push((mode.to_owned(), id.to_owned(), name.to_owned()));
        }
    }
    Ok(kept)
}

/// Gives the worktree an index that has the files of its branch.
pub(super) async fn read_index(history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?.with_place(above(&tree.path));
    let path = tree.path.to_string_lossy();
    git.run(&["-C", &path, "read-tree", "HEAD"], &[], Vec::new()).await.map(drop)
}

/// Commits the files of a worktree to its branch.
pub(super) async fn commit(
    history: &Checkpoints,
    tree: &Worktree,
    changes: &WorktreeChanges,
    message: &str,
) -> io::Result<String> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?.with_place(above(&tree.path));
    let base = tree.base_commit.as_deref().ok_or(io::ErrorKind::NotFound)?;
    let root = git.text(&["rev-parse", &format!("{base}^{{tree}}")]).await?;
    let reference = format!("refs/heads/{}", tree.name);
    let tip = git.text(&["rev-parse", "-q", "--verify", &reference]).await.ok();
    let is_content = |mark: &Option<crate::checkpoints::PathState>| {
        mark.as_ref().is_some_and(|mark| mark.kind != crate::checkpoints::PathKind::Directory)
    };
    let all = changes.changes.iter();
    let gone = all.clone().filter(|it| is_content(&it.before) && !is_content(&it.after));
    let request = ImportRequest {
        reference: &reference,
        parent: Some(tip.as_deref().unwrap_or(base)),
        message: message.to_owned(),
        root: Some(&root),
        removed: gone.map(|it| it.path.clone()).collect(),
        written: all.filter(|it| is_content(&it.after)).map(|it| it.path.clone()).collect(),
        ..ImportRequest::default()
    };
    let commit = git.import(&request, &tree.path).await?.commit;
    read_index(history, tree).await?;
    Ok(commit)
}

/// Removes git's entry of a copy that is gone.
pub(super) async fn forget(history: &Checkpoints, path: &Path) -> io::Result<()> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?.with_place(above(path));
    let path = path.to_string_lossy();
    git.run(&["worktree", "remove", "-f", "-f", &path], &[], Vec::new()).await.map(drop)
}

pub(super) async fn remove_branch(history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?;
    git.run(&["update-ref", "-d", &format!("refs/heads/{}", tree.name)], &[], Vec::new()).await.map(drop)
}

fn above(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
