//! A changed or missing row is detected, and the error names the instance and the step; other instances stay readable.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::path::{Path, PathBuf};

use common::{begin, chart, step};
use rawko_store::*;
use rusqlite::Connection;
use tempfile::TempDir;

const STEPS: u64 = 20;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

/// A closed store with three instances of twenty steps each and a snapshot at step 10.
fn closed() -> (TempDir, PathBuf) {
    closed_with(&[1, 2, 3])
}

fn closed_with(keys: &[i64]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = open(&path);
    store.put_chart(&chart()).unwrap();
    store.commit(&keys.iter().map(|key| begin(*key)).collect::<Vec<_>>()).unwrap();
    for number in 1..=STEPS {
        let commits = keys.iter().map(|key| {
            let saved = SavedSnapshot { step: number, body: format!(r#"{{"whole":{number}}}"#) };
            let snapshot = (number == 10).then(|| Box::new(saved));
            Commit { snapshot, ..step(*key, number) }
        });
        store.commit(&commits.collect::<Vec<_>>()).unwrap();
    }
    drop(store);
    (directory, path)
}

fn run(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn damage(outcome: Result<Option<SnapshotBase>, StoreError>) -> String {
    match outcome {
        Err(StoreError::Damaged(words)) => words,
        other => panic!("not found: {other:?}"),
    }
}

#[test]
fn a_changed_or_deleted_row_names_the_instance_and_the_step() {
    let of = |step: u64, rest: &str| format!("{rest} WHERE instance = 2 AND step = {step}");
    let flipped = |step: u64, column: &str| {
        // Flips one bit of the first character.
        of(step, &format!("UPDATE journal SET {column} = char(unicode({column}) ^ 1) || substr({column}, 2)"))
            .replace("^ 1", "+ 1 - 2 * (unicode(event) % 2)")
    };
    let cases: [(&str, String, u64); 11] = [
        ("an event", flipped(15, "event"), 15),
        ("a delta", flipped(15, "delta"), 15),
        ("effects", of(15, "UPDATE journal SET effects = '[]'"), 15),
        ("a time", of(15, "UPDATE journal SET at_ms = at_ms ^ 1").replace("at_ms ^ 1", "at_ms + 1"), 15),
        ("a kind", of(15, "UPDATE journal SET kind = 3"), 15),
        ("a kind there is not", of(15, "UPDATE journal SET kind = 66"), 15),
        ("text that is not UTF-8", of(15, "UPDATE journal SET delta = CAST(x'ff' AS TEXT)"), 15),
        ("a link", of(15, "UPDATE journal SET chain = zeroblob(16)"), 15),
        ("a record in the middle", of(15, "DELETE FROM journal"), 15),
        ("the last record", of(STEPS, "DELETE FROM journal"), STEPS),
        ("a snapshot", of(10, "UPDATE snapshots SET body = '{\"whole\":11}'"), 10),
    ];
    for (what, sql, at) in cases {
        let (_directory, path) = closed();
        run(&path, &sql);
        for read_only in [true, false] {
            let store =
                SqliteStore::open(&path, SqliteOptions { read_only, ..SqliteOptions::default() }).unwrap();
            let name = format!("instance `i2`, step {at}:");
            let words = damage(store.base(InstanceKey(2), None));
            assert!(words.contains(&name), "{what}: {words}");
            let problems = store.report().unwrap().problems;
            assert!(problems.iter().any(|problem| problem.starts_with(&name)), "{what}: {problems:?}");
            for key in [1, 3] {
                assert!(store.base(InstanceKey(key), None).unwrap().is_some(), "{what}");
            }
            let mut bases = store.bases(&[1, 2, 3].map(InstanceKey)).unwrap().into_iter();
            assert!(matches!(bases.next(), Some(Ok(Some(_)))), "{what}");
            assert!(damage(bases.next().unwrap()).contains(&name), "{what}");
            assert!(matches!(bases.next(), Some(Ok(Some(_)))), "{what}");
            assert_eq!(store.list(&Filter::default()).unwrap().total, 3, "{what}");
        }
        let store = open(&path);
        store.commit(&[step(1, STEPS + 1), step(3, STEPS + 1)]).unwrap();
    }
}

#[test]
fn steps_before_the_damage_are_still_there() {
    let (_directory, path) = closed();
    run(&path, "UPDATE journal SET delta = '{}' WHERE instance = 2 AND step = 15");
    let store = open(&path);
    for step in [0, 5, 10, 14] {
        let base = store.base(InstanceKey(2), Some(step)).unwrap().unwrap();
        assert_eq!(base.snapshot.step + base.records.len() as u64, step);
    }
    assert!(damage(store.base(InstanceKey(2), Some(15))).contains("step 15"));
}

/// A reader of the journal gets no modified record, though loading begins after the later snapshots.
#[test]
fn records_before_the_last_snapshot_are_checked_when_they_are_read() {
    let (_directory, path) = closed();
    run(&path, "UPDATE journal SET delta = '{\"n\":777}' WHERE instance = 2 AND step = 5");
    let store = open(&path);
    let key = InstanceKey(2);
    assert!(store.base(key, None).unwrap().is_some(), "it is before the snapshot that loading begins with");
    let all = store.records(InstanceKey(1), 0, usize::MAX).unwrap();
    assert_eq!(all.len() as u64, STEPS + 1);
    let seq = |step: u64| all.iter().find(|record| record.step == step).unwrap().seq + 1;
    for (what, read) in [
        ("all records", store.records(key, 0, usize::MAX)),
        ("from the modified one", store.records(key, seq(4), 1)),
        ("all steps", store.steps(key, 0..=STEPS, usize::MAX)),
        ("the step alone", store.steps(key, 5..=5, 1)),
    ] {
        match read {
            Err(StoreError::Damaged(words)) => {
                assert!(words.contains("instance `i2`, step 5:"), "{what}: {words}")
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(store.records(key, 0, 5).unwrap().len(), 5, "those before it");
    assert_eq!(store.records(key, seq(5), usize::MAX).unwrap().len() as u64, STEPS - 5, "those after it");
    assert_eq!(store.steps(key, 6..=9, usize::MAX).unwrap().len(), 4);
    assert_eq!(store.steps(InstanceKey(3), 5..=5, 1).unwrap().len(), 1);
    // A deleted record is missed by its successor, wherever a page begins.
    drop(store);
    run(&path, "DELETE FROM journal WHERE instance = 3 AND step = 7");
    let store = open(&path);
    let key = InstanceKey(3);
    assert!(store.records(key, 0, usize::MAX).is_err());
    assert!(store.steps(key, 8..=8, 1).is_err());
}

#[test]
fn a_row_given_to_another_instance_is_noticed_by_both() {
    let (_directory, path) = closed();
    run(&path, "UPDATE journal SET instance = 3 WHERE instance = 2 AND step = 15");
    let problems = open(&path).report().unwrap().problems;
    assert!(problems.iter().any(|problem| problem.contains("`i2`")), "{problems:?}");
    let (_directory, path) = closed();
    run(&path, "UPDATE snapshots SET instance = 9, step = 9 WHERE instance = 3 AND step = 10");
    run(&path, "UPDATE snapshots SET instance = 3, step = 10 WHERE instance = 2 AND step = 10");
    assert!(damage(open(&path).base(InstanceKey(3), None)).contains("instance `i3`, step 10"));
}

#[test]
fn an_instance_whose_row_cannot_be_read_does_not_hide_the_others() {
    let (_directory, path) = closed();
    run(&path, "UPDATE instances SET status = 'actiwe' WHERE key = 2");
    let store = open(&path);
    let rows = store.list(&Filter::default()).unwrap().rows;
    let faults: Vec<bool> = rows.iter().map(|row| row.head.fault.is_some()).collect();
    assert_eq!(faults, [false, true, false]);
    assert!(matches!(store.find("i2"), Err(StoreError::Damaged(words)) if words.contains("`i2`")));
    assert!(matches!(store.instance(InstanceKey(2)), Err(StoreError::Damaged(_))));
    assert!(store.find("i1").unwrap().is_some());
    let problems = store.report().unwrap().problems;
    assert!(problems.iter().any(|problem| problem.starts_with("instance `i2`")), "{problems:?}");
}

#[test]
fn a_blob_is_checked_against_its_name() {
    let (_directory, path) = closed();
    let store = open(&path);
    let body = b"sa long value".to_vec();
    let blob = Blob { hash: content::hash(&body), body };
    store.commit(&[Commit { blobs: vec![blob.clone()], ..step(1, STEPS + 1) }]).unwrap();
    drop(store);
    run(&path, "UPDATE blobs SET body = CAST('sa long valve' AS BLOB)");
    let error = open(&path).blob(&blob.hash).unwrap_err();
    assert!(
        matches!(&error, StoreError::Damaged(words) if words.contains(&content::hex(&blob.hash))),
        "{error}"
    );
}

/// Earlier releases could record a step twice. Such an instance still opens, without a chain, and `doctor` reports it.
#[test]
fn a_journal_in_disorder_from_an_earlier_format_still_opens() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let scripts = [
        include_str!("../src/sqlite/v1.sql"),
        include_str!("../src/sqlite/v2.sql"),
        include_str!("../src/sqlite/v3.sql"),
        "INSERT INTO instances (key, id, chart, chart_id, version, created_ms, status, wait)
             VALUES (1, 'twice', x'07070707070707070707070707070707', 'order', '1.0.0', 5, 'active', 'event');
         INSERT INTO snapshots VALUES (1, 0, 0, '{}');
         INSERT INTO journal VALUES (1, 1, 0, 5, 0, 'null', '', ''), (2, 1, 1, 6, 2, '1', '{}', ''),
                                    (3, 1, 1, 6, 2, '1', '{}', ''), (4, 1, 2, 7, 2, '2', '{}', '');
         PRAGMA user_version = 3;",
    ];
    scripts.iter().for_each(|sql| run(&path, sql));
    let store = open(&path);
    store.put_chart(&chart()).unwrap();
    assert_eq!(store.base(InstanceKey(1), None).unwrap().unwrap().records.len(), 3);
    store.commit(&[step(1, 3), step(1, 4)]).unwrap();
    assert_eq!(store.base(InstanceKey(1), None).unwrap().unwrap().records.len(), 5);
    assert_eq!(
        store.report().unwrap().problems,
        ["instance `twice`, step 1: recorded after step 1 by an earlier release"]
    );
    drop(store);
    run(&path, "UPDATE journal SET delta = '[]' WHERE step = 4");
    assert!(damage(open(&path).base(InstanceKey(1), None)).contains("instance `twice`, step 4"));
}

/// Large values are stored beside the journal; damage there names the instance and the step, too.
#[test]
fn a_changed_or_deleted_large_value_names_the_instance_and_the_step() {
    let large = format!(r#"{{"text":"{}"}}"#, "long ".repeat(200));
    let packed = content::pack(&large);
    assert_eq!(packed.blobs.len(), 1);
    for sql in ["DELETE FROM blobs", "UPDATE blobs SET body = CAST(replace(body, 'long', 'lang') AS BLOB)"] {
        let (_directory, path) = closed();
        let store = open(&path);
        let mut commit = step(2, STEPS + 1);
        commit.records[0].delta = packed.text.to_string();
        commit.blobs = packed.blobs.clone();
        store.commit(&[commit]).unwrap();
        assert_eq!(store.report().unwrap().problems, Vec::<String>::new());
        drop(store);
        run(&path, sql);
        let problems = open(&path).report().unwrap().problems;
        let name = format!("instance `i2`, step {}: the stored value", STEPS + 1);
        assert!(problems.iter().any(|problem| problem.starts_with(&name)), "{sql}: {problems:?}");
        let chains = open(&path).verify_chains().unwrap();
        assert!(!chains.problems.is_empty(), "{sql}");
    }
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

/// Rows that no chain covers: another body or key would be a second payment.
#[test]
fn a_modified_effect_delivery_or_parent_names_the_instance_and_the_step() {
    let of_effects = [
        "step = 4",
        "\"index\" = 1",
        "kind = 'call'",
        "invocation = 4",
        "invocation = NULL",
        "name = 'refund'",
        "body = '{\"amount\":99}'",
        "opened_ms = 6",
        "due_ms = 0",
        "idempotency = 'other'",
        "result = '{}'",
        "parked = 1",
        "in_doubt = 0",
        "seal = x''",
    ];
    let effects = of_effects.iter().map(|set| format!("UPDATE effects SET {set} WHERE instance = 2"));
    let deliveries =
        ["key = 'other'", "step = 4"].map(|set| format!("UPDATE deliveries SET {set} WHERE instance = 2"));
    let of_instances = [
        "id = 'i9'",
        "parent_id = 'i3'",
        "parent_id = NULL",
        "parent_invocation = 8",
        "parent_invoke = 'b'",
        "parent_generation = 2",
        "origin_id = 'i1', origin_step = 1",
        "created_ms = 2",
        "policy = '{}'",
    ];
    let instances = of_instances.map(|set| format!("UPDATE instances SET {set} WHERE key = 2"));
    let (_directory, original) = closed_with(&[1, 3]);
    let store = open(&original);
    let mut child = begin(2);
    if let Some(new) = &mut child.create {
        new.parent =
            Some(ParentInvocation { id: "i1".into(), invocation: 7, invoke: "a".into(), generation: 1 });
    }
    store.commit(&[child]).unwrap();
    let deliveries_of = |key| vec![KeyedDelivery { key: format!("d{key}").into(), step: 1 }];
    let commits = [1, 2, 3].map(|key| {
        let number = if key == 2 { 1 } else { STEPS + 1 };
        Commit { opened: vec![effect(key)], deliveries: deliveries_of(key), ..step(key, number) }
    });
    store.commit(&commits).unwrap();
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
    assert_eq!(store.open_effects(Some(InstanceKey(2))).unwrap(), [effect(2)]);
    drop(store);
    for sql in effects.chain(deliveries).chain(instances) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        std::fs::copy(&original, &path).unwrap();
        run(&path, &sql);
        let store = open(&path);
        let problems = store.report().unwrap().problems;
        let id = if sql.contains("'i9'") { "i9" } else { "i2" };
        assert!(
            problems.iter().any(|it| it.starts_with(&format!("instance `{id}`, step "))),
            "{sql}: {problems:?}"
        );
        assert!(!store.verify_chains().unwrap().problems.is_empty(), "{sql}");
        let key = InstanceKey(2);
        let is_refused = |error: StoreError| matches!(error, StoreError::Damaged(_));
        let refused = [
            store.open_effects(Some(key)).err(),
            store.instance(key).err(),
            store.delivered(key, "d2").err(),
            store.delivered(key, "other").err(),
        ];
        assert_eq!(
            refused.into_iter().flatten().filter(|error| is_refused(error.clone())).count(),
            1,
            "{sql}"
        );
        assert_eq!(store.open_effects(Some(InstanceKey(1))).unwrap(), [effect(1)], "{sql}");
        assert_eq!(
            store.open_effects(None).unwrap().len(),
            if sql.contains("effects") { 2 } else { 3 },
            "{sql}"
        );
        assert_eq!(store.delivered(InstanceKey(3), "d3").unwrap(), Some(1), "{sql}");
    }
}

#[test]
fn a_lost_file_beside_its_log_is_not_an_empty_store() {
    let (_directory, path) = closed();
    let store = open(&path);
    store.commit(&[step(1, STEPS + 1)]).unwrap();
    // The process dies without closing.
    std::mem::forget(store);
    std::fs::remove_file(&path).unwrap();
    for read_only in [true, false] {
        match SqliteStore::open(&path, SqliteOptions { read_only, ..SqliteOptions::default() }) {
            Err(StoreError::Damaged(words)) => {
                assert!(words.contains("is missing and its write-ahead log"), "{words}")
            }
            other => panic!("{other:?}"),
        }
    }
    let mut log = path.into_os_string();
    log.push("-wal");
    assert!(Path::new(&log).exists());
}
