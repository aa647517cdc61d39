//! The checkpoints of an instance and its descendants, by step: shared by `diff`, `undo`, `fork`, the session and the server.

mod files_of_step;
pub(crate) mod pruning;
pub(crate) mod reverting;

use std::collections::HashMap;
use std::path::Path;

use rawko_agents::work::project_history;
use rawko_host::{Settings, SnapshotReader};
use rawko_programs::checkpoints::{
    Checkpoints, EntryKind, FileDiff, HistoryEntry, NetChanges, file_diff, net_changes, shared_paths,
};
use rawko_store::InstanceRow;

use crate::failure::CommandFailure;
use crate::hosting::ProjectContext;

pub(crate) use files_of_step::FilesOfStep;

/// The history of the project's files, and the entries of one instance in it.
pub(crate) struct InstanceChanges {
    pub(crate) history: Checkpoints,
    /// The instance and its descendants, with the step of the instance that each of them began in.
    family: HashMap<String, Option<u64>>,
    /// A step, and its time.
    at: Option<(u64, u64)>,
    /// Start of the instance. Earlier entries belong to another instance of the same id.
    since_ms: u64,
}

impl InstanceChanges {
    pub(crate) fn of(
        place: &ProjectContext,
        reader: &SnapshotReader,
        row: &InstanceRow,
        at: Option<u64>,
    ) -> Result<Self, CommandFailure> {
        if place.remote.is_some() {
            let message = "checkpoints are in the state directory of the machine that ran the agents; run this there, without --host";
            return Err(CommandFailure::Usage(message.to_owned()));
        }
        Self::in_project(&place.root, &place.settings, reader, row, at)
    }

    /// Reads the history on this machine, wherever the instance is stored.
    pub(crate) fn in_project(
        root: &Path,
        settings: &Settings,
        reader: &SnapshotReader,
        row: &InstanceRow,
        at: Option<u64>,
    ) -> Result<Self, CommandFailure> {
        let history = project_history(root, settings).map_err(|error| unreadable(&error))?;
        let mut family = HashMap::from([(row.new.id.to_string(), None)]);
        let mut next: Vec<(String, Option<u64>)> = vec![(row.new.id.to_string(), None)];
        while let Some((id, began)) = next.pop() {
            for child in reader.store().children(&id)? {
                let child = child.new.id.to_string();
                let began = began.or_else(|| step_of_child(&id, &child));
                family.insert(child.clone(), began);
                next.push((child, began));
            }
        }
        let at = match at {
            Some(step) => {
                let restored = reader.snapshot(row, Some(step))?;
                Some((step, u64::try_from(restored.at_ms).unwrap_or(0)))
            }
            None => None,
        };
        let since_ms = u64::try_from(row.new.created_ms).unwrap_or(0);
        Ok(Self { history, family, at, since_ms })
    }

    /// Returns true if checkpoints of the instance were removed, so that its changes are not known in full.
    pub(crate) fn is_pruned(&self) -> std::io::Result<bool> {
        let removed = self.history.removed()?;
        Ok(self.family.keys().any(|id| removed.get(id).is_some_and(|at_ms| *at_ms >= self.since_ms)))
    }

    pub(crate) fn entries(&self) -> Result<Vec<HistoryEntry>, CommandFailure> {
        self.history.entries().map_err(|error| unreadable(&error))
    }

    /// Returns the diffs of net changes.
    pub(crate) async fn diffs(&self, net: &NetChanges) -> Result<Vec<FileDiff>, CommandFailure> {
        self.read_diffs(net).await.map_err(|error| unreadable(&error))
    }

    async fn read_diffs(&self, net: &NetChanges) -> std::io::Result<Vec<FileDiff>> {
        let sides = self.history.sides(net).await?;
        let both = net.changes.iter().zip(sides);
        Ok(both
            .filter_map(|(change, (old, new))| file_diff(change, old.as_deref(), new.as_deref()))
            .collect())
    }

    /// Returns true for the entries of the instance and its descendants.
    pub(crate) fn is_own(&self, entry: &HistoryEntry) -> bool {
        !matches!(entry.author.kind, EntryKind::Base | EntryKind::Outside)
            && entry.at_ms >= self.since_ms
            && self.family.contains_key(&entry.author.instance)
    }

    /// Returns true for entries after the step. Without a step, all are.
    pub(crate) fn is_later(&self, entry: &HistoryEntry) -> bool {
        let Some((step, at_ms)) = self.at else { return true };
        let began = match self.family.get(&entry.author.instance) {
            Some(Some(began)) => Some(*began),
            Some(None) => entry.author.step(),
            None => None,
        };
        // A call starts after the step that made it is on disk.
        began.is_some_and(|began| began >= step) || entry.at_ms > at_ms
    }

    /// Returns the step that an entry belongs to: that of the call, in the instance itself.
    pub(crate) fn step_of(&self, entry: &HistoryEntry) -> Option<u64> {
        self.family.get(&entry.author.instance).copied().flatten().or_else(|| entry.author.step())
    }
}

impl InstanceChanges {
    /// Returns the changes that an undo takes back: those after the step.
    pub(crate) fn to_undo(&self, entries: &[HistoryEntry]) -> NetChanges {
        let is_chosen = |entry: &HistoryEntry| self.is_own(entry) && self.is_later(entry);
        let mut net = net_changes(entries, is_chosen);
        let since: Vec<HistoryEntry> = entries
            .iter()
            .filter(|entry| entry.at_ms >= self.since_ms && self.is_within_time(entry))
            .cloned()
            .collect();
        let shared = shared_paths(&since, is_chosen, |instance| self.family.contains_key(instance));
        net.mixed.extend(shared.into_iter().filter(|path| !net.mixed.contains(path)).collect::<Vec<_>>());
        net
    }

    /// Returns true for entries that a call after the step may have had a part in.
    fn is_within_time(&self, entry: &HistoryEntry) -> bool {
        self.at.is_none_or(|(_, at_ms)| entry.at_ms > at_ms)
    }

    /// Returns the changes of the last undo of an instance, if nothing was undone or redone since.
    pub(crate) fn to_redo(&self, id: &str, entries: &[HistoryEntry]) -> Option<NetChanges> {
        let own = |entry: &&HistoryEntry| entry.author.instance == id && entry.at_ms >= self.since_ms;
        let last = entries.iter().rev().filter(own).find(|entry| entry.author.kind != EntryKind::Call);
        let undo = last.filter(|entry| entry.author.kind == EntryKind::Undo)?;
        Some(net_changes(entries, |entry| entry.number == undo.number))
    }
}

pub(crate) fn unreadable(error: &std::io::Error) -> CommandFailure {
    CommandFailure::Failed(format!("cannot use the checkpoints of this project: {error}"))
}

/// Parses the step from the id of a child: `parent.name.step`, or `parent.name.step.index`.
fn step_of_child(parent: &str, child: &str) -> Option<u64> {
    let tail = child.strip_prefix(parent)?.strip_prefix('.')?;
    let mut numbers = tail.rsplit('.').map_while(|part| part.parse::<u64>().ok());
    let last = numbers.next()?;
    Some(numbers.next().unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::step_of_child;

    #[test]
    fn steps_of_children() {
        let table = [
            ("task.worker.3", Some(3)),
            ("task.worker.3.1", Some(3)),
            ("task.v2.worker.12", Some(12)),
            ("task.worker", None),
            ("other.worker.1", None),
        ];
        for (child, step) in table {
            assert_eq!(step_of_child("task", child), step, "{child}");
        }
    }
}
