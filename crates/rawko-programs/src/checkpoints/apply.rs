//! Changes the project's files to given states: an undo, a redo or a merge. What will be done is on disk first, so that
//! a killed process is completed by the next one; the history has an entry for it, so that it can be undone.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::log::RevertIntent;
use super::names::real_path;
use super::open_below::Root;
use super::record::{Checkpoints, TreeMemory};
use super::scan::mark_now;
use super::vault::Vault;
use super::{ChangeAuthor, HistoryEntry, NetChanges, PathChange, PathKind, PathState};

/// A completed change of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedChange {
    /// `None` if the files were in that state already.
    pub entry: Option<HistoryEntry>,
    /// Ignored files that stay as they are: others changed them since, or their contents are not stored.
    pub skipped: Vec<String>,
}

/// The reason why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// These files are not in the expected state.
    #[error("changed since: {}", .0.join(", "))]
    Conflicts(Vec<String>),
    /// The contents of these files are not known: too large to store, or damaged.
    #[error("the contents are not stored: {}", .0.join(", "))]
    Missing(Vec<String>),
    /// Other things are in the place of these paths or of directories above them, and not even a forced change removes those.
    #[error("other files are in the way of {}; move them away first", .0.join(", "))]
    Blocked(Vec<String>),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Checkpoints {
    /// Restores the state before net changes.
    pub async fn revert(
        &self,
        net: &NetChanges,
        author: &ChangeAuthor,
        is_forced: bool,
    ) -> Result<AppliedChange, ApplyError> {
        if let (Some(_), false) = (net.mixed.first(), is_forced) {
            return Err(ApplyError::Conflicts(net.mixed.clone()));
        }
        let old = net.changes.iter().zip(&net.between);
        let old = old.filter_map(|(it, (first, _))| Some((it.path.clone(), it.before.clone()?, first - 1)));
        let lost = self.fetch(&old.collect::<Vec<_>>()).await?;
        if !lost.is_empty() {
            return Err(ApplyError::Missing(lost));
        }
        let back = |change: &PathChange| PathChange {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
        };
        let mut wanted: Vec<PathChange> = net.changes.iter().map(back).collect();
        // Ignored files that others changed since stay as they are.
        let ignored = self.restorable(&net.ignored, is_forced)?;
        let root = Root::open(&self.root)?;
        let is_back =
            |change: &PathChange| mark_now(&self.root, &root, &real_path(&change.path)) == change.before;
        let is_taken = |path: &str| ignored.iter().any(|change| change.path == path);
        let skipped = net.ignored.iter().filter(|change| !is_taken(&change.path) && !is_back(change));
        let skipped: Vec<String> = skipped.map(|change| change.path.clone()).collect();
        wanted.extend(ignored);
        wanted.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(AppliedChange { skipped, ..self.apply(wanted, author, is_forced).await? })
    }

    /// Stores contents that a later [`Checkpoints::apply`] needs.
    pub fn keep(&self, mark: &PathState, body: &[u8]) -> io::Result<()> {
        self.vault.put(&mark.hash, body)
    }

    /// Changes files from their expected state (`before`) to another (`after`), all or none.
    pub async fn apply(
        &self,
        wanted: Vec<PathChange>,
        author: &ChangeAuthor,
        is_forced: bool,
    ) -> Result<AppliedChange, ApplyError> {
        let mut held = self.hold().await?;
        self.catch_up(&mut held.memory).await?;
        let root = Root::open(&self.root)?;
        let (mut plan, mut conflicts, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for change in wanted {
            let now = mark_now(&self.root, &root, &real_path(&change.path));
            if now == change.after {
                continue;
            }
            if !is_same(&now, &change.before) {
                conflicts.push(change.path.clone());
            }
            let is_stored = |mark: &PathState| match mark.kind {
                PathKind::Directory => true,
                PathKind::Opaque => false,
                PathKind::File | PathKind::Link => self.vault.get(&mark.hash).is_some(),
            };
            if !change.after.as_ref().is_none_or(is_stored) {
                missing.push(change.path.clone());
            }
            plan.push(PathChange { before: now, ..change });
        }
        if !conflicts.is_empty() && !is_forced {
            return Err(ApplyError::Conflicts(conflicts));
        }
        if !missing.is_empty() {
            return Err(ApplyError::Missing(missing));
        }
        if plan.is_empty() {
            return Ok(AppliedChange::default());
        }
        let blocked = blocked(&self.root, &plan);
        if !blocked.is_empty() {
            return Err(ApplyError::Blocked(blocked));
        }
        self.log.set_intent(&RevertIntent { author: author.clone(), changes: plan })?;
        let entry = self.settle(&mut held.memory).await?;
        Ok(AppliedChange { entry, ..AppliedChange::default() })
    }

    /// Completes a change that was begun, by this process or one that was killed.
    pub(super) async fn settle(&self, memory: &mut TreeMemory) -> io::Result<Option<HistoryEntry>> {
        let Some(intent) = self.log.intent()? else { return Ok(None) };
        let (at, vault, changes) = (self.root.clone(), self.vault.clone(), intent.changes);
        tokio::task::spawn_blocking(move || perform(&at, &vault, &changes)).await??;
        let entry = self.advance(memory, &intent.author).await?;
        self.log.end_intent()?;
        Ok(entry)
    }
}

/// Changes files of a copy of the project, with contents that were kept.
pub(crate) async fn apply_copy(history: &Checkpoints, at: &Path, changes: Vec<PathChange>) -> io::Result<()> {
    let (at, vault) = (at.to_owned(), history.vault.clone());
    tokio::task::spawn_blocking(move || perform(&at, &vault, &changes)).await?
}

/// Directories are the same with any permissions.
fn is_same(one: &Option<PathState>, other: &Option<PathState>) -> bool {
    let kind = |mark: &Option<PathState>| mark.as_ref().map(|mark| mark.kind);
    one == other || (kind(one) == Some(PathKind::Directory) && kind(other) == Some(PathKind::Directory))
}

/// Returns the paths that cannot be written: below something that is no directory and stays, or in the place of a
/// directory with files that stay. Checked before the intent is on disk, because an intent is always completed.
fn blocked(at: &Path, plan: &[PathChange]) -> Vec<String> {
    let after = |change: &PathChange| {
        let kind = change.after.as_ref().map(|mark| mark.kind);
        (real_path(&change.path), kind)
    };
    let planned: BTreeMap<PathBuf, Option<PathKind>> = plan.iter().map(after).collect();
    let kind = |path: &Path| at.join(path).symlink_metadata().ok().map(|about| about.file_type());
    let gives_way = |path: &Path| matches!(planned.get(path), Some(None | Some(PathKind::Directory)));
    let is_blocked = |change: &&PathChange| {
        let Some(mark) = &change.after else { return false };
        let path = real_path(&change.path);
        let mut above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        if above.any(|above| kind(above).is_some_and(|kind| !kind.is_dir()) && !gives_way(above)) {
            return true;
        }
        let is_directory = kind(&path).is_some_and(|kind| kind.is_dir());
        is_directory && mark.kind != PathKind::Directory && !is_emptied(at, &path, &planned)
    };
    plan.iter().filter(is_blocked).map(|change| change.path.clone()).collect()
}

/// Returns true if the plan removes everything in a directory.
fn is_emptied(at: &Path, directory: &Path, planned: &BTreeMap<PathBuf, Option<PathKind>>) -> bool {
    let mut pending = vec![directory.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(at.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if planned.get(&path) != Some(&None) {
                return false;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            }
        }
    }
    true
}

/// Ignores that something else was put in the place of a path meanwhile: it stays.
fn unless_taken(done: io::Result<()>) -> io::Result<()> {
    use rustix::io::Errno;
    let is_taken = |error: &io::Error| {
        let taken = [Errno::NOTDIR, Errno::ISDIR, Errno::NOTEMPTY, Errno::EXIST, Errno::LOOP];
        Errno::from_io_error(error).is_some_and(|errno| taken.contains(&errno))
    };
    match done {
        Err(error) if is_taken(&error) => Ok(()),
        done => done,
    }
}

/// Brings paths into their state `after`. Can be repeated: paths that are done stay as they are, and so do files that
/// were changed again since.
fn perform(at: &Path, vault: &Vault, changes: &[PathChange]) -> io::Result<()> {
    let root = Root::open(at)?;
    let now = |change: &PathChange| mark_now(at, &root, &real_path(&change.path));
    let is_free = |change: &PathChange| {
        let now = now(change);
        now.is_none() || is_same(&now, &change.before) || now == change.after
    };
    let changes: Vec<&PathChange> = changes.iter().filter(|change| is_free(change)).collect();
    // The deepest first: a directory is empty once its files are gone.
    for change in changes.iter().rev() {
        let kind = |mark: &Option<PathState>| mark.as_ref().map(|mark| mark.kind);
        let (is, to) = (kind(&now(change)), kind(&change.after));
        match is {
            Some(PathKind::Directory) if to != is => {
                match fs::remove_dir(root.parent(&real_path(&change.path))?.path()) {
                    // Something else was put there.
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                    done => done?,
                }
            }
            Some(PathKind::File | PathKind::Link | PathKind::Opaque)
                if to.is_none() || to == Some(PathKind::Directory) =>
            {
                fs::remove_file(root.parent(&real_path(&change.path))?.path())?;
            }
            _ => {}
        }
    }
    let modes = changes.iter().filter_map(|change| {
        let mark = change.after.as_ref().filter(|mark| mark.kind == PathKind::Directory)?;
        Some((real_path(&change.path), mark.mode))
    });
    let modes: Vec<(PathBuf, u32)> = modes.collect();
    for (path, _) in &modes {
        unless_taken(root.make_directories(path))?;
    }
    for change in &changes {
        match &change.after {
            Some(mark) if matches!(mark.kind, PathKind::File | PathKind::Link) => {
                unless_taken(write(&root, vault, change, mark))?;
            }
            _ => {}
        }
    }
    let is_there =
        |path: &PathBuf| mark_now(at, &root, path).is_some_and(|mark| mark.kind == PathKind::Directory);
    for (path, mode) in modes.iter().rev().filter(|(path, _)| is_there(path)) {
        fs::set_permissions(root.parent(path)?.path(), Permissions::from_mode(*mode))?;
    }
    Ok(())
}

fn write(root: &Root, vault: &Vault, change: &PathChange, mark: &PathState) -> io::Result<()> {
    let path = real_path(&change.path);
    let lost =
        || io::Error::new(io::ErrorKind::NotFound, format!("the contents of {} are lost", change.path));
    let body = vault.get(&mark.hash).ok_or_else(lost)?;
    if let Some(above) = path.parent() {
        root.make_directories(above)?;
    }
    root.parent(&path)?.put(|draft| match mark.kind {
        PathKind::Link => symlink(Path::new(std::ffi::OsStr::from_bytes(&body)), draft),
        PathKind::File | PathKind::Opaque | PathKind::Directory => {
            fs::write(draft, &body)?;
            fs::set_permissions(draft, Permissions::from_mode(mark.mode))
        }
    })
}
