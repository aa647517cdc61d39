//! Makes worktrees, commits their changes and removes them.

use std::fs;
use std::io;

use super::{Removal, Worktree, WorktreeChanges, WorktreeError, Worktrees, copy, repository};
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
        self.make(history, instance, name, number, (&files, &files)).await
    }

    /// Makes a worktree from the files after a checkpoint.
    pub async fn open_at(
        &self,
        history: &Checkpoints,
        instance: &str,
        name: &str,
        number: u64,
    ) -> Result<Worktree, WorktreeError> {
        let (_, now) = history.now().await?;
        let files = history.files_at(number).await?;
        self.make(history, instance, name, number, (&files, &now)).await
    }

    async fn make(
        &self,
        history: &Checkpoints,
        instance: &str,
        name: &str,
        number: u64,
        (files, now): (&Manifest, &Manifest),
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
        // A copy without a record was not completed, or its removal was not.
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
            removal: None,
        };
        // Without a commit to begin with, it is a plain copy.
        let turn = self.adding.lock().await;
        tree.base_commit = repository::add(history, &tree, files, now).await.ok();
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

    /// Removes a worktree and its branch. Its record stays for a while, so that a call that is repeated finds it.
    pub async fn remove(&self, history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
        self.begin_removal(history, tree, Removal::Whole).await
    }

    /// Notes that a worktree is removed, and does it. Killed in between, [`Worktrees::remove_leftovers`] completes it.
    pub(super) async fn begin_removal(
        &self,
        history: &Checkpoints,
        tree: &Worktree,
        removal: Removal,
    ) -> io::Result<()> {
        let tree = Worktree { removal: Some(removal), ..tree.clone() };
        self.write(&tree, None)?;
        self.finish_removal(history, &tree).await
    }

    /// Removes the files of a worktree, git's entry of them and its branch.
    pub(super) async fn finish_removal(&self, history: &Checkpoints, tree: &Worktree) -> io::Result<()> {
        let removed = match fs::remove_dir_all(&tree.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
        removed?;
        // A leftover entry of git does no harm, and `git worktree prune` removes it. Without git there is none.
        let turn = self.adding.lock().await;
        let _ = repository::forget(history, &tree.path).await;
        if tree.removal == Some(Removal::Whole) {
            let _ = repository::remove_branch(history, tree).await;
        }
        drop(turn);
        for kind in ["base", "touched", "conflict"] {
            let _ = fs::remove_file(self.file(&tree.name, kind));
        }
        Ok(())
    }

    pub(super) fn remove_record(&self, tree: &Worktree) {
        let _ = fs::remove_file(self.file(&tree.name, "tree"));
    }
}
