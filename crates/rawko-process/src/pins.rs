//! Programs of a project that a person trusted with their content: servers, services and agents that are files of the
//! project. The launcher does not start one that changed, and no program that agents influence can write one.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

type PinCheck = Box<dyn Fn(&Path) -> bool + Send + Sync>;

static PINS: RwLock<Vec<Pins>> = RwLock::new(Vec::new());

struct Pins {
    root: PathBuf,
    files: Vec<PathBuf>,
    is_same: PinCheck,
}

/// Pins files of a project, in place of those that were pinned before. `is_same` returns false for a file whose content is
/// not the trusted one.
pub fn pin_programs(
    root: &Path,
    files: Vec<PathBuf>,
    is_same: impl Fn(&Path) -> bool + Send + Sync + 'static,
) {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let root = real(root.to_owned());
    let pins =
        Pins { root: root.clone(), files: files.into_iter().map(real).collect(), is_same: Box::new(is_same) };
    let mut all = PINS.write().unwrap_or_else(PoisonError::into_inner);
    all.retain(|pins| pins.root != root);
    all.push(pins);
}

/// Returns true for the program of a server, a service or an agent that was trusted by its content.
pub fn is_pinned(path: &Path) -> bool {
    let all = PINS.read().unwrap_or_else(PoisonError::into_inner);
    let real = path.canonicalize().ok();
    all.iter().any(|pins| pins.files.iter().any(|file| file == path || Some(file) == real.as_ref()))
}

/// Returns the pinned files of a project.
pub(crate) fn pinned_below(root: &Path) -> Vec<PathBuf> {
    let all = PINS.read().unwrap_or_else(PoisonError::into_inner);
    all.iter().flat_map(|pins| &pins.files).filter(|file| file.starts_with(root)).cloned().collect()
}

/// Returns a pinned file among the words of a command that has changed.
pub(crate) fn changed<'w>(words: impl Iterator<Item = &'w str>, directory: &Path) -> Option<PathBuf> {
    let all = PINS.read().unwrap_or_else(PoisonError::into_inner);
    if all.is_empty() {
        return None;
    }
    for word in words.flat_map(str::split_whitespace) {
        let Ok(path) = directory.join(word.trim_matches(['"', '\''])).canonicalize() else { continue };
        let is_changed = |pins: &Pins| pins.files.contains(&path) && !(pins.is_same)(&path);
        if all.iter().any(is_changed) {
            return Some(path);
        }
    }
    None
}
