//! Makes worktrees, commits their changes and removes them.

use std::fs;
use std::io;

use super::{Worktree, WorktreeChanges, WorktreeError, Worktrees, copy, repository};
use crate::checkpoints::{Checkpoints, Manifest};

/// Returns the disk space of a worktree: it grows while an agent builds and downloads.
fn taken_by(tree: &Worktree) -> u64 {
    tree.bytes.max(copy::bytes(&tree.path))
}

impl Worktrees {
    /// Returns the worktree of an instance, and makes it from the present files of the project if there is none.
    pub async fn open(
        &self,
        history: &Checkpoints,
        instance: &str,
        name: &str,
    ) -> Result<Worktree, WorktreeError> {
        if let Some(tree) = self.all()?.into_iter().find(|tree| tree.instance == instance) {
            return Ok(tree);
        }
        let (number, files) = history.now().await?;
        self.make(history, instance, name, number, &files).await
    }

    /// Makes a worktree from the files after a checkpoint.
    pub async fn open_at(
        &self,
        history: &Checkpoints,
        instance: &str,
        name: &str,
        number: u64,
    ) -> Result<Worktree, WorktreeError> {
        let files = history.files_at(number).await?;
        self.make(history, instance, name, number, &files).await
    }

    async fn make(
        &self,
        history: &Checkpoints,
        instance: &str,
        name: &str,
        number: u64,
        files: &Manifest,
    ) -> Result<Worktree, WorktreeError> {
        let bytes: u64 = files.values().map(|mark| mark.size).sum();
        let all = self.all()?;
        let taken = tokio::task::spawn_blocking(move || all.iter().map(taken_by).sum::<u64>())
            .await
            .map_err(io::Error::from)?;
        if taken.saturating_add(bytes) > self.bytes_max {
            return Err(WorktreeError::DiskBudget {
                wanted: taken.saturating_add(bytes),
                most: self.bytes_max,
            });
        }
        rawko_settings::make_private(&self.place)?;
        let path = self.place.join(rawko_settings::short_hash(name.as_bytes()));
        // A copy without a record was not completed.
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        let mut tree = Worktree {
            name: name.to_owned(),
            instance: instance.to_owned(),
            path: path.clone(),
            is_git: false,
            base: number,
            base_commit: None,
            commit: None,
            bytes,
            conflicts: Vec::new(),
        };
        // Without a commit to begin with, it is a plain copy.
        let turn = self.adding.lock().await;
        tree.base_commit = repository::add(history, &tree, files).await.ok();
        drop(turn);
        tree.is_git = tree.base_commit.is_some();
        fs::create_dir_all(&path)?;
        copy::fill(history, number, files, &path).await?;
        if tree.is_git {
            repository::read_index(history, &tree).await?;
        }
        self.write(&tree, Some(files))?;
        Ok(tree)
    }

    /// Commits the changes of a worktree to its branch. Returns its record with the commit.
    pub async fn commit(
        &self,
        history: &Checkpoints,
        tree: &Worktree,
        changes: &WorktreeChanges,
        message: &str,
    ) -> io::Result<Worktree> {
        let mut tree = tree.clone();
        if tree.is_git && !changes.changes.is_empty() {
            tree.commit = Some(repository::commit(history, &tree, changes, message).await?);
            self.write(&tree, None)?;
        }
        Ok(tree)
    }

    /// Removes a worktree, its branch and its record.
    pub async fn remove(&self, history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
        self.remove_copy(history, tree).await?;
        if tree.is_git {
            let _ = repository::remove_branch(history, tree).await;
        }
        self.remove_record(tree);
        Ok(())
    }

    /// Removes the files of a worktree, and git's entry of them.
    pub(super) async fn remove_copy(&self, history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
        let removed = match fs::remove_dir_all(&tree.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
        removed?;
        if tree.is_git {
            // A leftover entry of git does no harm, and `git worktree prune` removes it.
            let _turn = self.adding.lock().await;
            let _ = repository::forget(history, &tree.path).await;
        }
        Ok(())
    }

    pub(super) fn remove_record(&self, tree: &Worktree) {
        for kind in ["tree", "base", "touched"] {
            let _ = fs::remove_file(self.file(&tree.name, kind));
        }
    }
}
