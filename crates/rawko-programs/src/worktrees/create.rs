//! Makes worktrees, commits their changes and removes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rawko_settings::{STATE_DIR_VARIABLE, StateDir};

use super::{Removal, Settlement, Worktree, WorktreeChanges, WorktreeError, Worktrees, copy, repository};
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
        self.make(history, (instance, Settlement::Due), name, number, (&files, &files)).await
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
        self.make(history, (instance, Settlement::Never), name, number, (&files, &now)).await
    }

    async fn make(
        &self,
        history: &Checkpoints,
        (instance, settlement): (&str, Settlement),
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
            settlement,
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

    /// Settles the work of a worktree: commits its changes, and removes it without any.
    pub async fn settle(
        &self,
        history: &Checkpoints,
        tree: &Worktree,
        message: &str,
    ) -> io::Result<(Worktree, WorktreeChanges)> {
        let changes = self.changes(history, tree).await?;
        let tree = self.commit(history, tree, &changes, message).await?;
        let tree = Worktree { settlement: Settlement::Done, ..tree };
        if changes.changes.is_empty() {
            self.remove(history, &tree).await?;
        } else {
            self.write(&tree, None)?;
        }
        Ok((tree, changes))
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
        if let Some(state) = self.state_of_copy(&tree.path) {
            // What stays there costs space, and nothing reads it: a later copy at this path has its own instance.
            let _ = fs::remove_dir_all(state);
        }
        let removed = match fs::remove_dir_all(&tree.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
        removed?;
        match fs::remove_dir_all(Worktrees::patches_of(&tree.path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
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

    /// Returns the folder of a copy in the user's state directory. `None` if a person ran rawko in the copy: its runs and
    /// worktrees are theirs.
    fn state_of_copy(&self, copy: &Path) -> Option<PathBuf> {
        let mut above = self.state.ancestors().skip(1);
        let (own, projects, state) = (above.next()?, above.next()?, above.next()?);
        let environment = [(STATE_DIR_VARIABLE, state.to_str()?)].into_iter().collect();
        let directory = StateDir::of(&environment).ok()?;
        let found = directory.project(copy);
        let is_persons = directory.store(copy).exists() || found.join("worktrees").exists();
        (found.starts_with(projects) && found != own && !is_persons).then_some(found)
    }

    pub(super) fn remove_record(&self, tree: &Worktree) {
        let _ = fs::remove_file(self.file(&tree.name, "tree"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_copy_goes_with_it_unless_a_person_used_it() {
        let state = tempfile::tempdir().unwrap();
        let environment = [(STATE_DIR_VARIABLE, state.path().to_str().unwrap())].into_iter().collect();
        let directory = StateDir::of(&environment).unwrap();
        let (project, copy) = (Path::new("/some/project"), Path::new("/some/copy"));
        let worktrees = Worktrees::new(&directory.project(project), Path::new("/some/place"), 1);
        assert_eq!(worktrees.state_of_copy(copy), Some(directory.project(copy)));
        assert_eq!(worktrees.state_of_copy(project), None, "the project's own");
        fs::create_dir_all(directory.project(copy)).unwrap();
        fs::write(directory.store(copy), "").unwrap();
        assert_eq!(worktrees.state_of_copy(copy), None, "a person ran rawko there");
    }
}
