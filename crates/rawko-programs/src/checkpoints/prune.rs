//! Removes old entries: the oldest ones, up to the first that is still needed. Entries after it stay, because every state
//! is known only from the ones that follow it.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::time::{Duration, SystemTime};

use super::log::TreeState;
use super::record::Checkpoints;
use super::{HistoryEntry, Manifest, PathChange, PathState};

/// Contents that were used in this time belong to a change that is just being made.
const IN_USE: Duration = Duration::from_secs(60 * 60);

/// What worktrees need of the history.
#[derive(Clone, Debug, Default)]
pub struct PinnedCheckpoints {
    /// The oldest entry that one of them began with.
    first: Option<u64>,
    hashes: HashSet<String>,
}

impl PinnedCheckpoints {
    /// Adds the beginning of a worktree.
    pub fn add(&mut self, number: u64, files: &Manifest) {
        self.first = Some(self.first.map_or(number, |first| first.min(number)));
        self.hashes.extend(files.values().map(|mark| mark.hash.clone()));
    }
}

/// Counts of removed entries and contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunedHistory {
    /// Removed entries.
    pub entries: usize,
    /// Contents outside of git, and their size. Git frees its own when the person runs `git gc`.
    pub contents: usize,
    /// Freed bytes.
    pub bytes: u64,
}

impl Checkpoints {
    /// Returns the number of entries that [`Checkpoints::prune`] would remove.
    pub fn prunable(
        &self,
        is_needed: impl Fn(&HistoryEntry) -> bool,
        pinned: &PinnedCheckpoints,
    ) -> io::Result<usize> {
        Ok(surplus(&self.entries()?, is_needed, pinned))
    }

    /// Removes the oldest entries and their contents, until one that is needed. The last entry stays.
    pub async fn prune(
        &self,
        is_needed: impl Fn(&HistoryEntry) -> bool,
        pinned: &PinnedCheckpoints,
    ) -> io::Result<PrunedHistory> {
        if self.prunable(&is_needed, pinned)? == 0 {
            return Ok(PrunedHistory::default());
        }
        let held = self.hold().await?;
        let mut entries = self.entries()?;
        let kept = entries.split_off(surplus(&entries, is_needed, pinned));
        // The tree on disk may be that of an entry which goes.
        held.memory.tree.iter().try_for_each(|tree| self.log.set_tree(tree))?;
        self.note_removed(&entries)?;
        self.remove_refs(&entries).await?;
        // In this order: a prune that is killed leaves the younger ones.
        entries.iter().try_for_each(|entry| self.log.remove(entry.number))?;
        let mut hashes = pinned.hashes.clone();
        let marks = |change: &PathChange| -> Vec<PathState> {
            [&change.before, &change.after].into_iter().flatten().cloned().collect()
        };
        let changes = kept.iter().flat_map(|entry| entry.changes.iter().chain(&entry.ignored));
        hashes.extend(changes.flat_map(marks).map(|mark| mark.hash));
        let tree = held.memory.tree.as_ref();
        let present = tree.into_iter().flat_map(|tree| tree.files.values().chain(ignored_marks(tree)));
        hashes.extend(present.map(|mark| mark.hash.clone()));
        let vault = self.vault.clone();
        let before = SystemTime::now().checked_sub(IN_USE).unwrap_or(SystemTime::UNIX_EPOCH);
        let (contents, bytes) = tokio::task::spawn_blocking(move || vault.prune(&hashes, before)).await??;
        Ok(PrunedHistory { entries: entries.len(), contents, bytes })
    }

    /// Returns the instances whose changes are not known in full any more, with the time of the last removed entry.
    pub fn removed(&self) -> io::Result<BTreeMap<String, u64>> {
        self.log.removed()
    }

    fn note_removed(&self, entries: &[HistoryEntry]) -> io::Result<()> {
        let mut removed = self.log.removed()?;
        for entry in entries.iter().filter(|entry| !entry.author.instance.is_empty()) {
            let last = removed.entry(entry.author.instance.clone()).or_default();
            *last = entry.at_ms.max(*last);
        }
        self.log.set_removed(&removed)
    }

    /// Removes the hidden refs of entries, so that git can free their commits.
    async fn remove_refs(&self, entries: &[HistoryEntry]) -> io::Result<()> {
        let Some(git) = self.repository() else { return Ok(()) };
        let own: HashSet<&str> = entries.iter().filter_map(|entry| entry.reference.as_deref()).collect();
        if own.is_empty() {
            return Ok(());
        }
        let listed = git.text(&["for-each-ref", "--format=%(refname)", "refs/rawko/"]).await?;
        let gone: String =
            listed.lines().filter(|name| own.contains(name)).map(|name| format!("delete {name}\n")).collect();
        git.run(&["update-ref", "--stdin"], &[], gone.into_bytes()).await.map(drop)
    }
}

fn ignored_marks(tree: &TreeState) -> impl Iterator<Item = &PathState> {
    tree.ignored.iter().flat_map(|files| files.values())
}

/// Returns how many of the oldest entries nothing needs. The state before a needed entry is that of the one before it.
fn surplus(
    entries: &[HistoryEntry],
    is_needed: impl Fn(&HistoryEntry) -> bool,
    pinned: &PinnedCheckpoints,
) -> usize {
    let first = entries.iter().position(is_needed).unwrap_or(entries.len()).saturating_sub(1);
    let pin = pinned.first.map(|number| entries.partition_point(|entry| entry.number < number));
    first.min(pin.unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoints::{ChangeAuthor, EntryKind};

    #[test]
    fn the_oldest_go_until_one_is_needed() {
        let entry = |number: u64, instance: &str| HistoryEntry {
            number,
            at_ms: 0,
            author: ChangeAuthor {
                kind: EntryKind::Call,
                instance: instance.to_owned(),
                ..ChangeAuthor::outside()
            },
            commit: None,
            reference: None,
            changes: Vec::new(),
            ignored: Vec::new(),
            others: Vec::new(),
        };
        let of = |names: &str| -> Vec<HistoryEntry> {
            (4..).zip(names.split(' ')).map(|(number, name)| entry(number, name)).collect()
        };
        let mut pinned = PinnedCheckpoints::default();
        let needed = |entry: &HistoryEntry| entry.author.instance == "new";
        for (names, expected) in
            [("old old old new", 2), ("new old", 0), ("old new", 0), ("old old old", 2), ("old", 0)]
        {
            assert_eq!(surplus(&of(names), needed, &pinned), expected, "{names}");
        }
        pinned.add(5, &Manifest::new());
        assert_eq!(surplus(&of("old old old old old new"), needed, &pinned), 1);
        assert_eq!(surplus(&[], needed, &pinned), 0);
    }
}
