//! One writer, one file: a second host fences the first, and a file that is deleted, replaced, truncated or without its
//! log is detected before any commit is acknowledged.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{begin, chart, step};
use rawko_store::*;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    (directory, path)
}

fn try_open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, SqliteOptions::default())
}

fn open(path: &Path) -> SqliteStore {
    try_open(path).unwrap()
}

/// A store with one instance at step 0.
fn begun(path: &Path) -> SqliteStore {
    let store = open(path);
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1)]).unwrap();
    store
}

fn log(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

fn index(path: &Path) -> PathBuf {
    path.with_extension("db-shm")
}

fn holder(pid: u32) -> LockHolder {
    LockHolder { pid, command: "rawko serve".to_owned(), started_ms: 0, socket: None, drives: None }
}

#[test]
fn a_link_leads_to_the_same_lock() {
    let (directory, path) = place();
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    drop(begun(&path));
    let lock = Lock::take(&path, &holder(1)).unwrap();
    assert!(matches!(Lock::take(&link, &holder(2)), Err(StoreError::Held { .. })));
    assert_eq!(Lock::holder(&link), Some(holder(1)));
    drop(lock);
    let _lock = Lock::take(&link, &holder(2)).unwrap();
    assert_eq!(Lock::holder(&path), Some(holder(2)));
}

#[test]
fn a_second_host_fences_the_first_even_without_a_lock_file() {
    let (directory, path) = place();
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let _lock = Lock::take(&path, &holder(1)).unwrap();
    let first = begun(&path);
    fs::remove_file(directory.path().join("store.db.lock")).unwrap();
    let _second_lock = Lock::take(&link, &holder(2)).unwrap();
    let second = open(&link);
    second.commit(&[step(1, 1)]).unwrap();

    let fenced = |outcome: Result<(), StoreError>| {
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::Fenced { .. }) && !error.is_transient(), "{error:?}");
        assert!(error.to_string().contains("another host has taken over the store"), "{error}");
    };
    fenced(first.commit(&[step(1, 2)]));
    fenced(first.commit(&[begin(2)]));
    fenced(first.put_chart(&ChartRow { hash: [8; 16], ..chart() }));
    fenced(first.probe());
    assert_eq!(first.find("i1").unwrap().unwrap().step, 1, "it may read");
    drop(first);
    second.commit(&[step(1, 2)]).unwrap();
    drop(second);
    let store = open(&path);
    assert_eq!(store.find("i1").unwrap().unwrap().step, 2);
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
}

#[test]
fn a_memory_store_fences_the_older_host_too() {
    let first = MemoryStore::new();
    first.put_chart(&chart()).unwrap();
    first.commit(&[begin(1)]).unwrap();
    let second = first.take_over();
    let attempts =
        [first.commit(&[step(1, 1)]), first.commit(&[begin(2)]), first.put_chart(&chart()), first.probe()];
    for outcome in attempts {
        assert!(matches!(outcome, Err(StoreError::Fenced { .. })), "{outcome:?}");
    }
    second.commit(&[step(1, 1)]).unwrap();
    assert_eq!(first.find("i1").unwrap().unwrap().step, 1, "it may read");
    let third = second.take_over();
    assert!(second.probe().is_err() && third.probe().is_ok(), "the last one owns it");
}

#[test]
fn a_file_with_two_names_is_not_written() {
    let (directory, path) = place();
    let store = begun(&path);
    let other = directory.path().join("other.db");
    fs::hard_link(&path, &other).unwrap();
    let error = try_open(&other).unwrap_err();
    assert!(error.to_string().contains("it has 2 hard links"), "{error}");
    store.commit(&[step(1, 1)]).unwrap();
    drop(store);
    fs::remove_file(&other).unwrap();
    open(&path).commit(&[step(1, 2)]).unwrap();
}

#[test]
fn a_file_that_is_lost_under_a_host_acknowledges_nothing() {
    type Happens = fn(&Path);
    let cases: [(&str, &str, Happens); 8] = [
        ("deleted", "was deleted", |path| fs::remove_file(path).unwrap()),
        ("moved", "was deleted", |path| fs::rename(path, path.with_extension("old")).unwrap()),
        ("replaced", "was replaced", |path| {
            fs::copy(path, path.with_extension("new")).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("truncated", "was truncated", |path| fs::write(path, "").unwrap()),
        ("its log deleted", "was deleted", |path| fs::remove_file(log(path)).unwrap()),
        ("its log truncated", "was truncated", |path| fs::write(log(path), "").unwrap()),
        ("the log's index deleted", "was deleted", |path| fs::remove_file(index(path)).unwrap()),
        ("its folder moved", "was deleted", |path| {
            let folder = path.parent().unwrap();
            fs::rename(folder, folder.with_extension("old")).unwrap();
        }),
    ];
    for (what, says, happens) in cases {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("state");
        fs::create_dir(&folder).unwrap();
        let path = folder.join("store.db");
        let store = begun(&path);
        store.commit(&[step(1, 1)]).unwrap();
        assert_eq!(store.probe(), Ok(()), "{what}");
        happens(&path);
        for outcome in [store.probe(), store.commit(&[step(1, 2)]), store.commit(&[begin(7)])] {
            let error = outcome.unwrap_err();
            assert!(matches!(error, StoreError::Lost(_)) && !error.is_transient(), "{what}: {error:?}");
            assert!(error.to_string().contains(says), "{what}: {error}");
        }
    }
}

#[test]
fn a_file_that_comes_back_is_still_lost_for_the_host_that_missed_it() {
    let (_directory, path) = place();
    let store = begun(&path);
    let away = path.with_extension("away");
    fs::rename(&path, &away).unwrap();
    assert!(matches!(store.probe(), Err(StoreError::Lost(_))));
    fs::rename(&away, &path).unwrap();
    assert!(matches!(store.commit(&[step(1, 1)]), Err(StoreError::Lost(_))));
    drop(store);
    open(&path).commit(&[step(1, 1)]).unwrap();
}

#[test]
fn a_full_store_fails_the_probe() {
    let (_directory, path) = place();
    let limited = SqliteOptions { size_max_bytes: Some(512 * 1024), ..SqliteOptions::default() };
    let store = SqliteStore::open(&path, limited).unwrap();
    assert_eq!(store.probe(), Ok(()));
    assert_eq!(MemoryStore::new().probe(), Ok(()));
    drop(store);
    let reader =
        SqliteStore::open(&path, SqliteOptions { read_only: true, ..SqliteOptions::default() }).unwrap();
    assert!(reader.probe().is_err(), "a reader cannot write");
}

/// Returns the files of a killed host: copied while it runs.
fn killed() -> (TempDir, PathBuf) {
    let (directory, path) = place();
    let store = begun(&path);
    store.commit(&[step(1, 1)]).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let copied = copy.path().join("store.db");
    fs::copy(&path, &copied).unwrap();
    fs::copy(log(&path), log(&copied)).unwrap();
    drop((store, directory));
    (copy, copied)
}

#[test]
fn a_store_that_was_not_closed_needs_its_log() {
    let (_directory, path) = killed();
    assert_eq!(open(&path).find("i1").unwrap().unwrap().step, 1, "with it, nothing is lost");

    type Happens = fn(&Path);
    let cases: [(&str, Happens); 4] = [
        ("deleted", |log| fs::remove_file(log).unwrap()),
        ("emptied", |log| fs::write(log, "").unwrap()),
        ("cut within its first frame", |log| {
            let bytes = fs::read(log).unwrap();
            fs::write(log, &bytes[..2_000]).unwrap();
        }),
        ("overwritten", |log| fs::write(log, vec![0xaa; fs::metadata(log).unwrap().len() as usize]).unwrap()),
    ];
    for (what, happens) in cases {
        let (_directory, path) = killed();
        happens(&log(&path));
        let before = fs::read(&path).unwrap();
        for read_only in [true, false, true] {
            let outcome = SqliteStore::open(&path, SqliteOptions { read_only, ..SqliteOptions::default() });
            let Err(StoreError::Damaged(words)) = outcome else { panic!("{what}: {outcome:?}") };
            assert!(words.contains("write-ahead log") && words.contains("--accept-loss"), "{what}: {words}");
        }
        assert!(fs::read(&path).unwrap() == before, "{what}: it was changed");
        SqliteStore::accept_loss(&path).unwrap();
        let store = open(&path);
        assert_eq!(store.report().unwrap().problems, [] as [&str; 0], "{what}");
        store.commit(&[begin(9)]).unwrap();
    }
}

#[test]
fn a_store_that_was_closed_needs_no_log() {
    let (_directory, path) = place();
    let store = begun(&path);
    let reader =
        SqliteStore::open(&path, SqliteOptions { read_only: true, ..SqliteOptions::default() }).unwrap();
    reader.find("i1").unwrap();
    drop(store);
    // A reader that has the file open keeps the log; all of its content is in the file.
    drop(reader);
    let _ = fs::remove_file(log(&path));
    let _ = fs::remove_file(path.with_extension("db-shm"));
    let store = open(&path);
    assert_eq!(store.find("i1").unwrap().unwrap().step, 0);
    store.commit(&[step(1, 1)]).unwrap();
}

#[test]
fn only_a_store_with_a_loss_needs_one_accepted() {
    let (directory, path) = place();
    assert!(SqliteStore::accept_loss(&path).is_err(), "there is none");
    assert!(!path.exists());
    let store = begun(&path);
    drop(store);
    SqliteStore::accept_loss(&path).unwrap();
    assert_eq!(open(&path).find("i1").unwrap().unwrap().step, 0);
    drop(directory);
}

#[test]
fn a_truncated_store_is_not_a_new_one() {
    type Happens = fn(&Path);
    let cases: [(&str, Happens); 3] = [
        ("emptied", |path| fs::write(path, "").unwrap()),
        ("cut", |path| fs::write(path, &fs::read(path).unwrap()[..8_192]).unwrap()),
        ("cut within its first page", |path| fs::write(path, &fs::read(path).unwrap()[..100]).unwrap()),
    ];
    for (what, happens) in cases {
        for is_closed in [false, true] {
            let (directory, path) = killed();
            let backup = directory.path().join("backup.db");
            if is_closed {
                drop(open(&path));
                assert!(!log(&path).exists());
            }
            fs::copy(&path, &backup).unwrap();
            if !is_closed {
                fs::copy(log(&path), log(&backup)).unwrap();
            }
            happens(&path);
            let before = fs::read(&path).unwrap();
            assert!(!SqliteStore::is_blank(&path), "{what}");
            for read_only in [true, false, true] {
                let outcome =
                    SqliteStore::open(&path, SqliteOptions { read_only, ..SqliteOptions::default() });
                let Err(StoreError::Damaged(words)) = outcome else {
                    panic!("{what}, {is_closed}: {outcome:?}")
                };
                assert!(
                    words.contains("was truncated") && words.contains("rawko restore"),
                    "{what}: {words}"
                );
            }
            assert!(fs::read(&path).unwrap() == before, "{what}: it was changed");
            SqliteStore::restore(&backup, &path, "today", &|_| Ok(Vec::new())).unwrap();
            assert_eq!(open(&path).find("i1").unwrap().unwrap().step, 1, "{what}");
        }
    }
}

#[test]
fn a_log_without_its_store_is_not_applied_to_a_restored_one() {
    let (directory, path) = killed();
    let backup = directory.path().join("backup.db");
    open(&path).backup(&backup, &|_| Ok(Vec::new())).unwrap();
    let (_other, lost) = killed();
    fs::remove_file(&lost).unwrap();
    let restored = SqliteStore::restore(&backup, &lost, "today", &|_| Ok(Vec::new())).unwrap();
    assert!(restored.replaced.is_some() && !log(&lost).exists());
    assert_eq!(open(&lost).report().unwrap().problems, [] as [&str; 0]);
}

/// A store gets its name when it is complete, so no kill leaves an empty file there.
#[test]
fn a_new_store_leaves_no_other_files() {
    let (directory, path) = place();
    drop(begun(&path));
    let names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["store.db"]);
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // A link to a store that does not exist yet stays a link.
    let (target, link) = (directory.path().join("target.db"), directory.path().join("link.db"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    drop(begun(&link));
    assert!(link.is_symlink() && open(&target).find("i1").unwrap().is_some());
}
