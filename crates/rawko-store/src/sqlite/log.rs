//! The write-ahead log as a file. SQLite treats a missing log as an empty one; for a store that was not closed this
//! would lose commits.

use std::fs::File;
use std::io::{ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

const HEADER_LEN: usize = 32;
const FRAME_HEADER_LEN: u64 = 24;
/// The last bit gives the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;

/// Returns the path of a database's log: beside the file itself, with links resolved.
pub(super) fn path(store: &Path) -> PathBuf {
    beside(store, "-wal")
}

/// Returns the path of the log's index, which only SQLite opens: closing another descriptor would drop its locks.
pub(super) fn index_path(store: &Path) -> PathBuf {
    beside(store, "-shm")
}

pub(super) fn beside(store: &Path, end: &str) -> PathBuf {
    let mut path = store.canonicalize().unwrap_or_else(|_| store.to_owned()).into_os_string();
    path.push(end);
    path.into()
}

/// Returns true if there is a log, long enough for one frame. Everything after the first twelve bytes may be torn:
/// SQLite rewrites the rest of the header when it restarts the log, after a checkpoint of all commits, and finds the
/// last whole commit by itself.
pub(super) fn is_there(path: &Path) -> Result<bool> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let len = file.metadata()?.len();
    let mut header = [0; HEADER_LEN];
    if len < HEADER_LEN as u64 {
        return Ok(false);
    }
    file.read_exact(&mut header)?;
    let page_len = u64::from(word(&header, 8));
    let is_log = word(&header, 0) & !1 == MAGIC && word(&header, 4) == VERSION;
    Ok(is_log && len >= HEADER_LEN as u64 + FRAME_HEADER_LEN + page_len)
}

/// Reads the big-endian number at an offset.
fn word(header: &[u8; HEADER_LEN], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_be_bytes(bytes)
}
