//! `Lock`: one host at a time on a store. A lock of the operating system on a file beside it, so that it goes with its
//! holder however that ends, and holding words about the holder for whoever comes second.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::StoreError;

const ATTEMPTS: usize = 5;

/// Who holds a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// As a person would type it.
    pub command: String,
    pub started_ms: i64,
    /// Where it can be talked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
}

/// A store held by this process until this is dropped.
#[derive(Debug)]
pub struct Lock {
    /// The lock is the open file's; the file itself stays when it is let go, so that nobody locks a file that is gone.
    _file: File,
}

impl Lock {
    /// Holds the store at this path, or says who does.
    pub fn take(store: &Path, holder: &Holder) -> Result<Lock, StoreError> {
        let path = lock_path(store);
        let io = |error: std::io::Error| StoreError::Io(format!("{}: {error}", path.display()));
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match lock_exclusively(&file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder =
                    read(&mut file).map_or_else(|| "another process".to_owned(), |held| held.words());
                return Err(StoreError::Held { place: store.display().to_string(), holder });
            }
            Err(errno) => return Err(io(errno.into())),
        }
        let about = serde_json::to_vec(holder).map_err(|error| io(error.into()))?;
        file.set_len(0).and_then(|()| file.write_all(&about)).and_then(|()| file.flush()).map_err(io)?;
        Ok(Lock { _file: file })
    }

    /// Who holds the store at this path now.
    pub fn holder(store: &Path) -> Option<Holder> {
        let mut file = File::open(lock_path(store)).ok()?;
        // Shared, so that two who ask at once do not take each other for the holder.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => read(&mut file),
            // Nobody does. The lock just taken goes with the file.
            Ok(()) | Err(_) => None,
        }
    }
}

impl Holder {
    /// For messages: what it is, and since when.
    pub fn words(&self) -> String {
        format!("`{}` (process {}, since {})", self.command, self.pid, utc(self.started_ms))
    }
}

/// Tries again for a moment: somebody may only be asking who the holder is, which takes the lock, too.
fn lock_exclusively(file: &File) -> Result<(), Errno> {
    for _ in 0..ATTEMPTS {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
            outcome => return outcome,
        }
    }
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Beside the file itself, whatever links led to it: one store, one lock.
fn lock_path(store: &Path) -> PathBuf {
    let mut path = resolved(store).into_os_string();
    path.push(".lock");
    path.into()
}

/// The path without links; for a store that is not there yet, that of its folder.
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

/// `None` in the moment between taking the lock and writing about it, too.
fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// A point in time as RFC 3339, to the second.
fn utc(at_ms: i64) -> String {
    let seconds = at_ms.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// The date that many days after 1970-01-01. Counted in years that begin in March, so that a leap day is the last of
/// its year, and in eras of 400 years, after which the calendar repeats.
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
