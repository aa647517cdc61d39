//! Edits of the audit and of journals that `verify_chains` names, and stores that it finds intact: those of every older
//! format, pruned ones, and ones that were moved.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{begin, chart, step};
use rawko_store::*;
use rusqlite::Connection;
use tempfile::TempDir;

const STEPS: u64 = 6;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

fn line(key: i64, step: u64, decision: &str) -> AuditLine {
    AuditLine {
        at_ms: 1_000,
        instance: format!("i{key}").into(),
        effect: format!("i{key}/{step}/0").into(),
        service: "pay".into(),
        decision: decision.into(),
        reason: "governance.allow".to_owned(),
        provenance: "{}".to_owned(),
    }
}

/// A store with two instances, each with two audit lines a step. `close`: closed, or as after a crash.
fn filled(close: bool) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = open(&path);
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1), begin(2)]).unwrap();
    for number in 1..=STEPS {
        let commits = [1, 2].map(|key| Commit {
            audit: vec![line(key, number, "allowed"), line(key, number, "answered")],
            head: Some(Box::new(Head { wait: WaitReason::Work, ..Head::default() })),
            ..step(key, number)
        });
        store.commit(&commits).unwrap();
    }
    match close {
        true => drop(store),
        // A copy of the files, as a crash leaves them.
        false => {
            let copy = directory.path().join("copy.db");
            std::fs::copy(&path, &copy).unwrap();
            std::fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).unwrap();
            drop(store);
            return (directory, copy);
        }
    }
    (directory, path)
}

fn problems(path: &Path) -> Vec<ChainProblem> {
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    SqliteStore::open(path, options).unwrap().verify_chains().unwrap().problems
}

#[test]
fn an_untouched_store_is_intact_closed_or_not() {
    for close in [true, false] {
        let (_directory, path) = filled(close);
        assert_eq!(problems(&path), [], "closed: {close}");
    }
}

#[test]
fn every_edit_names_the_instance_and_the_step() {
    // The lines of instance 2 and step n are 4n - 1 and 4n.
    type Edit = (&'static str, &'static str, ChainKind, Option<(&'static str, u64)>);
    let audit = |at: u64| Some(("i2", at));
    let edits: [Edit; 15] = [
        (
            "a changed decision",
            "UPDATE audit SET decision = 'refused' WHERE line = 15",
            ChainKind::Audit,
            audit(4),
        ),
        ("a changed reason", "UPDATE audit SET reason = '' WHERE line = 15", ChainKind::Audit, audit(4)),
        ("a changed time", "UPDATE audit SET at_ms = 9 WHERE line = 15", ChainKind::Audit, audit(4)),
        (
            "a changed link",
            "UPDATE audit SET chain = zeroblob(16) WHERE line = 15",
            ChainKind::Audit,
            audit(4),
        ),
        ("no link", "UPDATE audit SET chain = x'' WHERE line = 15", ChainKind::Audit, audit(4)),
        ("a deleted line", "DELETE FROM audit WHERE line = 15", ChainKind::Audit, audit(4)),
        (
            "a deleted line with its index",
            "DELETE FROM audit WHERE line = 15; DELETE FROM audit_index WHERE line = 15",
            ChainKind::Audit,
            audit(4),
        ),
        ("the first line", "DELETE FROM audit WHERE line = 3", ChainKind::Audit, audit(1)),
        ("the last line", "DELETE FROM audit WHERE line = 24", ChainKind::Audit, audit(6)),
        (
            "the last lines with their index",
            "DELETE FROM audit WHERE line > 20; DELETE FROM audit_index WHERE line > 20;
             UPDATE marks SET audited_through = 20",
            ChainKind::Audit,
            audit(5),
        ),
        (
            "two lines in the other order",
            "UPDATE audit SET line = 99 WHERE line = 15; UPDATE audit SET line = 15 WHERE line = 16;
             UPDATE audit SET line = 16 WHERE line = 99",
            ChainKind::Audit,
            audit(4),
        ),
        (
            "a line of another instance",
            "UPDATE audit SET instance = 'i1' WHERE line = 15",
            ChainKind::Audit,
            audit(4),
        ),
        (
            "a deleted record",
            "DELETE FROM journal WHERE instance = 2 AND step = 4",
            ChainKind::Journal,
            audit(4),
        ),
        (
            "the last records with their index",
            "DELETE FROM journal WHERE instance = 2 AND step > 4;
             DELETE FROM journal_index WHERE instance = 2 AND step > 4",
            ChainKind::Journal,
            audit(6),
        ),
        (
            "a changed record",
            "UPDATE journal SET delta = '{}' WHERE instance = 2 AND step = 4",
            ChainKind::Journal,
            audit(4),
        ),
    ];
    for (what, sql, chain, at) in edits {
        for close in [true, false] {
            let (_directory, path) = filled(close);
            // The last connection to close would remove the log of an open store, which is noticed by itself.
            let keeper = Connection::open(&path).unwrap();
            keeper.query_row("SELECT count(*) FROM audit", [], |_| Ok(())).unwrap();
            Connection::open(&path).unwrap().execute_batch(sql).unwrap();
            let found = problems(&path);
            // A record that is not indexed yet is missed by the one after it.
            let next = at.filter(|_| !close && chain == ChainKind::Journal).map(|(id, step)| (id, step + 1));
            let is_named = |problem: &ChainProblem| {
                let named = problem.instance.as_deref().zip(problem.step);
                problem.chain == chain && (named == at || named == next)
            };
            assert!(found.iter().any(is_named), "{what}, closed: {close}: {found:#?}");
        }
    }
}

#[test]
fn a_whole_instance_cannot_disappear() {
    let (_directory, path) = filled(true);
    let sql = "DELETE FROM journal WHERE instance = 1; DELETE FROM journal_index WHERE instance = 1;
               DELETE FROM snapshots WHERE instance = 1; DELETE FROM audit WHERE instance = 'i1';
               DELETE FROM audit_index WHERE instance = 'i1'; DELETE FROM instances WHERE key = 1";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let found = problems(&path);
    assert!(
        found.iter().any(|problem| problem.message == "7 records are missing from the journal"),
        "{found:?}"
    );
}

/// A host that continues after its last lines were deleted does not cover it up.
#[test]
fn a_break_stays_a_break_when_the_host_goes_on() {
    let (_directory, path) = filled(true);
    let sql = "DELETE FROM audit WHERE line > 20; DELETE FROM audit_index WHERE line > 20";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let store = open(&path);
    store.commit(&[Commit { audit: vec![line(2, 7, "allowed")], ..step(2, STEPS + 1) }]).unwrap();
    drop(store);
    let found = problems(&path);
    assert!(
        found.iter().any(|it| it.instance.as_deref() == Some("i2") && it.chain == ChainKind::Audit),
        "{found:?}"
    );
}

/// The row of an instance does not have the end of the audit when a host is killed; the journal does.
#[test]
fn the_end_of_the_audit_survives_a_kill_and_the_next_host_continues_it() {
    let (_directory, path) = filled(false);
    let lines = |path: &Path| -> i64 {
        let connection = Connection::open(path).unwrap();
        connection.query_row("SELECT audit_lines FROM instances WHERE key = 2", [], |row| row.get(0)).unwrap()
    };
    let keeper = Connection::open(&path).unwrap();
    keeper.query_row("SELECT count(*) FROM audit", [], |_| Ok(())).unwrap();
    assert_eq!(lines(&path), 0, "the row follows behind");
    let store = open(&path);
    store.commit(&[Commit { audit: vec![line(2, 7, "allowed")], ..step(2, STEPS + 1) }]).unwrap();
    // A line without a record, after one in a record that is not indexed.
    store
        .commit(&[Commit {
            audit: vec![line(2, 7, "answered")],
            instance: InstanceKey(2),
            ..Commit::default()
        }])
        .unwrap();
    assert_eq!(problems(&path), []);
    drop(store);
    assert_eq!(problems(&path), []);
    assert_eq!(lines(&path), 2 * i64::try_from(STEPS).unwrap() + 2);
}

#[test]
fn stores_of_every_format_are_intact_once_upgraded() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for format in 1..=7 {
        let from = corpus.join(format!("format-{format}/store.db"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        std::fs::copy(&from, &path).unwrap();
        drop(open(&path));
        assert_eq!(problems(&path), [], "format {format}");
        let sql = "DELETE FROM audit WHERE line = (SELECT max(line) FROM audit)";
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        assert_ne!(problems(&path), [], "format {format}");
    }
}

#[test]
fn what_was_pruned_is_not_missing() {
    let (_directory, path) = filled(true);
    let store = open(&path);
    let ended = Head { status: rawko_core::Status::Done, ..Head::default() };
    store.commit(&[Commit { head: Some(Box::new(ended)), ..step(1, STEPS + 1) }]).unwrap();
    assert_eq!(store.prune(&[InstanceKey(1)]).unwrap().instances, 1);
    drop(store);
    assert_eq!(problems(&path), []);
    let store = open(&path);
    store.commit(&[Commit { audit: vec![line(2, 7, "allowed")], ..step(2, STEPS + 1) }]).unwrap();
    drop(store);
    assert_eq!(problems(&path), []);
}

#[test]
fn a_moved_store_is_whole_for_its_owner_only_and_never_replaces_another() {
    let (directory, from) = filled(false);
    let to = directory.path().join("moved.db");
    SqliteStore::relocate(&from, &to).unwrap();
    assert!(!from.exists() && !from.with_extension("db-wal").exists());
    assert_eq!(problems(&to), [], "with the commits that were only in the log");
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    let (_other, another) = filled(true);
    assert!(SqliteStore::relocate(&another, &to).is_err());
    assert_eq!(problems(&another), []);
}
