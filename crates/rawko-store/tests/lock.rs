//! One host at a time, and the second gets an error that names the first.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use rawko_store::{Lock, LockHolder, SqliteOptions, SqliteStore, StoreError};

fn holder() -> LockHolder {
    LockHolder {
        pid: 4711,
        command: "rawko run order.yaml".to_owned(),
        started_ms: 1_794_787_923_000,
        socket: Some("/run/rawko.sock".to_owned()),
        drives: None,
    }
}

#[test]
fn the_second_is_told_who_the_first_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store.db");
    assert_eq!(Lock::holder(&store), None, "there is no file");

    let lock = Lock::take(&store, &holder()).unwrap();
    assert_eq!(Lock::holder(&store), Some(holder()));
    let second = LockHolder { pid: 1, command: "rawko serve".to_owned(), socket: None, ..holder() };
    let held = Lock::take(&store, &second).unwrap_err();
    assert_eq!(
        held.to_string(),
        format!(
            "{} is in use by `rawko run order.yaml` (process 4711, since 2026-11-16T00:12:03Z)",
            store.display()
        )
    );
    assert!(held.is_transient());

    drop(lock);
    assert_eq!(Lock::holder(&store), None, "the file is left, the lock is not");
    let _second = Lock::take(&store, &second).unwrap();
    assert_eq!(Lock::holder(&store), Some(second));
}

#[test]
fn a_file_that_says_nothing_is_still_a_lock() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store.db");
    let _lock = Lock::take(&store, &holder()).unwrap();
    std::fs::write(directory.path().join("store.db.lock"), "").unwrap();
    let Err(StoreError::Held { holder, .. }) = Lock::take(&store, &self::holder()) else {
        panic!("not held")
    };
    assert_eq!(holder, "another process");
}

/// Returns the number of POSIX locks that this process holds on a file.
fn posix_locks(path: &std::path::Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    let own = format!(" {} ", std::process::id());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    locks
        .lines()
        .filter(|line| line.contains("POSIX") && line.contains(&own) && line.contains(&inode))
        .count()
}

#[test]
fn a_second_store_of_the_same_file_leaves_the_locks_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let host = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
    assert!(posix_locks(&path) > 0, "SQLite holds a shared lock");
    let name = directory.path().join("link.db");
    std::fs::hard_link(&path, &name).unwrap();
    let reading = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    for path in [&path, &name] {
        // The damage check reads the file itself, and closing any descriptor of it would drop the locks.
        drop(SqliteStore::open(path, reading));
        assert!(posix_locks(path) > 0, "{}", path.display());
    }
    drop(host);
    assert_eq!(posix_locks(&path), 0);
}
