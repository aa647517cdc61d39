//! Rows beside the journal are counted: a deleted one names its instance, and nothing that rawko writes looks like one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::path::{Path, PathBuf};

use common::{begin, chart, step};
use rawko_store::*;
use rusqlite::Connection;
use tempfile::TempDir;

const STEPS: u64 = 3;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

/// A closed store with these instances, of three steps each.
fn closed_with(keys: &[i64]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = open(&path);
    store.put_chart(&chart()).unwrap();
    for key in keys {
        store.commit(&[begin(*key)]).unwrap();
        (1..=STEPS).for_each(|number| store.commit(&[step(*key, number)]).unwrap());
    }
    drop(store);
    (directory, path)
}

fn run(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn effect(instance: i64) -> OpenEffect {
    OpenEffect {
        instance: InstanceKey(instance),
        step: STEPS + 1,
        index: 0,
        kind: EffectKind::Service,
        invocation: Some(3),
        name: "pay".into(),
        body: r#"{"amount":10}"#.to_owned(),
        opened_ms: 5,
        due_ms: None,
        idempotency: format!("i{instance}/{}/0", STEPS + 1).into(),
        result: String::new(),
        parked: false,
        in_doubt: true,
    }
}

/// Effects are opened again under their place, closed twice, replaced and renumbered: their number stays right.
#[test]
fn rows_that_are_counted_stay_counted_however_they_are_written() {
    let (_directory, path) = closed_with(&[1]);
    let store = open(&path);
    let effect = |number: u64, index: u32| OpenEffect { step: number, index, ..effect(1) };
    let mut number = STEPS;
    let mut next = |opened: Vec<OpenEffect>, closed: Vec<(u64, u32)>, is_step: bool| {
        number += u64::from(is_step);
        let base =
            if is_step { step(1, number) } else { Commit { instance: InstanceKey(1), ..Commit::default() } };
        let deliveries = vec![KeyedDelivery { key: format!("d{}", number / 2).into(), step: number }];
        store.commit(&[Commit { opened, closed, deliveries, ..base }]).unwrap();
        assert_eq!(store.report().unwrap().problems, [] as [&str; 0], "step {number}");
        store.open_effects(Some(InstanceKey(1))).unwrap().len()
    };
    for is_step in [true, false] {
        assert_eq!(next(vec![effect(1, 0), effect(1, 1)], vec![], is_step), 2);
        assert_eq!(next(vec![effect(1, 1)], vec![], is_step), 2, "opened again");
        assert_eq!(next(vec![effect(1, 2)], vec![(1, 1)], is_step), 2, "one in the place of another");
        assert_eq!(
            next(vec![effect(1, 0)], vec![(1, 2)], is_step),
            1,
            "in the place of another, and there already"
        );
        assert_eq!(next(vec![effect(1, 3)], vec![(9, 9)], is_step), 2, "one that is not there is closed");
        assert_eq!(next(vec![effect(1, 4)], vec![(1, 4)], is_step), 2, "opened and closed");
        assert_eq!(next(vec![], vec![(1, 0), (1, 0), (1, 3)], is_step), 0, "closed twice");
    }
    drop(store);
    assert_eq!(open(&path).report().unwrap().problems, [] as [&str; 0]);
}

/// Deleted rows leave no gap in any chain.
#[test]
fn a_deleted_effect_delivery_or_message_is_missed() {
    let (_directory, original) = closed_with(&[1, 3]);
    let store = open(&original);
    let commits = [1, 3].map(|key| Commit {
        opened: vec![effect(key), OpenEffect { index: 1, kind: EffectKind::Held, ..effect(key) }],
        deliveries: ["a", "b"].map(|of| KeyedDelivery { key: of.into(), step: STEPS + 1 }).to_vec(),
        sent: vec![Inbound { seq: key, to: InstanceKey(key), event: "{}".to_owned() }],
        ..step(key, STEPS + 1)
    });
    store.commit(&commits).unwrap();
    drop(store);
    let cases = [
        ("DELETE FROM effects WHERE instance = 3 AND \"index\" = 1", "1 of 2 open effects are missing"),
        ("DELETE FROM deliveries WHERE instance = 3 AND key = 'a'", "1 of 2 deliveries are missing"),
        ("DELETE FROM inbound WHERE seq = 3", "1 of 2 messages in flight are missing"),
        ("UPDATE inbound SET event = '[]' WHERE seq = 3", "the message 3 is damaged"),
        ("UPDATE inbound SET seq = 4 WHERE seq = 3", "the message 4 is damaged"),
    ];
    for (sql, what) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        std::fs::copy(&original, &path).unwrap();
        run(&path, sql);
        let store = open(&path);
        let of_message = sql.contains("inbound");
        let loaded = if of_message {
            store.inbound(Some(InstanceKey(3))).err()
        } else {
            store.insist_on_rows(InstanceKey(3)).err()
        };
        assert_eq!(loaded.is_some(), !sql.starts_with("DELETE FROM inbound"), "{sql}: {loaded:?}");
        assert_eq!(store.insist_on_rows(InstanceKey(1)), Ok(()), "{sql}");
        for problems in [store.report().unwrap().problems, store.damage(None).unwrap().problems] {
            assert!(problems.iter().any(|it| it.contains(what)), "{sql}: {problems:?}");
            assert!(
                of_message || problems.iter().any(|it| it.starts_with("instance `i3`")),
                "{sql}: {problems:?}"
            );
        }
        store.commit(&[step(1, STEPS + 2)]).unwrap();
    }
}
