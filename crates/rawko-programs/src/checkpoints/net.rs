//! The net effect of some entries: what an instance changed, with its intermediate states left out.

use std::collections::BTreeMap;

use super::ignored::net_ignored;
use super::{HistoryEntry, PathChange};

/// The net changes of chosen entries, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetChanges {
    /// One change for each file.
    pub changes: Vec<PathChange>,
    /// The first and the last chosen entry that changed each path.
    pub between: Vec<(u64, u64)>,
    /// Paths that were also changed from elsewhere in between.
    pub mixed: Vec<String>,
    /// Files that git ignores, one change for each.
    pub ignored: Vec<PathChange>,
}

/// Returns the net changes of the chosen entries.
pub fn net_changes(entries: &[HistoryEntry], is_chosen: impl Fn(&HistoryEntry) -> bool) -> NetChanges {
    let mut paths: BTreeMap<&str, (PathChange, u64, u64)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| is_chosen(entry)) {
        for change in &entry.changes {
            let known =
                paths.entry(&change.path).or_insert_with(|| (change.clone(), entry.number, entry.number));
            known.0.after.clone_from(&change.after);
            known.2 = entry.number;
        }
    }
    let mut net = NetChanges { ignored: net_ignored(entries, &is_chosen), ..NetChanges::default() };
    for entry in entries.iter().filter(|entry| !is_chosen(entry)) {
        for change in &entry.changes {
            let is_between = paths
                .get(&*change.path)
                .is_some_and(|(_, first, last)| *first < entry.number && entry.number < *last);
            if is_between && !net.mixed.contains(&change.path) {
                net.mixed.push(change.path.clone());
            }
        }
    }
    for (change, first, last) in paths.into_values() {
        if change.before != change.after {
            net.changes.push(change);
            net.between.push((first, last));
        }
    }
    net
}
