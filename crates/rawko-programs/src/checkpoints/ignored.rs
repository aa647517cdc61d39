//! Files that git ignores, such as local settings: an undo restores them, but they are in no commit, no diff and no
//! worktree. An ignored directory counts as long as it is small: a large one holds build output or installed packages.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::names::{exists, name_of, real_path};
use super::open_below::Root;
use super::record::{Checkpoints, TreeMemory, differences};
use super::scan::{ScanScope, StatCache, is_left_out, mark_now, mark_small, read};
use super::{ChangeAuthor, EntryKind, Manifest, PathChange, PathKind, PathState};

/// Larger ones are known by their size and time only.
pub(super) const IGNORED_BYTES_MAX: u64 = 1 << 20;
/// With more of them beside other files none is kept: they are generated.
const IGNORED_FILES_MAX: usize = 1_000;
/// Bounds of one ignored directory, and of all of them. The contents of a larger one are not known.
const DIRECTORY_BOUND: IgnoredBound = IgnoredBound { paths: 200, bytes: 4 << 20 };
const DIRECTORIES_BOUND: IgnoredBound = IgnoredBound { paths: 1_000, bytes: 16 << 20 };
/// The mark of a directory whose contents are not known.
const UNKNOWN: &str = "directory";

#[derive(Clone, Copy, Debug)]
struct IgnoredBound {
    paths: usize,
    bytes: u64,
}

impl IgnoredBound {
    /// Subtracts; `None` if it is exceeded.
    fn less(self, paths: usize, bytes: u64) -> Option<Self> {
        let paths = self.paths.checked_sub(paths)?;
        Some(Self { paths, bytes: self.bytes.checked_sub(bytes)? })
    }
}

/// Returns the ignored files of a tree; `None` if there are too many beside others.
pub(super) fn scan_ignored(
    at: &Path,
    root: &Root,
    scope: &ScanScope,
    cache: &mut StatCache,
    files: &Manifest,
) -> Option<Manifest> {
    let (mut found, mut folders) = (Manifest::new(), Vec::new());
    let directories = files.iter().filter(|(_, mark)| mark.kind == PathKind::Directory);
    let directories = std::iter::once(Path::new("").to_owned()).chain(directories.map(|it| real_path(it.0)));
    for directory in directories {
        for entry in std::fs::read_dir(at.join(&directory)).into_iter().flatten().flatten() {
            let path = directory.join(entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if files.contains_key(&name_of(&path)) || is_left_out(at, &path, scope) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            if !kind.is_file() && !kind.is_symlink() {
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
    folders.sort();
    let mut left = DIRECTORIES_BOUND;
    for folder in folders {
        let within = scan_folder(at, root, scope, cache, &folder);
        let bytes =
            |within: &Manifest| -> u64 { within.values().map(|mark| mark.size.min(IGNORED_BYTES_MAX)).sum() };
        match within.and_then(|within| Some((left.less(within.len(), bytes(&within))?, within))) {
            Some((rest, within)) => {
                left = rest;
                found.extend(within);
            }
            None => found.extend(unknown_mark(at, &folder).map(|mark| (name_of(&folder), mark))),
        }
    }
    Some(found)
}

/// Returns an ignored directory with everything in it; `None` if it is too large.
fn scan_folder(
    at: &Path,
    root: &Root,
    scope: &ScanScope,
    cache: &mut StatCache,
    folder: &Path,
) -> Option<Manifest> {
    let mut found = Manifest::new();
    let (mut left, mut pending) = (DIRECTORY_BOUND, vec![folder.to_owned()]);
    while let Some(path) = pending.pop() {
        let about = at.join(&path).symlink_metadata().ok()?;
        left = left.less(1, if about.is_file() { about.len().min(IGNORED_BYTES_MAX) } else { 0 })?;
        if about.is_dir() {
            let within = std::fs::read_dir(at.join(&path)).ok()?.flatten();
            let within = within.map(|entry| path.join(entry.file_name()));
            pending.extend(within.filter(|path| !is_left_out(at, path, scope)).take(left.paths + 1));
        }
        let mark = mark_small(at, root, &path, cache, IGNORED_BYTES_MAX);
        found.extend(mark.map(|mark| (name_of(&path), mark)));
    }
    Some(found)
}

fn unknown_mark(at: &Path, folder: &Path) -> Option<PathState> {
    let about = at.join(folder).symlink_metadata().ok()?;
    let mode = std::os::unix::fs::MetadataExt::mode(&about) & 0o7777;
    Some(PathState { kind: PathKind::Opaque, mode, size: 0, hash: UNKNOWN.to_owned() })
}

fn is_unknown(mark: &PathState) -> bool {
    mark.kind == PathKind::Opaque && mark.hash == UNKNOWN
}

/// The recorded past of a path that git did not show so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IgnoredPast {
    /// It did not exist.
    Absent,
    /// It had this state.
    Known(PathState),
    /// It may have existed: its directory was too large to be read.
    Unknown,
}

pub(super) fn past_of(known: &Manifest, name: &str) -> IgnoredPast {
    if let Some(mark) = known.get(name) {
        let is_stored = mark.kind != PathKind::Opaque;
        return if is_stored { IgnoredPast::Known(mark.clone()) } else { IgnoredPast::Unknown };
    }
    let path = real_path(name);
    let mut above = path.ancestors().skip(1).filter_map(|above| known.get(&name_of(above)));
    if above.any(is_unknown) { IgnoredPast::Unknown } else { IgnoredPast::Absent }
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
            (None, Some(_)) => {
                tree.is_some_and(|tree| tree.files.contains_key(&change.path))
                    || known.as_ref().is_some_and(|known| past_of(known, &change.path) != IgnoredPast::Absent)
            }
            // A directory that became large, or small.
            (Some(before), Some(after)) => is_unknown(before) || is_unknown(after),
            (None, None) => false,
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

    /// Removes changes that are none: a changed `.gitignore` shows files that existed before the call, and its undo must
    /// not remove them. A file that the call changed as well gets its past state.
    pub(super) fn take_revealed(
        &self,
        memory: &TreeMemory,
        changes: &mut Vec<PathChange>,
        author: &ChangeAuthor,
        earlier: Option<SystemTime>,
    ) -> Vec<PathChange> {
        let known = memory.tree.as_ref().and_then(|tree| tree.ignored.as_ref());
        let is_revealed = |change: &mut PathChange| {
            if change.before.is_some() {
                return false;
            }
            match known.map(|known| past_of(known, &change.path)) {
                Some(IgnoredPast::Absent) => false,
                Some(IgnoredPast::Unknown) => true,
                Some(IgnoredPast::Known(mark)) if change.after.as_ref() == Some(&mark) => true,
                Some(IgnoredPast::Known(mark)) => {
                    change.before = Some(mark);
                    false
                }
                None => author.kind == EntryKind::Call && is_older(&self.root, &change.path, earlier),
            }
        };
        changes.extract_if(.., is_revealed).collect()
    }

    /// Returns the changes that restore ignored files, as far as they are as the last of these entries left them.
    pub(super) fn restorable(&self, ignored: &[PathChange], is_forced: bool) -> io::Result<Vec<PathChange>> {
        let root = Root::open(&self.root)?;
        let is_known = |mark: &PathState| {
            mark.kind == PathKind::Directory || (is_stored_kind(mark) && self.vault.get(&mark.hash).is_some())
        };
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

/// Returns true if a path has not changed since a time.
fn is_older(root: &Path, name: &str, time: Option<SystemTime>) -> bool {
    use std::os::unix::fs::MetadataExt;
    let about = root.join(real_path(name)).symlink_metadata();
    let (Ok(about), Some(time)) = (about, time) else { return false };
    let Ok(seconds) = u64::try_from(about.ctime()) else { return false };
    let nanos = u32::try_from(about.ctime_nsec()).unwrap_or(0);
    // The kernel's clock for files lags behind by some milliseconds.
    UNIX_EPOCH + Duration::new(seconds, nanos) + Duration::from_millis(20) < time
}
