//! Merges a worktree into the project: one at a time, all of it or nothing. Conflicts are written to the worktree, where
//! an agent or a person resolves them; the project stays as it is.

use std::fs::File;
use std::io;

use rawko_tools::ProtectedPaths;
use serde::{Deserialize, Serialize};

use super::{MergeTurn, Worktree, WorktreeError, Worktrees, copy};
use crate::checkpoints::{
    ApplyError, ChangeAuthor, Checkpoints, HistoryEntry, Manifest, MergeResult, MergedFile, PathChange,
    PathKind, PathState, apply_copy, content_mark, has_markers, has_room, merge_lines, real_path,
};

/// Attempts while the person changes files at the same time.
const ATTEMPTS_MAX: usize = 5;
/// Files that a refusal names.
const NAMED_MAX: usize = 5;

/// A completed merge.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// Changed paths of the project.
    pub files: Vec<String>,
    /// `None` if there was nothing to merge.
    pub entry: Option<HistoryEntry>,
}

/// A merge was not made.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Both sides changed these files. The project is unchanged.
    #[error("conflicts with the project in {}", .0.join(", "))]
    Conflict(Vec<String>),
    /// The worktree cannot be used.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// The changes cannot be applied.
    #[error("the project cannot be changed: {0}")]
    Apply(ApplyError),
}

impl From<io::Error> for MergeError {
    fn from(error: io::Error) -> Self {
        MergeError::Worktree(error.into())
    }
}

/// The outcome of merging contents: changes of the project, and conflicts with their text.
#[derive(Default)]
struct MergedContents {
    changes: Vec<PathChange>,
    conflicts: Vec<(String, Option<Vec<u8>>)>,
}

/// Changes of a copy that bring a conflict into it, on disk before the first of them is made.
#[derive(Serialize, Deserialize)]
struct MarkedConflict {
    changes: Vec<PathChange>,
    /// The record of the worktree afterwards.
    tree: Worktree,
    base: Manifest,
    paths: Vec<String>,
}

impl Worktrees {
    /// Waits for the turn of a call to merge: one at a time, also among processes. Hold it until the result is judged.
    pub async fn merge_turn(&self, call: &str) -> io::Result<MergeTurn> {
        let mut turn = self.merging.turn(call).await;
        let (folder, file) = (self.state.clone(), self.state.join("merging"));
        let lock = tokio::task::spawn_blocking(move || {
            rawko_settings::make_private(&folder)?;
            let lock = File::options().create(true).truncate(false).write(true).open(file)?;
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
            Ok::<_, io::Error>(lock)
        });
        turn.lock = Some(lock.await??);
        Ok(turn)
    }

    /// Merges a worktree. The next merge begins with the result of this one.
    pub async fn merge(
        &self,
        history: &Checkpoints,
        name: &str,
        author: &ChangeAuthor,
        _turn: &MergeTurn,
    ) -> Result<Merged, MergeError> {
        let mut changed = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            let tree = self.named(name)?;
            if let Some(paths) = self.finish_marking(history, name).await? {
                return Err(MergeError::Conflict(paths));
            }
            if let Some(unresolved) = unresolved(&tree).await? {
                return Err(MergeError::Conflict(unresolved));
            }
            let (number, ours) = history.now().await?;
            let base = self.base(&tree)?;
            let theirs = copy::scan(history, &tree.path, &base).await?;
            let merge = MergeResult::of(&base, &ours, &theirs);
            refuse_authority(&merge)?;
            let contents = contents(history, &tree, number, &merge).await?;
            if !contents.conflicts.is_empty() {
                let paths: Vec<String> = contents.conflicts.iter().map(|(path, _)| path.clone()).collect();
                self.mark_conflicts(history, &tree, number, &ours, &theirs, contents).await?;
                return Err(MergeError::Conflict(paths));
            }
            let is_file = |it: &&PathChange| {
                [&it.before, &it.after].into_iter().flatten().any(|mark| mark.kind != PathKind::Directory)
            };
            let files = contents.changes.iter().filter(is_file).map(|it| it.path.clone()).collect();
            match history.apply(contents.changes, author, false).await {
                Ok(applied) => return Ok(Merged { files, entry: applied.entry }),
                // Changed in this moment: merge with the new state.
                Err(ApplyError::Conflicts(paths)) => changed = paths,
                Err(error) => return Err(MergeError::Apply(error)),
            }
        }
        // Files of the person that git ignores, which are in no checkpoint.
        Err(MergeError::Apply(ApplyError::Blocked(changed)))
    }

    /// Brings the changes of the project into the worktree, with conflict markers; its next merge begins from here.
    async fn mark_conflicts(
        &self,
        history: &Checkpoints,
        tree: &Worktree,
        number: u64,
        ours: &Manifest,
        theirs: &Manifest,
        contents: MergedContents,
    ) -> Result<(), MergeError> {
        let mut back = MergeResult::of(&self.base(tree)?, theirs, ours);
        // What the copy removed and the project changed is there to be looked at; merged as it is, it is not removed.
        let changed = back.conflicts.iter().filter(|path| has_room(theirs, path));
        let changed = changed.filter_map(|path| Some((path, ours.get(path)?)));
        back.changes.extend(changed.map(|(path, mark)| PathChange {
            path: path.clone(),
            before: None,
            after: Some(mark.clone()),
        }));
        let mut changes = Vec::new();
        let old: Vec<(String, PathState, u64)> =
            back.changes.iter().filter_map(|it| Some((it.path.clone(), it.after.clone()?, number))).collect();
        for ((_, mark, _), body) in old.iter().zip(history.contents(&old).await?) {
            body.iter().try_for_each(|body| history.keep(mark, body))?;
        }
        changes.extend(back.changes);
        for file in &back.both {
            let conflict = contents.conflicts.iter().find(|(path, _)| *path == file.path);
            let merged =
                contents.changes.iter().find(|it| it.path == file.path).and_then(|it| it.after.clone());
            let after = match conflict {
                Some((_, Some(body))) => {
                    let mark = content_mark(body, file.ours.mode);
                    history.keep(&mark, body)?;
                    Some(mark)
                }
                Some((_, None)) => None,
                None => merged,
            };
            if let Some(after) = after {
                changes.push(PathChange {
                    path: file.path.clone(),
                    before: Some(file.ours.clone()),
                    after: Some(after),
                });
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        let paths = contents.conflicts.iter().map(|(path, _)| path.clone()).collect();
        let conflicts = contents.conflicts.into_iter().filter(|(_, body)| body.is_some());
        let conflicts = conflicts.map(|(path, _)| path).collect();
        let tree = Worktree { base: number, conflicts, ..tree.clone() };
        let marked = MarkedConflict { changes, base: ours.clone(), paths, tree };
        self.write_part(&marked.tree.name, "conflict", &marked)?;
        self.finish_marking(history, &marked.tree.name).await?;
        Ok(())
    }

    /// Completes what a process began that was killed while it brought a conflict into a copy: without its record, the
    /// changes of the project would be taken for those of the agent. Returns the files of the conflict.
    async fn finish_marking(&self, history: &Checkpoints, name: &str) -> io::Result<Option<Vec<String>>> {
        let file = self.file(name, "conflict");
        let text = match std::fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let MarkedConflict { changes, tree, base, paths } = serde_json::from_slice(&text)?;
        apply_copy(history, &tree.path, changes).await?;
        self.write(&tree, Some(&base))?;
        std::fs::remove_file(file)?;
        Ok(Some(paths))
    }
}

/// Refuses a merge that would change what instructs agents or starts programs, however it came into the worktree: this
/// process writes to the project without the sandbox.
fn refuse_authority(merge: &MergeResult) -> io::Result<()> {
    let changed = merge.changes.iter().map(|change| change.path.as_str());
    let both = merge.both.iter().map(|file| file.path.as_str());
    let all = changed.chain(both).chain(merge.conflicts.iter().map(String::as_str));
    let found: Vec<&str> =
        all.filter(|path| ProtectedPaths::part_of(&real_path(path)).is_some()).take(NAMED_MAX).collect();
    if found.is_empty() {
        return Ok(());
    }
    let message = format!(
        "refused: the worktree changes files that instruct agents or start programs ({}); review them, and merge the branch \
         with git",
        found.join(", ")
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Returns the files that still have conflict markers.
async fn unresolved(tree: &Worktree) -> io::Result<Option<Vec<String>>> {
    let mut found = Vec::new();
    for path in &tree.conflicts {
        let body = copy::read(&tree.path, path).await?;
        if body.is_some_and(|body| has_markers(&body)) {
            found.push(path.clone());
        }
    }
    Ok(Some(found).filter(|found| !found.is_empty()))
}

/// Merges the contents of files, and stores everything that the project will get.
async fn contents(
    history: &Checkpoints,
    tree: &Worktree,
    number: u64,
    merge: &MergeResult,
) -> io::Result<MergedContents> {
    let mut all = MergedContents::default();
    all.conflicts.extend(merge.conflicts.iter().map(|path| (path.clone(), None)));
    for change in &merge.changes {
        let mut change = change.clone();
        if let Some(mark) = change.after.as_mut().filter(|mark| mark.kind != PathKind::Directory) {
            let body = copy::read(&tree.path, &change.path).await?.unwrap_or_default();
            if mark.kind == PathKind::File {
                *mark = content_mark(&body, mark.mode);
            }
            history.keep(mark, &body)?;
        }
        all.changes.push(change);
    }
    for MergedFile { path, base, ours, theirs } in &merge.both {
        let mut wanted = vec![(path.clone(), ours.clone(), number)];
        wanted.extend(base.iter().map(|base| (path.clone(), base.clone(), tree.base)));
        let mut found = history.contents(&wanted).await?.into_iter();
        let our_body = found.next().flatten().unwrap_or_default();
        let base_body = found.next().flatten().unwrap_or_default();
        let their_body = copy::read(&tree.path, path).await?.unwrap_or_default();
        let mode =
            if base.as_ref().is_some_and(|base| base.mode == ours.mode) { theirs.mode } else { ours.mode };
        match merge_lines(&base_body, &our_body, &their_body, ("project", &tree.name)) {
            Ok(body) => {
                let mark = content_mark(&body, mode);
                history.keep(&mark, &body)?;
                let (before, after) = (Some(ours.clone()), Some(mark));
                all.changes.push(PathChange { path: path.clone(), before, after });
            }
            Err(body) => all.conflicts.push((path.clone(), Some(body))),
        }
    }
    all.changes.sort_by(|one, other| one.path.cmp(&other.path));
    all.conflicts.sort();
    Ok(all)
}
