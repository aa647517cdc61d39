//! Files that git ignores, such as local settings: an undo restores them, but they are in no commit, no diff and no
//! worktree. Only files beside others count: an ignored directory holds build output or installed packages.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::names::{exists, name_of, real_path};
use super::open_below::Root;
use super::record::{Checkpoints, TreeMemory, differences};
use super::scan::{ScanScope, StatCache, is_left_out, mark_now, mark_small, read};
use super::{HistoryEntry, Manifest, PathChange, PathKind, PathState};

/// Larger ones are known by their size and time only.
pub(super) const IGNORED_BYTES_MAX: u64 = 1 << 20;
/// With more of them none is kept: they are generated.
const IGNORED_FILES_MAX: usize = 1_000;

/// Returns the ignored files beside those of a tree; `None` if there are too many.
pub(super) fn scan_ignored(
    at: &Path,
    root: &Root,
    scope: &ScanScope,
    cache: &mut StatCache,
    files: &Manifest,
) -> Option<Manifest> {
    let mut found = Manifest::new();
    let directories = files.iter().filter(|(_, mark)| mark.kind == PathKind::Directory);
    let directories = std::iter::once(Path::new("").to_owned()).chain(directories.map(|it| real_path(it.0)));
    for directory in directories {
        for entry in std::fs::read_dir(at.join(&directory)).into_iter().flatten().flatten() {
            let path = directory.join(entry.file_name());
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink());
            if !is_file || files.contains_key(&name_of(&path)) || is_left_out(at, &path, scope) {
                continue;
            }
            found.extend(
                mark_small(at, root, &path, cache, IGNORED_BYTES_MAX).map(|mark| (name_of(&path), mark)),
            );
            if found.len() > IGNORED_FILES_MAX {
                return None;
            }
        }
    }
    Some(found)
}

impl Checkpoints {
    /// Stores the contents of ignored files that are new or changed, and remembers them. Returns the changes.
    pub(super) async fn take_ignored(
        &self,
        memory: &mut TreeMemory,
        found: Option<Manifest>,
        root: &Arc<Root>,
    ) -> io::Result<Vec<PathChange>> {
        let tree = memory.tree.as_ref();
        let known = tree.and_then(|tree| tree.ignored.clone());
        let mut now = found;
        let none = Manifest::new();
        let mut changes =
            now.as_ref().map_or_else(Vec::new, |now| differences(known.as_ref().unwrap_or(&none), now));
        // Files that git ignores from now on, or does not ignore any more, are the same as before.
        let is_moved = |change: &PathChange| match (&change.before, &change.after) {
            (Some(_), None) => exists(&self.root, &change.path),
            (None, Some(_)) => tree.is_some_and(|tree| tree.files.contains_key(&change.path)),
            _ => false,
        };
        let is_content = |change: &PathChange| change.after.as_ref().is_some_and(is_stored_kind);
        let written: Vec<String> =
            changes.iter().filter(|it| is_content(it)).map(|it| it.path.clone()).collect();
        if !written.is_empty() {
            let (at, root, vault) = (self.root.clone(), Arc::clone(root), self.vault.clone());
            let stored = tokio::task::spawn_blocking(move || {
                let mut marks = BTreeMap::new();
                for name in written {
                    let found = read(&at, &root, &real_path(&name));
                    if let Some((mark, body)) = found {
                        vault.put(&mark.hash, &body)?;
                        marks.insert(name, mark);
                    }
                }
                Ok::<_, io::Error>(marks)
            });
            // A file may have changed since it was marked.
            for (name, mark) in stored.await?? {
                if let Ok(place) = changes.binary_search_by(|change| change.path.cmp(&name)) {
                    changes[place].after = Some(mark.clone());
                }
                now.iter_mut().for_each(|now| drop(now.insert(name.clone(), mark.clone())));
            }
        }
        changes.retain(|change| known.is_some() && !is_moved(change) && change.before != change.after);
        memory.ignored = now;
        Ok(changes)
    }

    /// Keeps the ignored files as they are now, without an entry.
    pub(super) fn remember_ignored(&self, memory: &mut TreeMemory) -> io::Result<()> {
        let Some(tree) = memory.tree.as_mut().filter(|tree| tree.ignored != memory.ignored) else {
            return Ok(());
        };
        tree.ignored.clone_from(&memory.ignored);
        self.log.set_tree(tree)
    }

    /// Returns the changes that restore ignored files, as far as they are as the last of these entries left them.
    pub(super) fn restorable(&self, ignored: &[PathChange], is_forced: bool) -> io::Result<Vec<PathChange>> {
        let root = Root::open(&self.root)?;
        let is_known = |mark: &PathState| is_stored_kind(mark) && self.vault.get(&mark.hash).is_some();
        let is_free = |change: &&PathChange| {
            is_forced || mark_now(&self.root, &root, &real_path(&change.path)) == change.after
        };
        let back = |change: &PathChange| PathChange {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
        };
        let free =
            ignored.iter().filter(|change| change.before.as_ref().is_none_or(is_known)).filter(is_free);
        Ok(free.map(back).collect())
    }
}

fn is_stored_kind(mark: &PathState) -> bool {
    matches!(mark.kind, PathKind::File | PathKind::Link)
}

/// Returns the net changes of ignored files by the chosen entries, without those that others changed in between.
pub(super) fn net_ignored(
    entries: &[HistoryEntry],
    is_chosen: impl Fn(&HistoryEntry) -> bool,
) -> Vec<PathChange> {
    let mut paths: BTreeMap<&str, (PathChange, bool)> = BTreeMap::new();
    let begun = entries.iter().skip_while(|entry| !is_chosen(entry));
    for entry in begun {
        for change in &entry.ignored {
            let known = paths.get_mut(&*change.path);
            match (known, is_chosen(entry)) {
                (Some((net, is_own)), true) => {
                    *is_own &= net.after == change.before;
                    net.after.clone_from(&change.after);
                }
                (None, true) => drop(paths.insert(&change.path, (change.clone(), true))),
                (_, false) => {}
            }
        }
    }
    let own = paths.into_values().filter(|(net, is_own)| *is_own && net.before != net.after);
    own.map(|(net, _)| net).collect()
}
