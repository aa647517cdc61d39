//! A disk that loses the end of what was written to it, a commit at a time: states that no kill can be timed for.

use std::fs;
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Takes commits off the end of the store's log until everything stands as it should. Whether it ever did.
pub(crate) fn lose_power(dir: &Path, is_there: impl Fn() -> bool) -> bool {
    let file = dir.join(".rawko/state/rawko.db");
    let (log, shared) = (file.with_extension("db-wal"), file.with_extension("db-shm"));
    let (stored, written) = (fs::read(&file).unwrap(), fs::read(&log).unwrap());
    // Looking may tidy up; what was lost has to stay lost.
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

/// Where each transaction in a write-ahead log of SQLite ends.
fn commits(log: &[u8]) -> Vec<usize> {
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let frame = FRAME_HEADER + number(8) as usize;
    let starts = (HEADER..).step_by(frame).take_while(|start| start + frame <= log.len());
    // Frames with another salt are left over from before.
    let valid = starts.take_while(|start| log[start + 8..start + 16] == log[16..24]);
    valid.filter(|start| number(start + 4) != 0).map(|start| start + frame).collect()
}
