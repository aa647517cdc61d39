//! Removes checkpoints and worktrees of tasks that ended long ago: with `rawko prune`, and by itself once a day. Separate
//! from the store, which knows nothing of files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rawko_agents::work::{project_history, project_worktrees};
use rawko_host::{Settings, SnapshotReader};
use rawko_programs::checkpoints::{Checkpoints, EntryKind, HistoryEntry};
use rawko_programs::worktrees::{Worktree, WorktreeFate, Worktrees};
use rawko_settings::StateDir;
use rawko_store::{InstanceRow, Store, StoreError};

use super::unreadable;
use crate::failure::CommandFailure;
use crate::times;

/// Time between two automatic prunes.
const INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// Interval of the check whether the last prune was a day ago.
const LOOK: Duration = Duration::from_secs(60 * 60);

/// Counts of removed files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PrunedFiles {
    pub(crate) checkpoints: usize,
    pub(crate) worktrees: usize,
    /// Copies that a killed process left.
    pub(crate) leftovers: usize,
    /// Worktrees whose changes stay as a branch; part of `worktrees`.
    pub(crate) branches: usize,
    pub(crate) bytes: u64,
}

impl PrunedFiles {
    pub(crate) fn is_empty(self) -> bool {
        self == PrunedFiles::default()
    }
}

/// The files of a project that ended tasks left.
pub(crate) struct FilePruner<'a> {
    history: Checkpoints,
    worktrees: Worktrees,
    reader: &'a SnapshotReader,
    age_ms: u64,
    /// Instances that were removed from the store just now, with all below them.
    gone: Vec<String>,
    known: RefCell<HashMap<String, bool>>,
}

impl<'a> FilePruner<'a> {
    pub(crate) fn new(
        root: &Path,
        settings: &Settings,
        reader: &'a SnapshotReader,
        age_ms: u64,
    ) -> Result<FilePruner<'a>, CommandFailure> {
        let history = project_history(root, settings).map_err(|error| unreadable(&error))?;
        let worktrees = project_worktrees(root, settings).map_err(|error| unreadable(&error))?;
        Ok(FilePruner { history, worktrees, reader, age_ms, gone: Vec::new(), known: RefCell::default() })
    }

    pub(crate) fn without(self, gone: Vec<String>) -> FilePruner<'a> {
        FilePruner { gone, ..self }
    }

    /// Counts what [`FilePruner::prune`] would remove.
    pub(crate) fn look(&self) -> io::Result<PrunedFiles> {
        let worktrees = self.worktrees.all()?.iter().filter(|tree| !self.is_needed_tree(tree)).count();
        let checkpoints = self.history.prunable(|entry| self.is_needed(entry), &self.worktrees.pinned()?)?;
        Ok(PrunedFiles { checkpoints, worktrees, ..PrunedFiles::default() })
    }

    pub(crate) async fn prune(&self) -> io::Result<PrunedFiles> {
        let mut pruned = PrunedFiles::default();
        for tree in self.worktrees.all()? {
            if self.is_needed_tree(&tree) {
                continue;
            }
            match self.worktrees.retire(&self.history, &tree).await? {
                WorktreeFate::Removed => pruned.worktrees += 1,
                WorktreeFate::Branch => {
                    (pruned.worktrees, pruned.branches) = (pruned.worktrees + 1, pruned.branches + 1)
                }
                WorktreeFate::Kept => {}
            }
        }
        pruned.leftovers = self.worktrees.remove_leftovers(&self.history).await?;
        let removed = self.history.prune(|entry| self.is_needed(entry), &self.worktrees.pinned()?).await?;
        (pruned.checkpoints, pruned.bytes) = (removed.entries, removed.bytes);
        Ok(pruned)
    }

    /// Returns true if an entry can still be shown or undone.
    fn is_needed(&self, entry: &HistoryEntry) -> bool {
        match entry.author.kind {
            EntryKind::Base | EntryKind::Outside => false,
            EntryKind::Call | EntryKind::Undo | EntryKind::Redo | EntryKind::Merge => {
                self.is_in_use(&entry.author.instance, i64::try_from(entry.at_ms).unwrap_or(i64::MAX))
            }
        }
    }

    fn is_needed_tree(&self, tree: &Worktree) -> bool {
        let age = i64::try_from(self.worktrees.age(tree).as_millis()).unwrap_or(i64::MAX);
        // A program has no instance: its tree is named after the call.
        let instance = tree.instance.split('/').next().unwrap_or(&tree.instance);
        self.is_in_use(instance, times::now_ms().saturating_sub(age))
    }

    /// Returns true unless the task ended long ago. Of an instance that this store does not have, the files decide.
    fn is_in_use(&self, instance: &str, at_ms: i64) -> bool {
        let is_below = |id: &String| {
            instance.strip_prefix(id.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if self.gone.iter().any(is_below) {
            return false;
        }
        if let Some(known) = self.known.borrow().get(instance) {
            return *known;
        }
        let Some(is_used) = self.task_in_use(instance) else { return self.is_young(at_ms) };
        self.known.borrow_mut().insert(instance.to_owned(), is_used);
        is_used
    }

    /// `None` if the store does not have it.
    fn task_in_use(&self, instance: &str) -> Option<bool> {
        let store = self.reader.store();
        store.find(instance).ok()??;
        let Ok(row) = root_row(&**store, instance) else { return Some(true) };
        Some(row.is_none_or(|row| !row.head.status.is_over() || self.is_young(row.updated_ms)))
    }

    fn is_young(&self, at_ms: i64) -> bool {
        let age = i64::try_from(self.age_ms).unwrap_or(i64::MAX);
        at_ms.saturating_add(age) > times::now_ms()
    }
}

/// Returns the uppermost ancestor of an instance that the store has, or the instance itself.
pub(crate) fn root_row(store: &dyn Store, instance: &str) -> Result<Option<InstanceRow>, StoreError> {
    let mut row = store.find(instance)?;
    while let Some(parent) = row.as_ref().and_then(|row| row.new.parent.as_ref()) {
        match store.find(&parent.id)? {
            Some(above) => row = Some(above),
            None => break,
        }
    }
    Ok(row)
}

/// Prunes by itself for as long as a server or a worker runs.
pub(crate) async fn prune_daily(root: PathBuf, settings: Settings, reader: SnapshotReader, age_ms: u64) {
    loop {
        prune_if_due(root.clone(), settings.clone(), reader.clone(), age_ms).await;
        tokio::time::sleep(LOOK).await;
    }
}

/// Prunes if the last time is long ago. A failure waits for the next time: nothing depends on it.
pub(crate) async fn prune_if_due(root: PathBuf, settings: Settings, reader: SnapshotReader, age_ms: u64) {
    let Ok(state) = StateDir::of(settings.environment()) else { return };
    let folder = state.project(&root).join("checkpoints");
    let stamp = folder.join("pruned");
    if !folder.is_dir() || !is_due(&stamp) || fs::write(&stamp, b"").is_err() {
        return;
    }
    let pruning = tokio::task::spawn_blocking(move || {
        let handle = tokio::runtime::Handle::current();
        if let Ok(pruner) = FilePruner::new(&root, &settings, &reader, age_ms) {
            drop(handle.block_on(pruner.prune()));
        }
    });
    let _ = pruning.await;
}

/// Returns true if the last time is long ago. The first time is a day after the first checkpoint.
fn is_due(stamp: &Path) -> bool {
    match fs::metadata(stamp).and_then(|about| about.modified()) {
        Ok(at) => SystemTime::now().duration_since(at).is_ok_and(|age| age > INTERVAL),
        Err(_) => {
            let _ = fs::write(stamp, b"");
            false
        }
    }
}
