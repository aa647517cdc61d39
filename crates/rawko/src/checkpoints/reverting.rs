//! Takes changes of an instance back: all of them, those of the last call, or the last undo. Shared by `rawko undo` and
//! the commands `/undo` and `/redo` of a session.

use rawko_programs::checkpoints::{
    ApplyError, ChangeAuthor, EntryKind, FileDiff, HistoryEntry, NetChanges, net_changes, shown_name,
};

use super::{InstanceChanges, unreadable};
use crate::failure::CommandFailure;

/// The reason that nothing was taken back.
#[derive(Debug)]
pub(crate) enum RevertProblem {
    /// There is nothing to take back.
    Nothing(String),
    /// Others changed these files since.
    Conflicts(Vec<String>),
    /// The contents of these files are not stored.
    Missing(Vec<String>),
    /// Other things are in the place of these paths or above them.
    Blocked(Vec<String>),
    Unreadable(std::io::Error),
}

impl From<std::io::Error> for RevertProblem {
    fn from(error: std::io::Error) -> Self {
        RevertProblem::Unreadable(error)
    }
}

impl From<RevertProblem> for CommandFailure {
    fn from(none: RevertProblem) -> CommandFailure {
        match none {
            RevertProblem::Nothing(why) => CommandFailure::Usage(why),
            RevertProblem::Conflicts(paths) => CommandFailure::Failed(format!(
                "refusing to overwrite files that others changed since or at the same time: {}; nothing was undone, pass --force to overwrite them",
                shown_names(&paths)
            )),
            RevertProblem::Missing(paths) => CommandFailure::Failed(format!(
                "cannot restore files whose contents are not stored: {}; nothing was undone",
                shown_names(&paths)
            )),
            RevertProblem::Blocked(paths) => CommandFailure::Failed(format!(
                "other files or links are in the way of {}; move them away first. Nothing was undone",
                shown_names(&paths)
            )),
            RevertProblem::Unreadable(error) => unreadable(&error),
        }
    }
}

fn shown_names(paths: &[String]) -> String {
    paths.iter().map(|path| shown_name(path)).collect::<Vec<_>>().join(", ")
}

/// The changes to take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RevertScope {
    /// All changes, or those after the step of the [`InstanceChanges`].
    All,
    /// The changes of the last call that is not undone yet.
    LastCall,
    /// The last undo.
    Redo,
}

/// Changes that were taken back, or would be.
pub(crate) struct RevertedChanges {
    pub(crate) net: NetChanges,
    /// The checkpoint of the undo; `None` if nothing was changed.
    pub(crate) entry: Option<HistoryEntry>,
    /// The changes as they were before the undo.
    pub(crate) files: Vec<FileDiff>,
    /// Ignored files that stay as they are.
    pub(crate) skipped: Vec<String>,
}

impl InstanceChanges {
    /// Returns what [`InstanceChanges::revert`] would take back.
    pub(crate) async fn preview(
        &self,
        id: &str,
        scope: RevertScope,
    ) -> Result<RevertedChanges, CommandFailure> {
        let (net, _) = self.selected(id, scope, &self.entries()?)?;
        let files = self.diffs(&net).await?;
        Ok(RevertedChanges { net, entry: None, files, skipped: Vec::new() })
    }

    /// Restores the files, all or none. Files that others changed since are overwritten only if forced.
    pub(crate) async fn revert(
        &self,
        id: &str,
        scope: RevertScope,
        is_forced: bool,
    ) -> Result<RevertedChanges, RevertProblem> {
        // Changes of a call that was killed become part of the history.
        self.history.now().await?;
        let (net, label) = self.selected(id, scope, &self.history.entries()?)?;
        let files = self.read_diffs(&net).await?;
        let kind = if scope == RevertScope::Redo { EntryKind::Redo } else { EntryKind::Undo };
        let author = ChangeAuthor { kind, instance: id.to_owned(), call: String::new(), label };
        match self.history.revert(&net, &author, is_forced).await {
            Ok(applied) => {
                let (entry, skipped) = (applied.entry, applied.skipped);
                Ok(RevertedChanges { net, entry, files, skipped })
            }
            Err(ApplyError::Conflicts(paths)) => Err(RevertProblem::Conflicts(paths)),
            Err(ApplyError::Missing(paths)) => Err(RevertProblem::Missing(paths)),
            Err(ApplyError::Blocked(paths)) => Err(RevertProblem::Blocked(paths)),
            Err(ApplyError::Io(error)) => Err(error.into()),
        }
    }

    /// Returns the net changes to take back, and the label of the undo.
    fn selected(
        &self,
        id: &str,
        scope: RevertScope,
        entries: &[HistoryEntry],
    ) -> Result<(NetChanges, String), RevertProblem> {
        if self.is_pruned()? {
            let why = "its checkpoints were removed (`retention.files` in the settings)";
            return Err(RevertProblem::Nothing(format!("the changes of `{id}` cannot be undone: {why}")));
        }
        let calls: Vec<(u64, &HistoryEntry)> = effective(entries.iter().filter(|entry| self.is_own(entry)));
        match scope {
            RevertScope::All => {
                let net = self.to_undo(entries);
                let taken = calls.iter().filter(|(_, entry)| self.is_later(entry)).map(|(number, _)| *number);
                Ok((net, label(&taken.collect::<Vec<_>>())))
            }
            RevertScope::LastCall => match calls.iter().rfind(|(_, entry)| !entry.changes.is_empty()) {
                Some((last, _)) => Ok((net_changes(entries, |entry| entry.number == *last), label(&[*last]))),
                None => Err(RevertProblem::Nothing(format!("`{id}` has no changes to undo"))),
            },
            RevertScope::Redo => match self.to_redo(id, entries) {
                Some(net) => Ok((net, "redo".to_owned())),
                None => Err(RevertProblem::Nothing(format!("`{id}` has no undo to take back"))),
            },
        }
    }
}

/// Returns the calls whose changes are not undone, oldest first.
fn effective<'a>(entries: impl Iterator<Item = &'a HistoryEntry>) -> Vec<(u64, &'a HistoryEntry)> {
    let mut calls: Vec<(u64, &HistoryEntry)> = Vec::new();
    let mut undone: Vec<Vec<(u64, &HistoryEntry)>> = Vec::new();
    for entry in entries {
        match entry.author.kind {
            EntryKind::Call | EntryKind::Merge => calls.push((entry.number, entry)),
            EntryKind::Undo => {
                let taken = numbers(&entry.author.label);
                let (gone, left) = calls
                    .into_iter()
                    .partition(|(number, _)| taken.as_ref().is_none_or(|it| it.contains(number)));
                calls = left;
                undone.push(gone);
            }
            EntryKind::Redo => {
                calls.extend(undone.pop().unwrap_or_default());
                calls.sort_unstable_by_key(|(number, _)| *number);
            }
            EntryKind::Base | EntryKind::Outside => {}
        }
    }
    calls
}

/// Returns the label of an undo, which names the entries that it takes back: `undo 3,5`.
fn label(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("undo {}", numbers.join(",")).trim_end().to_owned()
}

/// Parses the label of an undo; `None` if it names no entries, so that it counts for all before it.
fn numbers(label: &str) -> Option<Vec<u64>> {
    label.strip_prefix("undo ")?.split(',').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, kind: EntryKind, label: &str) -> HistoryEntry {
        let author =
            ChangeAuthor { kind, instance: "t".to_owned(), call: String::new(), label: label.to_owned() };
        HistoryEntry {
            number,
            at_ms: 0,
            author,
            commit: None,
            reference: None,
            changes: Vec::new(),
            ignored: Vec::new(),
            others: Vec::new(),
        }
    }

    #[test]
    fn undone_calls_are_not_undone_again() {
        use EntryKind::{Base, Call, Outside, Redo, Undo};
        type Made = (EntryKind, &'static str);
        let table: [(&[Made], &[u64]); 6] = [
            (&[(Base, ""), (Call, "Edit"), (Outside, ""), (Call, "Bash")], &[2, 4]),
            (&[(Call, ""), (Call, ""), (Undo, "undo 2")], &[1]),
            (&[(Call, ""), (Call, ""), (Undo, "undo 2"), (Undo, "undo 1")], &[]),
            (&[(Call, ""), (Call, ""), (Undo, "undo 2"), (Undo, "undo 1"), (Redo, "redo")], &[1]),
            (&[(Call, ""), (Undo, "undo"), (Call, "")], &[3]),
            (&[(Call, ""), (Undo, "undo 1"), (Call, ""), (Redo, "redo")], &[1, 3]),
        ];
        for (made, expected) in table {
            let entries: Vec<HistoryEntry> =
                (1..).zip(made).map(|(number, (kind, label))| entry(number, *kind, label)).collect();
            let left: Vec<u64> = effective(entries.iter()).into_iter().map(|(number, _)| number).collect();
            assert_eq!(left, expected, "{made:?}");
        }
        assert_eq!(numbers(&label(&[3, 5])), Some(vec![3, 5]));
        assert_eq!(label(&[]), "undo");
    }
}
