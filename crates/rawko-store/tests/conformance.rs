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
