//! Backup and restore, export and import, pruning: on the store of the corpus, which has data of every kind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{begin, chart, step};
use expect_test::expect;
use rawko_store::*;
use tempfile::TempDir;

/// The checks that take a chart have tests of their own.
const UNCHECKED: StoreCheck<'static> = &|_| Ok(Vec::new());

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

/// Opens a copy of the corpus.
fn corpus() -> (TempDir, PathBuf, SqliteStore) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/format-3/store.db");
    fs::copy(corpus, &path).unwrap();
    let store = open(&path);
    (directory, path, store)
}

fn ids(store: &dyn Store) -> Vec<String> {
    let rows = store.list(&Filter::default()).unwrap().rows;
    rows.iter().rev().map(|row| row.new.id.to_string()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_backup_is_taken_while_the_host_commits_and_is_a_store_of_one_file() {
    let (directory, _path, store) = corpus();
    let copies = directory.path().join("copies");
    fs::create_dir(&copies).unwrap();
    let target = copies.join("backup.db");
    std::thread::scope(|scope| {
        let store = &store;
        scope.spawn(move || {
            store.put_chart(&chart()).unwrap();
            store.commit(&[begin(100)]).unwrap();
            (1..200).for_each(|number| store.commit(&[step(100, number)]).unwrap());
        });
        let report = store.backup(&target, UNCHECKED).unwrap();
        assert_eq!(report.problems, [] as [&str; 0]);
    });
    assert_eq!(names(&copies), ["backup.db"]);
    let copy =
        SqliteStore::open(&target, SqliteOptions { read_only: true, ..SqliteOptions::default() }).unwrap();
    let before = ids(&store);
    assert!(ids(&copy).iter().all(|id| before.contains(id)));
    for row in copy.list(&Filter::default()).unwrap().rows {
        assert_eq!(copy.base(row.key, Some(3)).is_ok(), store.base(row.key, Some(3)).is_ok());
    }
}

#[test]
fn a_restored_backup_is_the_store_and_the_one_before_is_kept() {
    let (directory, path, store) = corpus();
    let backup = directory.path().join("backup.db");
    let before = ids(&store);
    store.backup(&backup, UNCHECKED).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(100)]).unwrap();
    drop(store);
    let restored = SqliteStore::restore(&backup, &path, "today", UNCHECKED).unwrap();
    let aside = directory.path().join("store.db.replaced-today");
    assert_eq!(restored.replaced.as_deref(), Some(&*aside));
    let store = open(&path);
    assert_eq!(ids(&store), before);
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(101)]).unwrap();
    assert!(ids(&open(&aside)).contains(&"i100".to_owned()), "nothing of the other is lost");
    drop(store);
    SqliteStore::restore(&backup, &path, "today", UNCHECKED).unwrap();
    assert!(directory.path().join("store.db.replaced-today-2").exists(), "and nothing is overwritten");
}

#[test]
fn what_is_no_sound_backup_is_not_restored() {
    let (directory, path, store) = corpus();
    let backup = directory.path().join("backup.db");
    store.backup(&backup, UNCHECKED).unwrap();
    drop(store);
    let whole = fs::read(&backup).unwrap();
    let cases: [(&str, &dyn Fn()); 4] = [
        ("missing", &|| fs::remove_file(&backup).unwrap()),
        ("text", &|| fs::write(&backup, "a letter, and not a short one either, to be sure").unwrap()),
        ("cut", &|| fs::write(&backup, &whole[..whole.len() / 2]).unwrap()),
        ("changed", &|| {
            fs::write(&backup, &whole).unwrap();
            let sql = "UPDATE journal SET delta = '{}' WHERE step = 2";
            rusqlite::Connection::open(&backup).unwrap().execute_batch(sql).unwrap();
        }),
    ];
    let files = names(directory.path());
    for (what, happens) in cases {
        happens();
        let error = SqliteStore::restore(&backup, &path, "today", UNCHECKED).unwrap_err();
        let files: Vec<_> = files.iter().filter(|name| what != "missing" || *name != "backup.db").collect();
        assert_eq!(names(directory.path()).iter().collect::<Vec<_>>(), files, "{what}: {error}");
    }
    assert!(ids(&open(&path)).contains(&"finished".to_owned()));
}

fn exported(store: &SqliteStore, id: &str) -> Vec<u8> {
    let mut out = Vec::new();
    store.family(id).unwrap().unwrap().write(&mut out, 7).unwrap();
    out
}

#[test]
fn an_export_is_one_file_with_everything_that_belongs_to_an_instance() {
    let (_directory, _path, store) = corpus();
    let text = String::from_utf8(exported(&store, "shipping")).unwrap();
    let kinds: Vec<&str> = text.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
    expect![
        "export chart chart instance record record record snapshot effect audit audit audit instance record snapshot end"
    ]
    .assert_eq(&kinds.join(" "));
    assert_eq!(store.family("nothing").unwrap(), None);
}

#[test]
fn an_imported_instance_is_the_same_in_another_store() {
    let (_directory, _path, from) = corpus();
    let directory = tempfile::tempdir().unwrap();
    let to = open(&directory.path().join("other.db"));
    to.put_chart(&chart()).unwrap();
    to.commit(&[begin(1), begin(2)]).unwrap();
    for id in ["shipping", "asking", "finished", "forked", "killed", "denied", "cancelled"] {
        let text = exported(&from, id);
        let family = InstanceFamily::read(&*text).unwrap();
        to.adopt(family).unwrap();
        assert!(exported(&to, id) == text, "{id}: an export of the import is the same file");
        let refused = to.adopt(InstanceFamily::read(&*text).unwrap());
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{id} is there already");
    }
    assert_eq!(to.report().unwrap().problems, [] as [&str; 0]);
    let (old, new) = (from.find("asking").unwrap().unwrap(), to.find("asking").unwrap().unwrap());
    assert_ne!(old.key, new.key);
    for step in 0..=old.step {
        let base = |store: &SqliteStore, row: &InstanceRow| {
            let base = store.base(row.key, Some(step)).unwrap().unwrap();
            let deltas: Vec<String> = base.records.into_iter().map(|record| record.delta).collect();
            (base.snapshot, deltas)
        };
        assert_eq!(base(&to, &new), base(&from, &old), "step {step}");
    }
    let packed = to.base(new.key, None).unwrap().unwrap().records.pop().unwrap().event;
    content::unpack(&packed, &mut |hash| to.blob(hash)).unwrap();
    assert_eq!(to.delivered(to.find("finished").unwrap().unwrap().key, "note-1").unwrap(), Some(1));
    to.commit(&[step(new.key.0, new.step + 1)]).unwrap();
}

#[test]
fn a_damaged_export_is_not_imported() {
    let (_directory, _path, store) = corpus();
    let text = String::from_utf8(exported(&store, "finished")).unwrap();
    let check = |changed: &str, says: &str| {
        let error = InstanceFamily::read(changed.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    check("", "is incomplete");
    check("not JSON\n", "line 1 is invalid");
    check(&text.replacen("\"v\":1", "\"v\":2", 1), "unsupported export version 2");
    let cut: String = text.lines().take(9).map(|line| format!("{line}\n")).collect();
    check(&cut, "incomplete or was modified");
    check(&text.replacen("Pay 30?", "Pay 40?", 1), "was modified: the record does not match");
    check(&text.replacen("A long note", "A bold note", 1), "was modified: the blob does not match");
    check(
        &text.replacen("\"amount\": 0", "\"amount\": 1", 1).replacen("asking", "taking", 1),
        "incomplete or was modified",
    );
    check(
        &format!("{text}{{\"line\":\"inbound\",\"event\":\"{{}}\"}}\n"),
        "unexpected data after the last line",
    );
    let without: String = text
        .lines()
        .filter(|line| !line.starts_with("{\"line\":\"record\""))
        .map(|line| format!("{line}\n"))
        .collect();
    check(&without, "incomplete or was modified");
}

#[test]
fn only_what_ended_is_pruned_and_everything_that_belongs_to_it_goes() {
    let (_directory, path, store) = corpus();
    let all = store.prunable(&Retention::default()).unwrap();
    let shown: Vec<String> = all
        .iter()
        .map(|it| format!("{} {} {} {}", it.id, it.outcome.as_str(), it.instances, it.records))
        .collect();
    expect![[r#"
        finished succeeded 2 7
        denied succeeded 1 2
        cancelled cancelled 1 2"#]]
    .assert_eq(&shown.join("\n"));
    let of = |retention: Retention| -> Vec<String> {
        store.prunable(&retention).unwrap().into_iter().map(|it| it.id).collect()
    };
    let any = Retention::default;
    assert_eq!(of(Retention { outcomes: vec![Outcome::Cancelled], ..any() }), ["cancelled"]);
    assert_eq!(of(Retention { ended_before_ms: Some(all[0].ended_ms), ..any() }), [] as [&str; 0]);
    assert_eq!(of(Retention { ended_before_ms: Some(all[1].ended_ms), ..any() }), ["finished"]);
    assert_eq!(of(Retention { size_max_bytes: Some(1 << 30), ..any() }), [] as [&str; 0]);
    assert_eq!(of(Retention { size_max_bytes: Some(1), ..any() }).len(), 3);
    let just_over = store.used_bytes().unwrap() - 1;
    assert_eq!(of(Retention { size_max_bytes: Some(just_over), ..any() }), ["finished"]);

    let before = (store.last_seq().unwrap(), store.marks().unwrap());
    let asking = store.find("asking").unwrap().unwrap();
    let refused = store.prune(&[all[0].key, asking.key]);
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    let pruned = store.prune(&all.iter().map(|it| it.key).collect::<Vec<_>>()).unwrap();
    assert_eq!((pruned.instances, pruned.records), (4, 11));
    assert_eq!(pruned.blobs, 1, "the note of `finished`; the others are needed");
    assert_eq!(ids(&store), ["asking", "forked", "shipping", "shipping.parcel.2", "killed"]);
    assert_eq!((store.last_seq().unwrap(), store.marks().unwrap()), before, "no number is given twice");
    assert!(store.audit(Some("finished"), 9).unwrap().is_empty());
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
    store.commit(&[step(asking.key.0, asking.step + 1)]).unwrap();
    store.shrink().unwrap();
    store.commit(&[step(asking.key.0, asking.step + 2)]).unwrap();
    drop(store);
    let store = open(&path);
    assert_eq!(store.find("asking").unwrap().unwrap().step, asking.step + 2);
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
    let rebuilt = store.family("asking").unwrap().unwrap();
    assert_eq!(rebuilt.blobs.len(), 20);
}

#[test]
fn the_file_becomes_smaller_and_the_second_time_only_by_moving_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = open(&path);
    store.put_chart(&chart()).unwrap();
    let mut size = 0;
    for round in 0..2 {
        let key = round * 1_000 + 1;
        store.commit(&[begin(key), begin(key + 1)]).unwrap();
        for number in 1..=400 {
            let mut commit = step(key, number);
            commit.records[0].event = format!("\"{}\"", "x".repeat(2_000));
            store.commit(&[commit]).unwrap();
        }
        let over = Head { status: rawko_core::Status::Done, ..Head::default() };
        let ended = Commit { instance: InstanceKey(key), head: Some(Box::new(over)), ..Commit::default() };
        store.commit(&[ended]).unwrap();
        store.prune(&[InstanceKey(key)]).unwrap();
        store.shrink().unwrap();
        store.commit(&[step(key + 1, 1)]).unwrap();
        let now = fs::metadata(&path).unwrap().len();
        assert!(now < 300_000, "{now}");
        assert!(size == 0 || now < size + 50_000, "{size} {now}");
        size = now;
    }
    let mode: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "auto_vacuum", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, 2);
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
}
