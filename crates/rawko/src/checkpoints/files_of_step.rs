//! The files of a past step in a worktree, so that a fork continues with what its instance had then. Separate from the
//! command, because the server forks, too.

use std::path::{Path, PathBuf};

use rawko_agents::work::project_worktrees;
use rawko_host::{Settings, SnapshotReader};
use rawko_programs::checkpoints::{Checkpoints, ref_part};
use rawko_programs::worktrees::Worktrees;
use rawko_store::InstanceRow;

use super::{InstanceChanges, unreadable};
use crate::failure::CommandFailure;

/// The files of a past step, for a fork to work with.
pub(crate) struct FilesOfStep {
    history: Checkpoints,
    worktrees: Worktrees,
    pub(crate) new_id: String,
    /// The last checkpoint until the step, or the one that the copy of the instance began with.
    number: u64,
}

impl FilesOfStep {
    /// `None` if the instance changed nothing after the step, and has no copy of its own.
    pub(crate) fn find(
        root: &Path,
        settings: &Settings,
        reader: &SnapshotReader,
        (row, at): (&InstanceRow, u64),
        new_id: Option<&str>,
    ) -> Result<Option<Self>, CommandFailure> {
        let changes = InstanceChanges::in_project(root, settings, reader, row, Some(at))?;
        let entries = changes.entries()?;
        let later = entries.iter().find(|entry| changes.is_own(entry) && changes.is_later(entry));
        let worktrees = project_worktrees(root, settings).map_err(|error| unreadable(&error))?;
        let number = match later {
            Some(entry) => entry.number - 1,
            // A copy has no checkpoints: the fork begins with the files that the copy began with.
            None => match worktrees.of_instance(&row.new.id).map_err(|error| unreadable(&error))? {
                Some(tree) => tree.base,
                None => return Ok(None),
            },
        };
        let free = (1..).map(|count| format!("{}-at-{at}-{count}", row.new.id));
        let mut free = free.filter(|id| reader.store().find(id).ok().flatten().is_none());
        let new_id = new_id.map(str::to_owned).or_else(|| free.next()).unwrap_or_default();
        Ok(Some(Self { history: changes.history, worktrees, new_id, number }))
    }

    pub(crate) async fn make(&self) -> Result<PathBuf, CommandFailure> {
        let name = format!("rawko/{}", ref_part(&self.new_id));
        let made = self.worktrees.open_at(&self.history, &self.new_id, &name, self.number).await;
        let made = made.map_err(|error| {
            CommandFailure::Failed(format!("cannot restore the files of that step: {error}"))
        })?;
        Ok(made.path)
    }

    pub(crate) async fn remove(&self) {
        if let Ok(Some(tree)) = self.worktrees.of_instance(&self.new_id) {
            let _ = self.worktrees.remove(&self.history, &tree).await;
        }
    }
}
