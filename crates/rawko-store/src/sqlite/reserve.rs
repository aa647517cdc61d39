//! Space at the end of the write-ahead log, written ahead of the commits that use it: an fsync of a file that did not
//! grow has no inode to write, which halves the time of a commit on a new log. SQLite ignores the zeros, as it ignores
//! old frames after the log was restarted.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::connection::CHECKPOINT_PAGES;
use super::log;

/// Smallest extension. The log of a short run stays small.
const BYTES_MIN: u64 = 64 * 1024;
/// Largest extension. Bounds the time that the next commit takes longer.
const BYTES_MAX: u64 = 1024 * 1024;
/// SQLite's default page. The log is restarted after this many of them, so that more space would be for nothing.
const LEN_MAX: u64 = CHECKPOINT_PAGES as u64 * 4_096;

pub(super) struct Reserve {
    path: PathBuf,
    /// Length of the log, including reserved space.
    len: u64,
}

impl Reserve {
    pub(super) fn new(store: &Path, len: u64) -> Reserve {
        Reserve { path: log::path(store), len }
    }

    /// Extends the log if the last commit did, and returns its new length. `len` is its length after that commit. A full
    /// disk is left to the commits to report.
    pub(super) fn extend(&mut self, len: u64) -> Option<u64> {
        if len <= self.len || len >= LEN_MAX {
            return None;
        }
        let bytes = len.clamp(BYTES_MIN, BYTES_MAX).min(LEN_MAX - len);
        // Appended and never written at a position: another host may have taken over the log meanwhile, and its frames
        // must not be overwritten.
        let appended = OpenOptions::new().append(true).open(&self.path).and_then(|mut file| {
            let zeros = vec![0; usize::try_from(bytes).unwrap_or(0)];
            file.write_all(&zeros)
        });
        self.len = if appended.is_ok() { len + bytes } else { u64::MAX };
        appended.is_ok().then_some(self.len)
    }
}
