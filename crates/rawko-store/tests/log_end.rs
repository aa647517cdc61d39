//! Damage in the last transaction of a write-ahead log is noticed, although it looks like a torn write: the file
//! `<store>-end` names the end of the last acknowledged commit. An older one, as a power failure leaves it, is no damage.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use common::{begin, chart, step};
use rawko_store::*;
use tempfile::TempDir;

const COMMITS: u64 = 12;
const FRAME_LEN: usize = 24 + 4096;

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, SqliteOptions::default())
}

/// The files of a killed host.
struct Image {
    file: Vec<u8>,
    log: Vec<u8>,
    /// The end after each commit.
    ends: Vec<Vec<u8>>,
    /// The length of the log up to each end.
    lens: Vec<usize>,
}

static IMAGE: LazyLock<Image> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = open(&path).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1)]).unwrap();
    drop(store);
    assert!(!beside(&path, "-end").exists(), "a closed store has none");
    let store = open(&path).unwrap();
    let (mut ends, mut lens) = (Vec::new(), Vec::new());
    for number in 1..=COMMITS {
        let mut commit = step(1, number);
        commit.records[0].event = format!("\"{}\"", "x".repeat(number as usize * 1_500 % 9_000));
        store.commit(&[commit]).unwrap();
        let end = fs::read(beside(&path, "-end")).unwrap();
        let frame = u64::from_le_bytes(end[8..16].try_into().unwrap());
        lens.push(32 + frame as usize * FRAME_LEN);
        ends.push(end);
    }
    let image =
        Image { file: fs::read(&path).unwrap(), log: fs::read(beside(&path, "-wal")).unwrap(), ends, lens };
    drop(store);
    image
});

fn beside(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

/// A store with this log and this end.
fn killed(log: &[u8], end: Option<&[u8]>) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    fs::write(&path, &IMAGE.file).unwrap();
    fs::write(beside(&path, "-wal"), log).unwrap();
    if let Some(end) = end {
        fs::write(beside(&path, "-end"), end).unwrap();
    }
    (directory, path)
}

/// Returns the last step, or the refusal; both ways of opening must agree.
fn last_step(path: &Path) -> Result<u64, String> {
    let read_only = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let looked = SqliteStore::open(path, read_only).map(drop);
    match (looked, open(path)) {
        (Ok(()), Ok(store)) => Ok(store.find("i1").unwrap().unwrap().step),
        (Err(StoreError::Damaged(one)), Err(StoreError::Damaged(other))) if one == other => Err(one),
        other => panic!("{other:?}"),
    }
}

fn last_end() -> &'static [u8] {
    IMAGE.ends.last().unwrap()
}

#[test]
fn a_flipped_bit_in_the_last_transaction_is_refused() {
    let (from, to) = (IMAGE.lens[COMMITS as usize - 2], IMAGE.lens[COMMITS as usize - 1]);
    for at in (from..to).step_by(613) {
        let mut log = IMAGE.log.clone();
        log[at] ^= 0x10;
        let (_directory, path) = killed(&log, Some(last_end()));
        let before = fs::read(&path).unwrap();
        let words = last_step(&path).unwrap_err();
        assert!(words.contains("acknowledged commit is lost") && words.contains("--accept-loss"), "{words}");
        assert!(fs::read(&path).unwrap() == before, "byte {at}: it was changed");
        // Without the end it is a torn write.
        let (_directory, path) = killed(&log, None);
        assert_eq!(last_step(&path), Ok(COMMITS - 1), "byte {at}");
    }
}

#[test]
fn a_log_without_its_last_transaction_is_refused_until_the_loss_is_accepted() {
    for cut in [IMAGE.lens[0], IMAGE.lens[COMMITS as usize - 2], IMAGE.lens[COMMITS as usize - 1] - 1] {
        let (_directory, path) = killed(&IMAGE.log[..cut], Some(last_end()));
        last_step(&path).unwrap_err();
        SqliteStore::accept_loss(&path).unwrap();
        let left = last_step(&path).unwrap();
        let store = open(&path).unwrap();
        store.commit(&[step(1, left + 1)]).unwrap();
        assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
    }
}

#[test]
fn an_older_end_and_a_torn_log_are_no_damage() {
    for (number, (end, len)) in (1..).zip(IMAGE.ends.iter().zip(&IMAGE.lens)) {
        let (_directory, path) = killed(&IMAGE.log[..*len], Some(end));
        assert_eq!(last_step(&path), Ok(number));
        // What came later was not synced when the power failed.
        let (_directory, path) = killed(&IMAGE.log[..*len + 24], Some(end));
        assert_eq!(last_step(&path), Ok(number));
    }
    let (_directory, path) = killed(&IMAGE.log, Some(&IMAGE.ends[0]));
    assert_eq!(last_step(&path), Ok(COMMITS));
}

#[test]
fn an_end_that_is_incomplete_or_of_another_log_is_ignored() {
    let mut flipped = last_end().to_owned();
    flipped[9] ^= 1;
    let other = {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = open(&path).unwrap();
        store.put_chart(&chart()).unwrap();
        store.commit(&[begin(1)]).unwrap();
        (1..=3 * COMMITS).for_each(|number| store.commit(&[step(1, number)]).unwrap());
        fs::read(beside(&path, "-end")).unwrap()
    };
    let cut = &IMAGE.log[..IMAGE.lens[COMMITS as usize - 1] - 1];
    for end in [&[][..], &last_end()[..20], &flipped, &other] {
        let (_directory, path) = killed(cut, Some(end));
        assert_eq!(last_step(&path), Ok(COMMITS - 1));
    }
}

/// The log is restarted again and again; a copy of all files at any time is a store with every commit.
#[test]
fn the_files_of_a_host_that_is_killed_are_never_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = open(&path).unwrap();
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1)]).unwrap();
    for number in 1..=1_500 {
        let mut commit = step(1, number);
        commit.records[0].event = format!("\"{}\"", "x".repeat(number as usize * 97 % 6_000));
        store.commit(&[commit]).unwrap();
        if number % 37 == 0 {
            let copy = tempfile::tempdir().unwrap();
            let copied = copy.path().join("store.db");
            for end in ["", "-wal", "-end"] {
                fs::copy(beside(&path, end), beside(&copied, end)).unwrap();
            }
            assert_eq!(last_step(&copied), Ok(number));
        }
    }
}

/// No index has the last record of a killed host, and nothing follows it: deleted together with its lines of the audit, it
/// leaves no gap.
#[test]
fn a_last_record_that_was_deleted_after_a_kill_is_missed() {
    let image = |is_deleted: bool| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = open(&path).unwrap();
        store.put_chart(&chart()).unwrap();
        store.commit(&[begin(1)]).unwrap();
        (1..=COMMITS).for_each(|number| store.commit(&[step(1, number)]).unwrap());
        if is_deleted {
            // While the host runs, so that the log with its end stays.
            let other = rusqlite::Connection::open(&path).unwrap();
            other.execute_batch("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)").unwrap();
        }
        let copy = tempfile::tempdir().unwrap();
        let copied = copy.path().join("store.db");
        for end in ["", "-wal", "-end"] {
            fs::copy(beside(&path, end), beside(&copied, end)).unwrap();
        }
        (copy, copied)
    };
    let (_directory, path) = image(false);
    assert_eq!(last_step(&path), Ok(COMMITS));
    let (_directory, path) = image(true);
    let words = last_step(&path).unwrap_err();
    assert!(words.contains("records were deleted") && words.contains("--accept-loss"), "{words}");
    SqliteStore::accept_loss(&path).unwrap();
    assert_eq!(last_step(&path), Ok(COMMITS - 1));
}
