//! A disk that loses the end of the written log, one commit at a time: for states too short to time a kill for.

use std::fs;
use std::path::Path;

use crate::support::store_of;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Removes commits from the end of the store's log until `is_there` holds. Returns true if it ever did.
pub(crate) fn lose_power(dir: &Path, is_there: impl Fn() -> bool) -> bool {
    let file = store_of(dir);
    let (log, shared) = (file.with_extension("db-wal"), file.with_extension("db-shm"));
    // Never synced, so it is not newer than the log. Otherwise the loss would be noticed.
    let _ = fs::remove_file(file.with_extension("db-end"));
    let (stored, written) = (fs::read(&file).unwrap(), fs::read(&log).unwrap());
    // Reading may checkpoint the log; restore the truncated version each time.
    let restore = |end: usize| {
        fs::write(&file, &stored).unwrap();
        fs::write(&log, &written[..end]).unwrap();
        let _ = fs::remove_file(&shared);
    };
    commits(&written).into_iter().rev().any(|end| {
        restore(end);
        let found = is_there();
        restore(end);
        found
    })
}

/// Returns the end of each transaction in a write-ahead log of SQLite.
fn commits(log: &[u8]) -> Vec<usize> {
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let frame = FRAME_HEADER + number(8) as usize;
    let starts = (HEADER..).step_by(frame).take_while(|start| start + frame <= log.len());
    // Frames with another salt are left over from an earlier log.
    let valid = starts.take_while(|start| log[start + 8..start + 16] == log[16..24]);
    valid.filter(|start| number(start + 4) != 0).map(|start| start + frame).collect()
}
