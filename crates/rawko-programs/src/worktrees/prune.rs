//! The end of worktrees that nothing needs any more. Work that was not merged is kept as a branch; without git, as the copy.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{Removal, Worktree, Worktrees, repository};
use crate::checkpoints::{Checkpoints, PinnedCheckpoints};

/// A copy without a record that is younger may be one that is just being made.
const IN_MAKING: Duration = Duration::from_secs(60 * 60);

/// What became of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeFate {
    /// It had no changes.
    Removed,
    /// The copy is removed; its branch has the changes.
    Branch,
    /// Kept: without git, its changes are nowhere else.
    Kept,
}

impl Worktrees {
    /// Removes a worktree, but not its work.
    pub async fn retire(&self, history: &Checkpoints, tree: &Worktree) -> io::Result<WorktreeFate> {
        let is_there = tree.path.is_dir();
        let changes = match is_there {
            true => self.changes(history, tree).await?,
            false => super::WorktreeChanges::default(),
        };
        let is_changed = !changes.changes.is_empty();
        if is_changed && !tree.is_git {
            return Ok(WorktreeFate::Kept);
        }
        if is_changed {
            let message = format!("rawko: changes of {}\n\nInstance: {}\n", tree.name, tree.instance);
            self.commit(history, tree, &changes, &message).await?;
        }
        if is_changed || (!is_there && tree.commit.is_some()) {
            self.begin_removal(history, tree, Removal::KeepsBranch).await?;
            return Ok(WorktreeFate::Branch);
        }
        self.remove(history, tree).await?;
        Ok(WorktreeFate::Removed)
    }

    /// Returns the time since the record of a worktree was written.
    pub fn age(&self, tree: &Worktree) -> Duration {
        let written = fs::metadata(self.file(&tree.name, "tree")).and_then(|about| about.modified());
        written.ok().and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
    }

    /// Returns what all worktrees need of the history.
    pub fn pinned(&self) -> io::Result<PinnedCheckpoints> {
        let mut pinned = PinnedCheckpoints::default();
        for tree in self.all()? {
            pinned.add(tree.base, &self.base(&tree)?);
        }
        Ok(pinned)
    }

    /// Removes copies that a killed process left without a record, or did not remove whole. Returns their number.
    pub async fn remove_leftovers(&self, history: &Checkpoints) -> io::Result<usize> {
        let mut removed = 0;
        let gone = self.records()?.into_iter().filter(|tree| tree.removal.is_some());
        for tree in gone.filter(|tree| self.age(tree) >= IN_MAKING) {
            removed += usize::from(tree.path.exists());
            self.finish_removal(history, &tree).await?;
            self.remove_record(&tree);
        }
        let copies = self.records()?.into_iter().map(|tree| tree.path);
        let known: Vec<PathBuf> = copies.flat_map(|copy| [Worktrees::patches_of(&copy), copy]).collect();
        let list = match fs::read_dir(&self.place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(removed),
            list => list?,
        };
        for entry in list {
            let path = entry?.path();
            let made = fs::symlink_metadata(&path).and_then(|about| about.modified());
            let age = made.ok().and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default();
            if known.contains(&path) || age < IN_MAKING {
                continue;
            }
            fs::remove_dir_all(&path)?;
            let _turn = self.adding.lock().await;
            // Without git there is no entry.
            let _ = repository::forget(history, &path).await;
            removed += 1;
        }
        Ok(removed)
    }
}
