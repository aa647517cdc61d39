//! `rawko migrate` with kills in the middle of many instances: each keeps its timers, calls, approvals and effects.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use rawko_core::Value;
use rawko_host::{Edition, Host, RestoredSnapshot, SnapshotReader};
use rawko_store::{Filter, InstanceRow, OpenEffect, RecordKind, SqliteOptions, SqliteStore, Store};
use serde_json::Value as Json;

use crate::migrating::{FIRST, MAP, SECOND};
use crate::support::{command, directory, played, run, store_of};

/// Starts many instances that wait: half of them for a person, all of them with a timer.
fn fill(dir: &Path, instances: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = store_of(dir);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(&place, SqliteOptions::default()).unwrap());
        let edition = Edition::read("article.yaml", FIRST).unwrap();
        let host = Host::builder().store(store).chart(edition.clone()).start().await.unwrap();
        for number in 0..instances {
            let id = format!("a-{number:05}");
            host.start_edition(edition.clone(), Value::Null, Some(id.clone())).await.unwrap();
            for event in ["SUBMIT", "LOOK"].iter().take(1 + number % 2) {
                let event = rawko_core::NamedEvent::new(*event, Value::Null);
                host.send(&id, event, None).await.unwrap();
            }
        }
        host.close().await;
    });
}

/// Everything of an instance that a migration must not lose.
struct HeldInstance {
    row: InstanceRow,
    effects: Vec<OpenEffect>,
    /// When its timers are due.
    timers: Vec<i64>,
    /// Open invocations: id, service, input, attempt.
    open: Vec<String>,
    /// Migrations in its journal.
    migrated: usize,
}

fn read_store(dir: &Path) -> Arc<SqliteStore> {
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    Arc::new(SqliteStore::open(&store_of(dir), options).unwrap())
}

fn held(dir: &Path) -> Vec<HeldInstance> {
    let store = read_store(dir);
    let mut rows = store.list(&Filter::default()).unwrap().rows;
    rows.sort_by_key(|row| row.key);
    let restored = SnapshotReader::new(store.clone()).snapshots(&rows).unwrap();
    let of = |(row, restored): (InstanceRow, Option<RestoredSnapshot>)| {
        let snapshot = restored.unwrap().snapshot;
        let mut timers: Vec<i64> = snapshot.timers().iter().map(|timer| timer.due_ms).collect();
        timers.sort_unstable();
        let open = snapshot
            .pending()
            .map(|open| format!("{} {} {} {}", open.id, open.src, open.input, open.attempt));
        let records = store.records(row.key, 0, usize::MAX).unwrap();
        let migrated = records.iter().filter(|record| record.kind == RecordKind::Migrated).count();
        let effects = store.open_effects(Some(row.key)).unwrap();
        HeldInstance { open: open.collect(), row, effects, timers, migrated }
    };
    rows.into_iter().zip(restored).map(of).collect()
}

/// Compares each instance with what it was before; returns how many run on the new chart.
fn nothing_is_lost(before: &[HeldInstance], now: &[HeldInstance]) -> usize {
    assert_eq!(before.len(), now.len());
    let mut migrated = 0;
    for (old, new) in before.iter().zip(now) {
        let id = &new.row.new.id;
        assert_eq!(&old.row.new.id, id);
        let version = if new.migrated == 0 { "1.0.0" } else { "2.0.0" };
        assert_eq!((&*new.row.new.version, new.migrated <= 1), (version, true), "{id}");
        assert_eq!((&old.timers, old.timers.len()), (&new.timers, 1), "{id}");
        assert_eq!(old.open, new.open, "{id}");
        assert_eq!(old.effects, new.effects, "{id}");
        assert_eq!(
            (old.row.head.next_due_ms, old.row.head.wait),
            (new.row.head.next_due_ms, new.row.head.wait)
        );
        migrated += new.migrated;
    }
    migrated
}

#[test]
fn killed_again_and_again_nothing_is_lost_and_nothing_migrated_twice() {
    const KILLS: usize = 6;
    // The nightly tier asks for 10,000.
    let instances = std::env::var("RAWKO_MIGRATE_INSTANCES").ok().and_then(|text| text.parse().ok());
    let instances: usize = instances.unwrap_or(300);
    let dir = directory(&[("article.yaml", FIRST), ("new.yaml", SECOND), ("map.yaml", MAP)]);
    played(dir.path(), &["ps"]);
    fill(dir.path(), instances);
    let before = held(dir.path());
    assert!(before.iter().any(|held| !held.open.is_empty() && !held.effects.is_empty()));
    let args = [
        "migrate", "--all", "--from", "article", "--to", "new.yaml", "--map", "map.yaml", "--apply", "--json",
    ];
    let (store, mut kills) = (read_store(dir.path()), Vec::new());
    let so_far = || {
        let rows = store.list(&Filter::default()).unwrap().rows;
        rows.iter().filter(|row| &*row.new.version == "2.0.0").count()
    };
    for round in 1..=KILLS {
        let wanted = instances * round / (KILLS + 1);
        let mut child =
            command(dir.path(), &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if so_far() >= wanted {
                child.kill().unwrap();
                break;
            }
        }
        child.wait().unwrap();
        kills.push(nothing_is_lost(&before, &held(dir.path())));
    }
    assert!(kills.iter().any(|migrated| (1..instances).contains(migrated)), "killed too late: {kills:?}");
    let began = std::time::Instant::now();
    let last = run(dir.path(), &args, "");
    println!(
        "{instances} instances, killed when these had migrated: {kills:?}, the last run took {:?}",
        began.elapsed()
    );
    assert_eq!(last.code, Some(0), "{}{}", last.stdout, last.stderr);
    let json: Json = serde_json::from_str(&last.stdout).unwrap();
    let reports = json["instances"].as_array().unwrap();
    assert_eq!(reports.len(), instances);
    assert!(reports.iter().all(|report| report["verdict"] == "migrated"));
    assert_eq!(nothing_is_lost(&before, &held(dir.path())), instances);
    let verified = run(dir.path(), &["audit", "verify"], "");
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}
