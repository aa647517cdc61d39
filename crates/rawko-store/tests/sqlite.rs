//! Tests that need a file: reopening it, with older and newer versions, beside a reader, and without free space.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::path::{Path, PathBuf};

use common::{begin, chart, step};
use rawko_store::*;
use rusqlite::Connection;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    (directory, path)
}

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, SqliteOptions::default())
}

fn open_to_read(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, SqliteOptions { read_only: true, ..SqliteOptions::default() })
}

/// Returns an audit line for a step.
fn call(key: i64, step: u64) -> AuditLine {
    AuditLine {
        at_ms: 1,
        instance: format!("i{key}").into(),
        effect: format!("i{key}/{step}/0").into(),
        service: "pay".into(),
        decision: "allowed".into(),
        reason: String::new(),
        provenance: String::new(),
    }
}

/// Returns the steps of instance 1, in order.
fn steps(store: &dyn Store) -> Vec<u64> {
    let records = store.records(InstanceKey(1), 0, usize::MAX).unwrap();
    records.iter().map(|record| record.step).collect()
}

#[test]
fn what_was_committed_is_there_when_it_is_opened_again() {
    let (_directory, path) = place();
    let store = open(&path).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1), begin(2)]).unwrap();
    for number in 1..=3_000 {
        store.commit(&[step(1, number)]).unwrap();
    }
    let (row, marks) = (store.find("i1").unwrap(), store.marks().unwrap());
    drop(store);
    assert!(!path.with_extension("db-wal").exists(), "all is in the file");
    let store = open(&path).unwrap();
    assert_eq!(store.find("i1").unwrap(), row);
    assert_eq!(store.marks().unwrap(), marks);
    assert_eq!(steps(&store), (0..=3_000).collect::<Vec<_>>());
    store.commit(&[step(1, 3_001), step(2, 1)]).unwrap();
    assert_eq!(store.last_seq().unwrap(), 3_004);
    let report = store.report().unwrap();
    assert_eq!((report.format, report.instances, report.records), (8, 2, 3_004));
    assert_eq!(report.problems, [] as [&str; 0]);
    assert!(report.bytes > 0 && report.place.ends_with("store.db"));
}

#[test]
fn a_file_of_the_first_format_is_opened() {
    let (_directory, path) = place();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("../src/sqlite/v1.sql")).unwrap();
    let rows = "INSERT INTO instances (key, id, chart, chart_id, version, created_ms, status, wait)
                    VALUES (1, 'old', zeroblob(16), 'order', '1.0.0', 5, 'active', 'event');
                INSERT INTO snapshots VALUES (1, 0, 0, '{}');
                INSERT INTO journal VALUES (1, 1, 0, 5, 0, 'null', '', ''), (2, 1, 1, 6, 2, '{}', '{}', '');
                INSERT INTO audit VALUES (1, 6, 'old', 'old/0/0', 'pay', 'allowed', '', ''),
                                         (2, 6, 'other', 'other/0/0', 'pay', 'allowed', '', '');
                PRAGMA user_version = 1;";
    connection.execute_batch(rows).unwrap();
    drop(connection);
    let store = open(&path).unwrap();
    let row = store.find("old").unwrap().unwrap();
    assert_eq!((row.step, row.updated_ms, row.head.wait), (1, 6, WaitReason::Event));
    assert_eq!(store.base(InstanceKey(1), None).unwrap().unwrap().records.len(), 1);
    store.commit(&[step(1, 2)]).unwrap();
    assert_eq!(store.audit(Some("old"), 9).unwrap().len(), 1);
    assert_eq!(store.report().unwrap().problems, ["the chart of instance `old` is missing"]);
}

#[test]
fn the_audit_of_an_instance_is_whole_on_both_sides_of_its_index() {
    let (_directory, path) = place();
    let store = open(&path).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1), begin(2)]).unwrap();
    let lines = |count: usize| {
        let found = store.audit(Some("i1"), usize::MAX).unwrap();
        let effects: Vec<String> = found.iter().map(|line| line.effect.to_string()).collect();
        assert_eq!(effects, (1..=count).map(|number| format!("i1/{number}/0")).collect::<Vec<_>>());
        let last = store.audit(Some("i1"), 1).unwrap();
        assert_eq!(last.first().map(|line| line.effect.to_string()), effects.last().cloned());
    };
    for number in 1..=1_500 {
        let commit = |key| Commit { audit: vec![call(key, number)], ..step(key, number) };
        store.commit(&[commit(1), commit(2)]).unwrap();
        if number % 500 == 0 {
            lines(usize::try_from(number).unwrap());
        }
    }
    let indexed = "SELECT audited_through FROM marks WHERE audited_through BETWEEN 1 AND 2999";
    Connection::open(&path)
        .unwrap()
        .query_row(indexed, [], |_| Ok(()))
        .expect("a part is indexed, a part is not");
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
}

#[test]
fn records_are_indexed_in_their_places_also_around_a_refused_batch() {
    let (_directory, path) = place();
    let store = open(&path).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(3), begin(1), begin(2)]).unwrap();
    for number in 1..=800 {
        store.commit(&[step(2, number), step(3, number), step(1, number)]).unwrap();
        if number % 300 == 0 {
            // The first one is in order, and is undone with the second.
            assert!(store.commit(&[step(1, number + 1), step(2, number)]).is_err());
        }
    }
    for key in 1..=3 {
        let records = store.steps(InstanceKey(key), 0..=900, usize::MAX).unwrap();
        let found: Vec<u64> = records.iter().map(|record| record.step).collect();
        assert_eq!(found, (0..=800).collect::<Vec<_>>(), "{key}");
    }
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
}

#[test]
fn what_is_no_store_of_ours_is_left_alone() {
    type Make = fn(&Path);
    let newer: Make = |path| {
        drop(open(path).unwrap());
        Connection::open(path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    };
    let text: Make = |path| std::fs::write(path, "not a database, but long enough to look at").unwrap();
    let foreign: Make = |path| Connection::open(path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    for (make, says) in [
        (newer, "has format 99; this rawko supports formats up to 8"),
        (text, "is not a rawko store"),
        (foreign, "is a database but not a rawko store"),
    ] {
        let (_directory, path) = place();
        make(&path);
        let before = std::fs::read(&path).unwrap();
        for outcome in [open(&path), open_to_read(&path)] {
            let error = outcome.unwrap_err();
            assert!(matches!(error, StoreError::Format { .. } | StoreError::Damaged(_)), "{error:?}");
            assert!(error.to_string().contains(says), "{error}");
        }
        assert!(std::fs::read(&path).unwrap() == before, "it was changed: {says}");
    }
    let (directory, path) = place();
    assert!(matches!(open_to_read(&path), Err(StoreError::Io(_))), "there is no file");
    assert!(matches!(open(&directory.path().join("none/store.db")), Err(StoreError::Io(_))));
}

#[test]
fn a_reader_beside_the_host_sees_every_commit_and_changes_nothing() {
    let (_directory, path) = place();
    let host = open(&path).unwrap();
    host.commit(&[begin(1)]).unwrap();
    let reader = open_to_read(&path).unwrap();
    for number in 1..=20 {
        host.commit(&[step(1, number)]).unwrap();
        assert_eq!(reader.find("i1").unwrap().unwrap().step, number);
    }
    let error = reader.commit(&[step(1, 21)]).unwrap_err();
    assert!(error.to_string().contains("open read-only"), "{error}");
    drop(host);
    assert_eq!(steps(&reader).len(), 21);
    assert_eq!(steps(&open_to_read(&path).unwrap()).len(), 21, "without a host, too");
}

#[test]
fn a_report_beside_a_host_is_of_one_moment() {
    let (_directory, path) = place();
    let host = open(&path).unwrap();
    host.put_chart(&chart()).unwrap();
    host.commit(&[begin(1)]).unwrap();
    let reader = open_to_read(&path).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in 1..=2_500 {
                let snapshot = Some(Box::new(SavedSnapshot { step: number, body: "{}".to_owned() }));
                host.commit(&[Commit { snapshot, ..step(1, number) }]).unwrap();
            }
        });
        while !writing.is_finished() {
            assert_eq!(reader.report().unwrap().problems, [] as [&str; 0]);
        }
    });
}

#[test]
fn reports_name_what_is_wrong() {
    let (_directory, path) = place();
    let store = open(&path).unwrap();
    store.commit(&[begin(1), begin(2)]).unwrap();
    let wrong = "DELETE FROM snapshots WHERE instance = 2; UPDATE marks SET indexed_through = 9;
                 INSERT INTO audit VALUES (4, 1, 'i1', 'i1/1/0', 'pay', 'allowed', '', '', x'');
                 UPDATE marks SET audited_through = 4;
                 INSERT INTO effects VALUES (5, 1, 0, 'service', NULL, 'pay', '{}', 1, NULL, 'k', '', 0, 0, x'');";
    Connection::open(&path).unwrap().execute_batch(wrong).unwrap();
    assert_eq!(
        store.report().unwrap().problems,
        [
            "the journal index is ahead of the journal, up to record 9",
            "record 1 is missing from the journal index",
            "record 2 is missing from the journal index",
            "line 4 is missing from the audit index",
            "instance `i2` has no snapshot",
            "the chart of instance `i1` is missing",
            "the chart of instance `i2` is missing",
            "open effect of unknown instance 5",
            "instance `i1`, step 0: the snapshot does not match the journal",
            "instance `#5`, step 1: the open effect is damaged: it was modified",
            "the row of `marks` is missing or was modified",
            "instance `i1`, step 1: a line of the audit, or the one before it, was changed, moved or deleted",
        ]
    );
}

#[test]
fn a_damaged_page_is_reported_and_not_believed() {
    let (_directory, path) = place();
    let store = open(&path).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1)]).unwrap();
    (1..=400).for_each(|number| store.commit(&[step(1, number)]).unwrap());
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let from = bytes.len() - 8 * 4096;
    bytes[from..from + 4096].fill(0xee);
    std::fs::write(&path, bytes).unwrap();
    let store = open_to_read(&path).unwrap();
    assert_ne!(store.report().unwrap().problems, [] as [&str; 0]);
    assert!(matches!(store.tail(0, usize::MAX), Err(StoreError::Damaged(_))));
}

/// Commits steps from this one on until there is no space left. Returns the last successful step.
fn fill(store: &SqliteStore, from: u64) -> u64 {
    for number in from..10_000 {
        let mut commit = step(1, number);
        commit.records[0].event = format!("\"{}\"", "x".repeat(5_000));
        match store.commit(&[commit]) {
            Ok(()) => {}
            Err(StoreError::Full(words)) => {
                assert!(words.contains("store.db") && words.contains("free some space"), "{words}");
                return number - 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("it never became full")
}

#[test]
fn a_full_store_says_so_loses_nothing_and_goes_on_with_more_room() {
    let (_directory, path) = place();
    let limited = SqliteOptions { size_max_bytes: Some(512 * 1024), ..SqliteOptions::default() };
    let store = SqliteStore::open(&path, limited).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1)]).unwrap();
    let last = fill(&store, 1);
    assert_eq!(steps(&store), (0..=last).collect::<Vec<_>>());
    assert_eq!(fill(&store, last + 1), last, "still full, still answering");
    drop(store);
    assert!(std::fs::metadata(&path).unwrap().len() <= 512 * 1024);
    let store = SqliteStore::open(&path, limited).unwrap();
    assert_eq!(steps(&store), (0..=last).collect::<Vec<_>>());
    drop(store);
    let store = open(&path).unwrap();
    store.commit(&[step(1, last + 1)]).unwrap();
    assert_eq!(steps(&store), (0..=last + 1).collect::<Vec<_>>());
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
}

/// Runs in a process of its own, because the limit applies to the process.
#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_is_the_same_as_a_full_disk() {
    let (_directory, path) = place();
    let script = r#"trap "" XFSZ; ulimit -f 600; exec "$0" --ignored --exact fills_the_store_it_is_given"#;
    let status = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("RAWKO_TEST_STORE", &path)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let store = open(&path).unwrap();
    let last = store.find("i1").unwrap().unwrap().step;
    assert!(last > 0);
    assert_eq!(steps(&store), (0..=last).collect::<Vec<_>>());
    store.commit(&[step(1, last + 1)]).unwrap();
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
}

#[test]
#[ignore = "the other half of the test above, which runs it with a store and a limit"]
fn fills_the_store_it_is_given() {
    let path = std::env::var_os("RAWKO_TEST_STORE").unwrap();
    let store = open(Path::new(&path)).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1)]).unwrap();
    let last = fill(&store, 1);
    assert_eq!(steps(&store), (0..=last).collect::<Vec<_>>());
}
