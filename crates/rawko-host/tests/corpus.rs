//! Restores instances from stores of every released format: snapshots and journals of earlier releases, through their
//! charts. The stores are those of `crates/rawko-store/tests/corpus`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::expect_file;
use rawko_host::SnapshotReader;
use rawko_store::{Filter, SqliteOptions, SqliteStore, Store};

/// Returns the last snapshot of every instance as JSON, and the states after each of its steps.
fn restored(reader: &SnapshotReader) -> String {
    let mut out = String::new();
    let mut rows = reader.store().list(&Filter::default()).unwrap().rows;
    rows.reverse();
    for row in &rows {
        writeln!(out, "{}", row.new.id).unwrap();
        let first = row.new.origin.as_ref().map_or(0, |origin| origin.step);
        for step in first..=row.step {
            let past = reader.snapshot(row, Some(step)).unwrap();
            let json: serde_json::Value = serde_json::from_str(&past.snapshot.to_json(&past.chart)).unwrap();
            writeln!(out, "  {step} {}", json["configuration"]).unwrap();
        }
        let last = reader.snapshot(row, None).unwrap();
        writeln!(out, "  {}", last.snapshot.to_json(&last.chart)).unwrap();
    }
    out
}

#[test]
fn instances_of_every_format_are_restored_at_every_step() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rawko-store/tests/corpus");
    let folders = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.join("store.db").exists()).collect();
    folders.sort();
    assert!(folders.len() >= 3, "{folders:?}");
    for folder in folders {
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("store.db");
        std::fs::copy(folder.join("store.db"), &copy).unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&copy, SqliteOptions::default()).unwrap());
        let reader = SnapshotReader::new(store);
        expect_file![folder.join("restored.txt")].assert_eq(&restored(&reader));
        for row in reader.store().list(&Filter::default()).unwrap().rows {
            let id = row.new.id.to_string();
            assert_eq!(reader.verify(row), Ok(()), "{id} of {}", folder.display());
        }
    }
}
