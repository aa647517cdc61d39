//! Contents read from a path, kept until the file or directory changes. Every call looks at the same directories several
//! times; most of them never change.
//!
//! A change is noticed by the time that the kernel notes for it (`ctime`), which programs cannot set. That time has a
//! granularity, so a second change within the same tick would look like none. A value is therefore kept only if it was
//! read when the same time had been seen for a while already: any later change gets a later time. Clocks of this machine
//! and of a file server are not compared.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longer than the granularity of any file system.
const SETTLED_AFTER: Duration = Duration::from_secs(3);
/// Paths that are remembered; then all are forgotten.
const PATHS_MAX: usize = 65_536;

/// Identity, size and time of the last change.
pub(super) type PathStamp = (u64, u64, u64, i64, i64);

struct KnownValue<T> {
    stamp: PathStamp,
    first_seen: Instant,
    value: Option<Arc<T>>,
}

/// Values by path.
pub(super) struct SettledValues<T>(Mutex<Option<HashMap<PathBuf, KnownValue<T>>>>);

impl<T> SettledValues<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns the value of a path, read if it is not known to be the same.
    pub(super) fn get(&self, path: &Path, read: impl FnOnce(&Path) -> T) -> Arc<T> {
        self.get_after(path, SETTLED_AFTER, read)
    }

    fn get_after(&self, path: &Path, settled: Duration, read: impl FnOnce(&Path) -> T) -> Arc<T> {
        let Some(stamp) = stamp(path) else { return Arc::new(read(path)) };
        let may_keep = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let all = all.get_or_insert_default();
            match all.get(path).filter(|known| known.stamp == stamp) {
                Some(KnownValue { value: Some(value), .. }) => return Arc::clone(value),
                Some(known) => known.first_seen.elapsed() >= settled,
                None => {
                    if all.len() >= PATHS_MAX {
                        all.clear();
                    }
                    let known = KnownValue { stamp, first_seen: Instant::now(), value: None };
                    all.insert(path.to_owned(), known);
                    false
                }
            }
        };
        let value = Arc::new(read(path));
        if may_keep && self::stamp(path) == Some(stamp) {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = all.as_mut().and_then(|all| all.get_mut(path)).filter(|it| it.stamp == stamp)
            {
                known.value = Some(Arc::clone(&value));
            }
        }
        value
    }
}

pub(super) fn stamp(path: &Path) -> Option<PathStamp> {
    let about = fs::metadata(path).ok()?;
    Some((about.dev(), about.ino(), about.size(), about.ctime(), about.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_only_while_nothing_changes() {
        let directory = tempfile::tempdir().unwrap();
        let names = |path: &Path| fs::read_dir(path).unwrap().count();
        let settled = SettledValues::new();
        let never_read = |_: &Path| -> usize { panic!("read again") };
        let look = |after: Duration| *settled.get_after(directory.path(), after, names);
        // Not settled: read every time.
        assert_eq!((look(Duration::MAX), look(Duration::MAX)), (0, 0));
        fs::write(directory.path().join("a"), "").unwrap();
        assert_eq!(look(Duration::ZERO), 1);
        // The time has been seen before: this reading is kept.
        assert_eq!(look(Duration::ZERO), 1);
        assert_eq!(*settled.get_after(directory.path(), Duration::ZERO, never_read), 1);
        // A tick of the kernel's clock later, any change is another time.
        std::thread::sleep(Duration::from_millis(50));
        fs::rename(directory.path().join("a"), directory.path().join("b")).unwrap();
        fs::write(directory.path().join("c"), "").unwrap();
        let unset = fs::File::open(directory.path()).unwrap();
        let _ = unset.set_modified(std::time::UNIX_EPOCH);
        assert_eq!(look(Duration::ZERO), 2);
    }
}
