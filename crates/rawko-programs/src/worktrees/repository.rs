//! Git's side of a worktree: the commit it begins with, its branch and its entry. Files are never checked out by git:
//! filters of the repository would run.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::index::{self, KeptObject};
use super::{Worktree, WorktreeChanges};
use crate::checkpoints::{
    Checkpoints, Git, ImportRequest, Manifest, PathKind, PathState, Root, real_path, text_inside,
};

/// Adds a git worktree with a branch. Returns the commit it begins with: the files of the copy, after HEAD. `now` are the
/// present files of the project.
pub(super) async fn add(
    history: &Checkpoints,
    tree: &Worktree,
    files: &Manifest,
    now: &Manifest,
) -> io::Result<String> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?.with_place(above(&tree.path));
    let checkpoint = history.commit_of(tree.base)?.ok_or(io::ErrorKind::NotFound)?;
    let head = git.text(&["rev-parse", "-q", "--verify", "HEAD^{commit}"]).await.ok();
    let root = git.text(&["rev-parse", &format!("{checkpoint}^{{tree}}")]).await?;
    let mut kept = match &head {
        Some(head) => kept(&git, head, history.root(), files).await?,
        None => Vec::new(),
    };
    // Later ones replace earlier ones.
    kept.extend(index::unchanged(&git, history.root(), files, now).await?);
    let reference = beginning(tree);
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
    forget(history, &tree.path).await?;
    git.run(&["worktree", "add", "-q", "--no-checkout", "-B", &tree.name, &path, &base], &[], Vec::new())
        .await?;
    git.run(&["update-ref", "-d", &reference], &[], Vec::new()).await?;
    Ok(base)
}

/// The ref that keeps the first commit of a copy until its branch has it.
fn beginning(tree: &Worktree) -> String {
    format!("refs/rawko/worktrees/{}", rawko_settings::short_hash(tree.name.as_bytes()))
}

/// Files of HEAD that no checkpoint has, although they exist: secrets, rawko's own, submodules.
async fn kept(git: &Git, head: &str, root: &Path, files: &Manifest) -> io::Result<Vec<KeptObject>> {
    let listed = git.run(&["ls-tree", "-r", "-z", head], &[], Vec::new()).await?;
    let is_kept = |(mode, _, name): &KeptObject| {
        let is_there = mode == "160000" || root.join(real_path(name)).symlink_metadata().is_ok();
        is_there && !files.contains_key(name)
    };
    Ok(index::objects(&listed).into_iter().filter(is_kept).collect())
}

/// Gives the worktree an index that has the files of its branch. Files of the branch that are not in the copy (secrets, a
/// sparse checkout) are marked, so that a commit of an agent does not remove them.
pub(super) async fn read_index(history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?.with_place(above(&tree.path));
    let path = tree.path.to_string_lossy();
    git.run(&["-C", &path, "read-tree", "HEAD"], &[], Vec::new()).await?;
    let absent = git.run(&["-C", &path, "ls-files", "-z", "--deleted"], &[], Vec::new()).await?;
    if absent.is_empty() {
        return Ok(());
    }
    let mark = ["-C", &path, "update-index", "-z", "--skip-worktree", "--stdin"];
    git.run(&mark, &[], absent).await.map(drop)
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
    let is_content =
        |mark: &Option<PathState>| mark.as_ref().is_some_and(|mark| mark.kind != PathKind::Directory);
    // A commit has one entry for a submodule; what agents changed in it is in the copy.
    let submodules = index::submodules(&git, base).await?;
    let is_below = |path: &str| {
        let path = real_path(path);
        submodules.iter().any(|submodule| path.starts_with(real_path(submodule)))
    };
    let all = changes.changes.iter().filter(|change| !is_below(&change.path));
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

/// Removes git's entry of a copy that is gone. Not by git: the launcher keeps these files from every program.
pub(super) async fn forget(history: &Checkpoints, path: &Path) -> io::Result<()> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?;
    let found = git.run(&["rev-parse", "--git-common-dir"], &[], Vec::new()).await?;
    let common = history.root().join(std::ffi::OsStr::from_bytes(found.trim_ascii_end()));
    let root = Root::open(&common)?;
    let entries = match fs::read_dir(common.join("worktrees")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let name = Path::new("worktrees").join(entry?.file_name());
        let leads_there = |text: String| real_place(&common.join(&name).join(text.trim_end_matches('\n')));
        let is_own = text_inside(&common, &name.join("gitdir"))
            .and_then(leads_there)
            .is_some_and(|place| Some(place) == real_place(&path.join(".git")));
        if is_own {
            let parent = root.parent(&name)?;
            fs::remove_dir_all(parent.path())?;
        }
    }
    // Git removes the directory with its last entry, too.
    let _ = fs::remove_dir(root.parent(Path::new("worktrees"))?.path());
    Ok(())
}

/// Returns the directory of a `.git` file, which need not exist any more.
fn real_place(file: &Path) -> Option<PathBuf> {
    let copy = file.parent()?;
    Some(copy.parent()?.canonicalize().ok()?.join(copy.file_name()?))
}

pub(super) async fn remove_branch(history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
    let git = history.repository().ok_or(io::ErrorKind::NotFound)?;
    for reference in [format!("refs/heads/{}", tree.name), beginning(tree)] {
        git.run(&["update-ref", "-d", &reference], &[], Vec::new()).await?;
    }
    Ok(())
}

fn above(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
