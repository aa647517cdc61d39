//! Both stores pass the conformance kit, and the kit rejects a broken one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use common::With;
use rawko_store::*;

/// A store in a directory that is removed with it.
fn temporary() -> Box<dyn Store> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path, SqliteOptions::default()).expect("a store");
    Box::new(With {
        store,
        on_commit: Box::new(move |store, commits| {
            assert!(directory.path().exists());
            store.commit(commits)
        }),
    })
}

#[test]
fn the_memory_store_conforms() {
    conformance::check(&|| Box::new(MemoryStore::new()));
}

#[test]
fn the_sqlite_store_conforms() {
    conformance::check(&temporary);
}

#[test]
fn a_store_that_keeps_half_a_batch_is_found_out() {
    let store = With {
        store: MemoryStore::new(),
        on_commit: Box::new(|store, commits| {
            commits.iter().try_for_each(|one| store.commit(std::slice::from_ref(one)))
        }),
    };
    let is_wanted =
        |case: &conformance::ConformanceCase| case.name == "a batch with one bad commit leaves nothing";
    let case = conformance::cases().into_iter().find(is_wanted).expect("the case");
    assert!((case.run)(&store).is_err());
}

#[test]
fn a_head_that_is_written_without_a_record_is_a_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let sqlite = SqliteStore::open(&directory.path().join("store.db"), SqliteOptions::default());
    let stores: [Box<dyn Store>; 2] = [Box::new(MemoryStore::new()), Box::new(sqlite.expect("a store"))];
    for store in stores {
        let begin = |key: i64| Commit {
            instance: InstanceKey(key),
            create: Some(Box::new(NewInstance {
                id: format!("i{key}").into(),
                chart: [7; 16],
                chart_id: "any".into(),
                version: "1.0.0".into(),
                parent: None,
                origin: None,
                created_ms: key,
                policy: "".into(),
            })),
            records: vec![record(key, 0)],
            head: Some(Box::default()),
            ..Commit::default()
        };
        store.commit(&[begin(1), begin(2)]).unwrap();
        let changed = |after: u64| store.changes_after(after).unwrap().expect("it knows changes").instances;
        assert_eq!(changed(2), []);
        let quiet = Commit { instance: InstanceKey(1), head: Some(Box::default()), ..Commit::default() };
        store.commit(&[quiet]).unwrap();
        assert_eq!(changed(2), [InstanceKey(1)]);
        let step = Commit {
            records: vec![record(2, 1)],
            ..Commit { instance: InstanceKey(2), ..Commit::default() }
        };
        store.commit(&[step]).unwrap();
        assert_eq!((changed(2), changed(3)), (vec![InstanceKey(1), InstanceKey(2)], vec![]));
    }
}

fn record(key: i64, step: u64) -> Record {
    Record {
        seq: 0,
        instance: InstanceKey(key),
        step,
        at_ms: 1_000,
        kind: if step == 0 { RecordKind::Started } else { RecordKind::Stepped },
        event: String::new(),
        delta: String::new(),
        effects: String::new(),
    }
}
