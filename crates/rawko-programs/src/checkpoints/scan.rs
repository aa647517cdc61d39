//! Reads a tree: the marks of all files that git would not ignore. Unchanged files are recognised by their times, as in
//! git's index, so that a scan after every call is cheap.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rawko_tools::IgnoreRules;

use super::names::{name_of, real_path};
use super::open_below::{DRAFT, Root};
use super::vault::content_hash;
use super::{Manifest, PathKind, PathState};
use crate::checks::is_generated;

/// Larger files are not stored.
pub(super) const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// A tree with more files or bytes has no checkpoints: taking one after every call would take longer than the call.
const FILES_MAX: usize = 250_000;
const TREE_BYTES_MAX: u64 = 8 << 30;
/// A file that changed this recently may change again without a new time.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// What a scan leaves out, and adds.
#[derive(Clone, Debug, Default)]
pub(super) struct ScanScope {
    /// Absolute paths.
    pub(super) excluded: Vec<PathBuf>,
    /// Files that git has, or that the history has, although git would ignore them now; relative to the root.
    pub(super) tracked: Vec<PathBuf>,
    /// True if `.gitignore` files above the root apply.
    pub(super) has_parents: bool,
    /// The project of a copy: `.gitignore` files above the project apply to its copies.
    pub(super) project: Option<PathBuf>,
}

/// Hashes of unchanged files.
#[derive(Debug, Default)]
pub(super) struct StatCache(HashMap<String, (FileStamp, String)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    pub(super) fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let changed = Duration::from_secs(u64::try_from(self.changed.0).unwrap_or(u64::MAX));
        now.saturating_sub(SETTLED_AFTER) > changed
    }
}

pub(super) fn scan(at: &Path, root: &Root, scope: &ScanScope, cache: &mut StatCache) -> io::Result<Manifest> {
    let (mut files, mut bytes) = (Manifest::new(), 0);
    for entry in walk(at, scope).flatten().filter(|entry| entry.depth() > 0) {
        let Ok(path) = entry.path().strip_prefix(at) else { continue };
        bytes += add(at, root, path, cache, &mut files);
        if files.len() > FILES_MAX || bytes > TREE_BYTES_MAX {
            let most = TREE_BYTES_MAX >> 30;
            let message = format!(
                "the project has more than {FILES_MAX} files or {most} GiB that git does not ignore; list what is \
                 generated in .gitignore"
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
    }
    for path in &scope.tracked {
        if files.contains_key(&name_of(path))
            || is_own(path)
            || scope.excluded.iter().any(|excluded| at.join(path).starts_with(excluded))
        {
            continue;
        }
        let above: Vec<&Path> =
            path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        // A directory that became a link holds nothing of this tree.
        let is_direct = |path: &&Path| at.join(path).symlink_metadata().is_ok_and(|about| about.is_dir());
        if above.iter().all(is_direct) {
            for path in above {
                add(at, root, path, cache, &mut files);
            }
            add(at, root, path, cache, &mut files);
        }
    }
    Ok(files)
}

/// Adds a path that is not there yet. Returns its size.
fn add(at: &Path, root: &Root, path: &Path, cache: &mut StatCache, files: &mut Manifest) -> u64 {
    let name = name_of(path);
    if files.contains_key(&name) {
        return 0;
    }
    let Ok(about) = at.join(path).symlink_metadata() else { return 0 };
    let Some(mark) = mark(at, root, path, &about, Some((&name, cache))) else { return 0 };
    let stored = if mark.kind == PathKind::Opaque { 0 } else { mark.size };
    files.insert(name, mark);
    stored
}

/// Returns the mark of a path; `None` for pipes, sockets and devices, and for a path that is gone.
fn mark(
    at: &Path,
    root: &Root,
    path: &Path,
    about: &Metadata,
    cached: Option<(&str, &mut StatCache)>,
) -> Option<PathState> {
    let mode = about.mode() & 0o7777;
    if about.is_dir() {
        return Some(PathState { kind: PathKind::Directory, mode, size: 0, hash: String::new() });
    }
    if about.is_symlink() {
        let target = std::fs::read_link(at.join(path)).ok()?;
        return Some(link_mark(&target));
    }
    if !about.is_file() {
        return None;
    }
    let stamp = FileStamp::of(about);
    if let Some((name, cache)) = &cached
        && let Some((_, hash)) = cache.0.get(*name).filter(|(known, _)| *known == stamp)
    {
        return Some(PathState { kind: PathKind::File, mode, size: stamp.size, hash: hash.clone() });
    }
    if stamp.size > FILE_BYTES_MAX {
        return Some(opaque_mark(about));
    }
    match body(root, path) {
        Ok(body) => {
            let hash = content_hash(&body);
            if let Some((name, cache)) = cached.filter(|_| stamp.is_settled()) {
                cache.0.insert(name.to_owned(), (stamp, hash.clone()));
            }
            Some(PathState { kind: PathKind::File, mode, size: body.len() as u64, hash })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => Some(opaque_mark(about)),
    }
}

/// Returns the mark of a path, without the contents of a larger file.
pub(super) fn mark_small(
    at: &Path,
    root: &Root,
    path: &Path,
    cache: &mut StatCache,
    bytes_max: u64,
) -> Option<PathState> {
    let about = at.join(path).symlink_metadata().ok()?;
    if about.is_file() && about.size() > bytes_max {
        return Some(opaque_mark(&about));
    }
    mark(at, root, path, &about, Some((&name_of(path), cache)))
}

fn opaque_mark(about: &Metadata) -> PathState {
    let stamp = FileStamp::of(about);
    let hash = format!("{}.{}", stamp.modified.0, stamp.modified.1);
    PathState { kind: PathKind::Opaque, mode: about.mode() & 0o7777, size: stamp.size, hash }
}

pub(super) fn link_mark(target: &Path) -> PathState {
    let target = target.as_os_str().as_bytes();
    PathState { kind: PathKind::Link, mode: 0, size: target.len() as u64, hash: content_hash(target) }
}

/// Returns the mark of one path now, without a cache. Nothing of the tree is below a link.
pub(super) fn mark_now(at: &Path, root: &Root, path: &Path) -> Option<PathState> {
    let is_direct = |above: &Path| at.join(above).symlink_metadata().is_ok_and(|about| about.is_dir());
    if !path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).all(is_direct) {
        return None;
    }
    let about = at.join(path).symlink_metadata().ok()?;
    mark(at, root, path, &about, None)
}

/// Returns the contents of a file or the target of a link, with its mark: it may have changed since it was marked.
pub(super) fn read(at: &Path, root: &Root, path: &Path) -> Option<(PathState, Vec<u8>)> {
    let about = at.join(path).symlink_metadata().ok()?;
    if about.is_symlink() {
        let target = std::fs::read_link(at.join(path)).ok()?;
        return Some((link_mark(&target), target.as_os_str().as_bytes().to_vec()));
    }
    let body = about.is_file().then(|| body(root, path).ok()).flatten()?;
    let (mode, size) = (about.mode() & 0o7777, body.len() as u64);
    Some((PathState { kind: PathKind::File, mode, size, hash: content_hash(&body) }, body))
}

fn body(root: &Root, path: &Path) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    root.file(path)?.take(FILE_BYTES_MAX).read_to_end(&mut body)?;
    Ok(body)
}

fn walk(at: &Path, scope: &ScanScope) -> ignore::Walk {
    let mut walk = ignore::WalkBuilder::new(at);
    walk.require_git(false).hidden(false).ignore(false).parents(scope.has_parents);
    walk.sort_by_file_name(|one, other| one.cmp(other));
    let mut rules = IgnoreRules::of_walk(&mut walk, at, false, scope.has_parents);
    if let Some(project) = &scope.project {
        rules = rules.of_copy(project);
    }
    let (excluded, at) = (scope.excluded.clone(), at.to_owned());
    walk.filter_entry(move |entry| {
        let is_excluded = excluded.iter().any(|path| path == entry.path());
        let path = entry.path().strip_prefix(&at).unwrap_or(entry.path());
        !is_excluded && !is_own(path) && !is_generated(entry.file_name()) && !rules.is_ignored(entry)
    });
    walk.build()
}

/// Returns true for a path that no scan looks at.
pub(super) fn is_left_out(at: &Path, path: &Path, scope: &ScanScope) -> bool {
    let full = at.join(path);
    scope.excluded.iter().any(|excluded| full.starts_with(excluded))
        || is_own(path)
        || path.file_name().is_some_and(is_generated)
}

/// Returns true for files of git and rawko.
fn is_own(path: &Path) -> bool {
    path.starts_with(".rawko")
        || path.components().any(|part| part.as_os_str() == ".git")
        || path.as_os_str().as_bytes().ends_with(DRAFT.as_bytes())
}

/// Returns the files of a copy of a project. Files of its beginning belong to it even if a rule hides them, because git had
/// them before, or because the rule is new: a merge removes every file from the project that is missing here.
pub(crate) fn scan_copy(at: &Path, project: Option<&Path>, beginning: &Manifest) -> io::Result<Manifest> {
    let scope = ScanScope {
        tracked: beginning.keys().map(|name| real_path(name)).collect(),
        project: project.map(Path::to_owned),
        ..ScanScope::default()
    };
    scan(at, &Root::open(at)?, &scope, &mut StatCache::default())
}

/// Returns the contents of a file or the target of a link in a copy; `None` if there is neither.
pub(crate) fn read_copy(at: &Path, path: &Path) -> io::Result<Option<Vec<u8>>> {
    Ok(read(at, &Root::open(at)?, path).map(|(_, body)| body))
}

/// Returns the mark of a file with these contents.
pub(crate) fn content_mark(body: &[u8], mode: u32) -> PathState {
    PathState { kind: PathKind::File, mode, size: body.len() as u64, hash: content_hash(body) }
}
