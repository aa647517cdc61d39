//! Opens stores of every released format and compares their content: the corpus in `tests/corpus` has a folder per
//! format, each with its expected listing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use rawko_store::*;

/// Longer texts are shown by their length and hash.
const SHOWN_MAX: usize = 200;

fn shown(store: &dyn Store, packed: &str) -> String {
    let text = content::unpack(packed, &mut |hash| store.blob(hash)).unwrap();
    match text.len() {
        0..=SHOWN_MAX => text,
        len => format!("{len} bytes {}", content::hex(&content::hash(text.as_bytes()))),
    }
}

/// Returns everything that can be read from a store, one line per item.
fn listing(store: &dyn Store) -> String {
    let mut out = String::new();
    for chart in store.charts().unwrap() {
        writeln!(out, "chart {} {} {}", content::hex(&chart.hash), chart.id, chart.version).unwrap();
    }
    let mut rows = store.list(&Filter::default()).unwrap().rows;
    rows.reverse();
    for row in &rows {
        let (new, head) = (&row.new, &row.head);
        writeln!(out, "\ninstance {} `{}` {} {}", row.key.0, new.id, new.chart_id, new.version).unwrap();
        let (status, wait) = (head.status.as_str(), head.wait.as_str());
        writeln!(out, "  {status} {wait} step {} at {}", row.step, row.updated_ms).unwrap();
        writeln!(out, "  due {:?} fault {:?} ledger {:?}", head.next_due_ms, head.fault, head.ledger)
            .unwrap();
        let parent = new.parent.as_ref().map(|it| (&it.id, it.invocation, &it.invoke));
        let origin = new.origin.as_ref().map(|it| (&it.id, it.step));
        writeln!(out, "  parent {parent:?} origin {origin:?} policy {:?}", new.policy).unwrap();
        for record in store.records(row.key, 0, usize::MAX).unwrap() {
            let text = |packed: &str| shown(store, packed);
            writeln!(
                out,
                "  record {} step {} {:?} at {}",
                record.seq, record.step, record.kind, record.at_ms
            )
            .unwrap();
            for (name, packed) in
                [("event", &record.event), ("delta", &record.delta), ("effects", &record.effects)]
            {
                writeln!(out, "    {name} {}", text(packed)).unwrap();
            }
        }
        for step in 0..=row.step {
            let Some(base) = store.base(row.key, Some(step)).unwrap() else { continue };
            if base.snapshot.step == step {
                writeln!(out, "  snapshot {step} {}", shown(store, &base.snapshot.body)).unwrap();
            }
        }
        for effect in store.open_effects(Some(row.key)).unwrap() {
            let (step, index, kind) = (effect.step, effect.index, effect.kind.as_str());
            writeln!(out, "  effect {step}/{index} {kind} {} {}", effect.name, effect.idempotency).unwrap();
            writeln!(out, "    {:?} {}", effect.due_ms, shown(store, &effect.body)).unwrap();
        }
        for line in store.audit(Some(&new.id), usize::MAX).unwrap() {
            let (effect, service, decision) = (&line.effect, &line.service, &line.decision);
            writeln!(out, "  audit {effect} {service} {decision} {}", line.reason).unwrap();
        }
    }
    writeln!(out, "\ntimers {:?}", store.timers().unwrap()).unwrap();
    writeln!(out, "inbound {:?}", store.inbound(None).unwrap()).unwrap();
    writeln!(out, "delivered {:?}", store.delivered(InstanceKey(1), "note-1").unwrap()).unwrap();
    writeln!(out, "marks {:?}", store.marks().unwrap()).unwrap();
    writeln!(out, "problems {:?}", store.report().unwrap().problems).unwrap();
    out
}

/// Returns the folders of the corpus, oldest format first.
fn formats() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let folders = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.join("store.db").exists()).collect();
    folders.sort();
    folders
}

#[test]
fn a_store_of_every_format_opens_and_holds_what_it_held() {
    let formats = formats();
    assert!(formats.len() >= 3, "{formats:?}");
    for folder in formats {
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("store.db");
        std::fs::copy(folder.join("store.db"), &copy).unwrap();
        let store = SqliteStore::open(&copy, SqliteOptions::default()).unwrap();
        expect_file![folder.join("expected.txt")].assert_eq(&listing(&store));
        drop(store);
        let again =
            SqliteStore::open(&copy, SqliteOptions { read_only: true, ..SqliteOptions::default() }).unwrap();
        expect_file![folder.join("expected.txt")].assert_eq(&listing(&again));
    }
}
