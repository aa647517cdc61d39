//! Moves the state of earlier releases, `.rawko/state` in the project, to the user's state directory. Only on first use,
//! and only a store of the user: a cloned repository must not bring instances along.

use std::fs;
use std::path::{Path, PathBuf};

use rawko_settings::{StateDir, make_private};
use rawko_store::{Lock, LockHolder, SqliteStore, StoreError};

use super::nested;
use crate::failure::CommandFailure;
use crate::files;
use crate::times;

const OLD_DIR: &str = ".rawko/state";
const STORE_FILE: &str = "rawko.db";
/// Files that only served the old location.
const REMAINS: [&str; 6] =
    ["rawko.db-wal", "rawko.db-shm", "rawko.db-end", "rawko.db.lock", "host.sock", ".gitignore"];

/// Returns the old store in the project if it is not used, for `doctor`.
pub(crate) fn leftover(root: &Path, store: &Path) -> Option<PathBuf> {
    let old = root.join(OLD_DIR).join(STORE_FILE);
    let is_used = old.canonicalize().ok()? == store.canonicalize().unwrap_or_default();
    (!is_used).then_some(old)
}

/// Moves a project's old state to `store`, unless a store exists there.
pub(crate) fn move_in(root: &Path, state: &StateDir, store: &Path) -> Result<(), CommandFailure> {
    let old_dir = root.join(OLD_DIR);
    let old = old_dir.join(STORE_FILE);
    if fs::symlink_metadata(&old).is_err() || store.exists() || nested::is_within_call() {
        return Ok(());
    }
    refuse_foreign(root, &old)?;
    let target = store.parent().unwrap_or(state.path());
    let cannot = |why: String| {
        let (old, help) = (files::shown(&old), "pass `--store` to use it where it is");
        CommandFailure::Failed(format!("cannot move `{old}` to {}: {why}; {help}", target.display()))
    };
    state.make().and_then(|()| make_private(target)).map_err(|error| cannot(error.to_string()))?;
    // Both are held, so that no host of either place runs, and no other process moves it.
    let _held = [hold(&old)?, hold(store)?];
    if store.exists() {
        return Ok(());
    }
    match SqliteStore::relocate(&old, store) {
        Err(StoreError::Io(_)) if store.exists() => {}
        Err(error) => return Err(cannot(error.to_string())),
        Ok(()) => {}
    }
    bring_the_rest(&old_dir, target);
    let text = format!("{} → {}", files::shown(&old_dir), target.display());
    announce(&format!("the state of this project: {text}"));
    Ok(())
}

#[cfg(feature = "cli")]
fn announce(text: &str) {
    crate::console::announce(&format!("moved: {text}"));
}

/// A library prints nothing.
#[cfg(not(feature = "cli"))]
fn announce(_text: &str) {}

/// Fails if a settings file names a store that may be another person's or another project's: one that came with the
/// repository, or one in the state directory. Commands that name a store themselves may use any.
pub(crate) fn refuse_named(
    root: &Path,
    state: Option<&StateDir>,
    store: &Path,
) -> Result<(), CommandFailure> {
    let Ok(found) = store.canonicalize() else { return Ok(()) };
    let help = "remove `store.path` from the settings, or pass the file with `--store`";
    let refused = |why: &str| {
        Err(CommandFailure::Invalid(format!(
            "refusing the store `{}` of the settings: {why}; {help}",
            files::shown(store)
        )))
    };
    if is_tracked(&found) {
        return refused("git tracks it, so its instances may be another person's");
    }
    let Some(state) = state else { return Ok(()) };
    let within = |folder: &Path| folder.canonicalize().is_ok_and(|folder| found.starts_with(folder));
    match within(state.path()) && !within(&state.project(root)) {
        true => refused("it belongs to another project"),
        false => Ok(()),
    }
}

/// Fails unless the store is a plain file in the project that is not part of its repository.
fn refuse_foreign(root: &Path, old: &Path) -> Result<(), CommandFailure> {
    let plain = root.canonicalize().map(|root| root.join(OLD_DIR).join(STORE_FILE));
    let is_plain = plain.is_ok_and(|plain| old.canonicalize().is_ok_and(|found| found == plain));
    let shown = files::shown(old);
    let help = format!("remove it, or pass `--store {shown}` to use it where it is");
    if !is_plain || !old.is_file() {
        let why = "it is not a file of this project but a link";
        return Err(CommandFailure::Invalid(format!("refusing to move `{shown}`: {why}; {help}")));
    }
    if old.canonicalize().is_ok_and(|old| is_tracked(&old)) {
        let why = "git tracks it, so its instances may be another person's";
        return Err(CommandFailure::Invalid(format!("refusing to move `{shown}`: {why}; {help}")));
    }
    Ok(())
}

/// Returns true if the index of the surrounding git repository names a file, given without links.
fn is_tracked(file: &Path) -> bool {
    let Some(top) = file.ancestors().skip(1).find(|folder| folder.join(".git").exists()) else {
        return false;
    };
    let Ok(index) = fs::read(git_dir(top).join("index")) else { return false };
    let inside = file.strip_prefix(top).unwrap_or(file);
    let name = inside.as_os_str().as_encoded_bytes();
    index.windows(name.len()).any(|window| window == name)
}

/// Returns the directory of a repository; that of a worktree is named in a file.
fn git_dir(top: &Path) -> PathBuf {
    let dot_git = top.join(".git");
    let named = fs::read_to_string(&dot_git).ok();
    let named = named.and_then(|text| text.strip_prefix("gitdir:").map(|path| top.join(path.trim())));
    named.unwrap_or(dot_git)
}

fn hold(store: &Path) -> Result<Lock, CommandFailure> {
    let holder = LockHolder {
        pid: std::process::id(),
        command: "rawko (moves the state)".to_owned(),
        started_ms: times::now_ms(),
        socket: None,
        drives: Some(Vec::new()),
    };
    Lock::take(store, &holder).map_err(|error| match error {
        StoreError::Held { holder, .. } => CommandFailure::Transient(format!(
            "cannot move the state of this project: {} is in use by {holder}; stop that process first",
            files::shown(store)
        )),
        other => other.into(),
    })
}

/// Moves the stores that `rawko restore` kept, and removes the rest. What cannot be moved stays.
fn bring_the_rest(old_dir: &Path, target: &Path) {
    for name in REMAINS {
        let _ = fs::remove_file(old_dir.join(name));
    }
    for entry in fs::read_dir(old_dir).into_iter().flatten().flatten() {
        let to = target.join(entry.file_name());
        let is_ours = entry.file_name().to_string_lossy().starts_with("rawko.db.replaced-");
        if is_ours && !to.exists() && fs::rename(entry.path(), &to).is_err() {
            // On another disk. Removed only once it is copied.
            let copied = fs::copy(entry.path(), &to).and_then(|_| fs::File::open(&to)?.sync_all());
            let _ = copied.and_then(|()| fs::remove_file(entry.path()));
        }
    }
    let _ = fs::remove_dir(old_dir);
}
