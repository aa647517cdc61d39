//! The temporary directory of a toolbox, used by its commands and removed with it.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);
const ATTEMPTS_MAX: usize = 1000;

/// Created eagerly, so that the sandbox can name it; a failure is reported when a command needs it.
pub(crate) struct Temporary(Result<PathBuf, String>);

impl Temporary {
    pub(crate) fn new() -> Self {
        let parent = std::env::temp_dir();
        let parent = parent.canonicalize().unwrap_or(parent);
        // Accessible to this user only. A name that exists is skipped: it may belong to another process.
        for _ in 0..ATTEMPTS_MAX {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("rawko-tools-{}-{count}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Self(Ok(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Self(Err(format!("no temporary directory in {}: {error}", parent.display())));
                }
            }
        }
        Self(Err(format!("no temporary directory could be made in {}", parent.display())))
    }

    pub(crate) fn path(&self) -> Result<&Path, String> {
        self.0.as_deref().map_err(Clone::clone)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Ok(path) = &self.0 {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
