//! The file of the helper: this binary if it can be one, else a program beside it.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::platform;

static THIS_BINARY_HELPS: AtomicBool = AtomicBool::new(false);
static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// Names of programs that can help.
const NAMES: [&str; 2] = ["rawko-launch", "rawko"];

/// Names the helper, for a program that embeds rawko and has it elsewhere. Only the first call has an effect.
pub fn set_helper(file: impl Into<PathBuf>) {
    let _ = HELPER.set(file.into());
}

pub(crate) fn this_binary_helps() {
    THIS_BINARY_HELPS.store(true, Ordering::Relaxed);
}

/// Returns the helper that confines programs; `None` where nothing can be confined.
pub(crate) fn helper() -> Option<PathBuf> {
    if platform::is_portable() { None } else { own_program() }
}

/// Returns a program of rawko's own. The binaries of tests lie in a directory below those of programs.
pub(crate) fn own_program() -> Option<PathBuf> {
    if let Some(file) = HELPER.get() {
        return Some(file.clone());
    }
    if THIS_BINARY_HELPS.load(Ordering::Relaxed) {
        // Still there if an update has replaced the file.
        let this = Some(PathBuf::from("/proc/self/exe")).filter(|_| cfg!(target_os = "linux"));
        return this.or_else(|| std::env::current_exe().ok());
    }
    static BESIDE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let beside = BESIDE.get_or_init(|| {
        let this = std::env::current_exe().ok()?;
        let directories = this.ancestors().skip(1).take(2);
        let files = directories.flat_map(|directory| NAMES.map(|name| directory.join(name)));
        files.into_iter().find(|file| file.is_file())
    });
    beside.clone()
}
