//! The net effect of some entries: what an instance changed, with its intermediate states left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{HistoryEntry, PathChange, PathKind};

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

struct PathHistory {
    net: PathChange,
    first: u64,
    last: u64,
    /// False if git ignored it all the time.
    is_shown: bool,
    /// False if others changed it in between, as the states tell.
    is_own: bool,
}

/// Returns the net changes of the chosen entries. A path that git ignored for a part of the time is one path.
pub fn net_changes(entries: &[HistoryEntry], is_chosen: impl Fn(&HistoryEntry) -> bool) -> NetChanges {
    let mut paths: BTreeMap<&str, PathHistory> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| is_chosen(entry)) {
        let shown = entry.changes.iter().map(|change| (change, true));
        for (change, is_shown) in shown.chain(entry.ignored.iter().map(|change| (change, false))) {
            let known = paths.entry(&change.path).or_insert_with(|| PathHistory {
                net: PathChange { after: change.before.clone(), ..change.clone() },
                first: entry.number,
                last: entry.number,
                is_shown: false,
                is_own: true,
            });
            known.is_own &= known.net.after == change.before;
            known.net.after.clone_from(&change.after);
            known.last = entry.number;
            known.is_shown |= is_shown;
        }
    }
    let mut net = NetChanges::default();
    for entry in entries.iter().filter(|entry| !is_chosen(entry) && !entry.author.is_reveal()) {
        for change in &entry.changes {
            let is_between = paths
                .get(&*change.path)
                .is_some_and(|path| path.first < entry.number && entry.number < path.last);
            if is_between && !net.mixed.contains(&change.path) {
                net.mixed.push(change.path.clone());
            }
        }
    }
    for path in paths.into_values().filter(|path| path.net.before != path.net.after) {
        if path.is_shown {
            // A person changed it while git ignored it, which is not recorded.
            if !path.is_own && !net.mixed.contains(&path.net.path) {
                net.mixed.push(path.net.path.clone());
            }
            net.changes.push(path.net);
            net.between.push((path.first, path.last));
        } else if path.is_own {
            net.ignored.push(path.net);
        }
    }
    net
}

/// Returns paths whose author is not known: calls of these instances and of others changed them at the same time.
pub fn shared_paths(
    entries: &[HistoryEntry],
    is_chosen: impl Fn(&HistoryEntry) -> bool,
    is_within: impl Fn(&str) -> bool,
) -> Vec<String> {
    let is_shared = |entry: &&HistoryEntry| match is_chosen(entry) {
        true => entry.others.iter().any(|instance| !is_within(instance)),
        false => {
            let is_foreign = !is_within(&entry.author.instance);
            is_foreign && entry.others.iter().any(|instance| is_within(instance))
        }
    };
    let changes = entries.iter().filter(is_shared).flat_map(|entry| &entry.changes);
    let is_file = |change: &&PathChange| {
        [&change.before, &change.after].into_iter().flatten().any(|mark| mark.kind != PathKind::Directory)
    };
    let paths: BTreeSet<&String> = changes.filter(is_file).map(|change| &change.path).collect();
    paths.into_iter().cloned().collect()
}
