//! `Lock`: one host at a time on a store. An operating system lock on a file beside the store, so that it is released
//! however its holder ends; the file describes the holder for other processes.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::StoreError;

const ATTEMPTS: usize = 5;

/// The holder of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// Process id, in the PID namespace of the holder.
    pub pid: u32,
    /// The command line.
    pub command: String,
    /// Time at which it took the lock, in milliseconds since 1970 UTC.
    pub started_ms: i64,
    /// The socket of the holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// The roots of the instances that it moves; `None` if it moves all that are not paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives: Option<Vec<String>>,
}

/// A lock on a store, released when dropped.
#[derive(Debug)]
pub struct Lock {
    /// Holds the lock. The file itself stays after the release, so that no process locks a deleted file.
    file: File,
}

impl Lock {
    /// Locks the store at this path, or returns an error that names the holder.
    pub fn take(store: &Path, holder: &LockHolder) -> Result<Lock, StoreError> {
        let path = lock_path(store);
        let io = |error: std::io::Error| StoreError::Io(format!("{}: {error}", path.display()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(io)?;
        match lock_exclusively(&file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder =
                    read(&mut file).map_or_else(|| "another process".to_owned(), |held| held.words());
                return Err(StoreError::Held { place: store.display().to_string(), holder });
            }
            Err(errno) => return Err(io(errno.into())),
        }
        let lock = Lock { file };
        lock.describe(holder).map_err(io)?;
        Ok(lock)
    }

    /// Replaces the description of the holder.
    pub fn describe(&self, holder: &LockHolder) -> std::io::Result<()> {
        let about = serde_json::to_vec(holder)?;
        self.file.write_all_at(&about, 0)?;
        self.file.set_len(about.len() as u64)
    }

    /// Returns the current holder of the store at this path.
    pub fn holder(store: &Path) -> Option<LockHolder> {
        let mut file = File::open(lock_path(store)).ok()?;
        // Shared, so that two concurrent calls do not mistake each other for the holder.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            // While the description is replaced it cannot be read.
            Err(Errno::WOULDBLOCK) => (0..ATTEMPTS).find_map(|_| {
                read(&mut file).or_else(|| {
                    std::thread::sleep(Duration::from_millis(1));
                    None
                })
            }),
            // The store is free. The lock just taken is released with the file.
            Ok(()) | Err(_) => None,
        }
    }
}

impl LockHolder {
    /// Describes the holder for messages: command, process id and start time.
    pub fn words(&self) -> String {
        format!("`{}` (process {}, since {})", self.command, self.pid, utc(self.started_ms))
    }
}

/// Retries briefly: a call of `holder` takes the lock for a moment, too.
fn lock_exclusively(file: &File) -> Result<(), Errno> {
    for _ in 0..ATTEMPTS {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
            outcome => return outcome,
        }
    }
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Returns the path beside the file itself, with links resolved: one store, one lock.
fn lock_path(store: &Path) -> PathBuf {
    let mut path = resolved(store).into_os_string();
    path.push(".lock");
    path.into()
}

/// Returns the path without links; for a new store, with the links of its folder resolved.
fn resolved(store: &Path) -> PathBuf {
    if let Ok(path) = store.canonicalize() {
        return path;
    }
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), store.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        (Err(_), _) | (_, None) => store.to_owned(),
    }
}

/// Returns `None` also in the moment between locking the file and writing to it.
fn read(file: &mut File) -> Option<LockHolder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Formats a time as RFC 3339, to the second.
fn utc(at_ms: i64) -> String {
    let seconds = at_ms.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// Returns the date this many days after 1970-01-01. Counts in years that begin in March, so that a leap day is the
/// last of its year, and in eras of 400 years, after which the calendar repeats.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        for (at_ms, shown) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_794_787_923_999, "2026-11-16T00:12:03Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(at_ms), shown);
        }
    }
}
