//! One host at a time, and the second gets an error that names the first.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use rawko_store::{Lock, LockHolder, StoreError};

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
