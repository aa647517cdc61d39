//! A write-ahead log that was truncated or overwritten loses whole commits from its end, and nothing else. A log
//! without its first frame is lost instead of torn: a host writes that frame before its first commit.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::path::Path;
use std::sync::LazyLock;

use common::{begin, chart, step};
use proptest::prelude::*;
use rawko_store::*;

const COMMITS: u64 = 40;

/// The file and its log after all commits, none of which is in the file yet.
struct Image {
    file: Vec<u8>,
    log: Vec<u8>,
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

/// Changes several tables at once, so that a partial commit is visible.
fn commit(number: u64) -> Commit {
    let seq = i64::try_from(number).unwrap();
    let mut commit = step(1, number);
    commit.records[0].event = format!("\"{}\"", "x".repeat(number as usize * 97 % 6_000));
    Commit {
        head: Some(Box::new(Head { next_due_ms: Some(seq), ..Head::default() })),
        snapshot: Some(Box::new(SavedSnapshot { step: number, body: "{}".to_owned() })),
        sent: vec![Inbound { seq, to: InstanceKey(1), event: "{}".to_owned() }],
        ..commit
    }
}

static IMAGE: LazyLock<Image> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = open(&path);
    store.put_chart(&chart()).unwrap();
    store.commit(&[begin(1)]).unwrap();
    // Closing it checkpoints the log.
    drop(store);
    let store = open(&path);
    (1..=COMMITS).for_each(|number| store.commit(&[commit(number)]).unwrap());
    Image {
        file: std::fs::read(&path).unwrap(),
        log: std::fs::read(directory.path().join("store.db-wal")).unwrap(),
    }
});

/// Header of the log, header of a frame, page.
const FIRST_FRAME_LEN: usize = 32 + 24 + 4096;

/// Returns the file with all commits of the log in it, as a checkpoint leaves it.
fn checkpointed() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    std::fs::write(&path, &IMAGE.file).unwrap();
    std::fs::write(directory.path().join("store.db-wal"), &IMAGE.log).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
    std::fs::read(&path).unwrap()
}

/// Returns the number of commits left with this log. They must be a prefix, and whole. `None` if the log is lost, which
/// the store must report.
fn commits_left(log: &[u8]) -> Option<u64> {
    commits_left_in(&IMAGE.file, log)
}

fn commits_left_in(file: &[u8], log: &[u8]) -> Option<u64> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    std::fs::write(&path, file).unwrap();
    std::fs::write(directory.path().join("store.db-wal"), log).unwrap();
    let store = match SqliteStore::open(&path, SqliteOptions::default()) {
        Err(StoreError::Damaged(words)) if words.contains("write-ahead log") => return None,
        other => other.unwrap(),
    };
    let row = store.find("i1").unwrap().unwrap();
    let left = row.step;
    let steps: Vec<u64> = store.tail(0, usize::MAX).unwrap().iter().map(|record| record.step).collect();
    assert_eq!(steps, (0..=left).collect::<Vec<_>>());
    assert_eq!(store.inbound(None).unwrap().len() as u64, left);
    assert_eq!(row.head.next_due_ms.unwrap_or(0) as u64, left);
    assert_eq!(store.base(InstanceKey(1), None).unwrap().unwrap().snapshot.step, left);
    assert_eq!(store.report().unwrap().problems, [] as [&str; 0]);
    store.commit(&[commit(left + 1)]).unwrap();
    Some(left)
}

#[test]
fn the_whole_log_is_every_commit_and_no_log_is_a_loss() {
    assert_eq!(commits_left(&IMAGE.log), Some(COMMITS));
    assert_eq!(commits_left(&[]), None);
    assert_eq!(commits_left(&IMAGE.log[..FIRST_FRAME_LEN - 1]), None);
    assert_eq!(commits_left(&IMAGE.log[..FIRST_FRAME_LEN]), Some(0));
}

#[test]
fn a_longer_log_never_holds_fewer_commits() {
    let len = IMAGE.log.len();
    let mut last = 0;
    for cut in (1..=32).map(|part| len * part / 32) {
        let left = commits_left(&IMAGE.log[..cut]).unwrap();
        assert!(left >= last, "cut at {cut}");
        last = left;
    }
}

/// A power failure while the header was rewritten: its first bytes are the new ones, which are the same in every
/// header. SQLite does so after a checkpoint; before one, the header was damaged.
#[test]
fn a_torn_header_is_no_loss_after_a_checkpoint() {
    let file = checkpointed();
    for cut in [12, 13, 20, 31] {
        let mut log = IMAGE.log.clone();
        log[cut..32].fill(0xaa);
        assert_eq!(commits_left_in(&file, &log), Some(COMMITS), "cut at {cut}");
        assert_eq!(commits_left(&log), None, "cut at {cut}");
    }
}

const FRAME_LEN: usize = 24 + 4096;

#[test]
fn a_damaged_frame_before_acknowledged_commits_is_named_and_can_be_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let mut log = IMAGE.log.clone();
    log[32 + 19 * FRAME_LEN + 1_000] ^= 4;
    std::fs::write(&path, &IMAGE.file).unwrap();
    std::fs::write(directory.path().join("store.db-wal"), &log).unwrap();
    for read_only in [true, false] {
        let outcome = SqliteStore::open(&path, SqliteOptions { read_only, ..SqliteOptions::default() });
        let Err(StoreError::Damaged(words)) = outcome else { panic!("{outcome:?}") };
        let parts =
            ["frame 20 of", "store.db-wal is damaged", "acknowledged commits", "--accept-loss", "restore"];
        parts.iter().for_each(|part| assert!(words.contains(part), "{part}: {words}"));
    }
    assert!(std::fs::read(directory.path().join("store.db-wal")).unwrap() == log, "the log was changed");
    SqliteStore::accept_loss(&path).unwrap();
    let store = open(&path);
    let left = store.find("i1").unwrap().unwrap().step;
    assert!(left < COMMITS);
    store.commit(&[commit(left + 1)]).unwrap();
}

/// Frames of an earlier generation of the log follow the current ones: it is overwritten in place.
#[test]
fn old_frames_behind_the_current_ones_are_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    std::fs::write(&path, &IMAGE.file).unwrap();
    std::fs::write(directory.path().join("store.db-wal"), &IMAGE.log).unwrap();
    let store = open(&path);
    // Opening it brought all frames into the file, so the next commit begins at the start of the log.
    store.commit(&[commit(COMMITS + 1)]).unwrap();
    let files =
        [std::fs::read(&path).unwrap(), std::fs::read(directory.path().join("store.db-wal")).unwrap()];
    assert!(
        files[1].len() >= IMAGE.log.len() && files[1][16..24] != IMAGE.log[16..24],
        "it was not restarted"
    );
    assert_eq!(commits_left_in(&files[0], &files[1]), Some(COMMITS + 1));
}

proptest! {
    #[test]
    fn a_log_cut_anywhere_loses_whole_commits_from_the_end(at in 0.0..1.0_f64) {
        let cut = (IMAGE.log.len() as f64 * at) as usize;
        prop_assert_eq!(commits_left(&IMAGE.log[..cut]).is_none(), cut < FIRST_FRAME_LEN);
    }

    #[test]
    fn so_does_a_log_with_rubbish_from_somewhere_on(at in 0.0..1.0_f64, rubbish in any::<u8>()) {
        let mut log = IMAGE.log.clone();
        let from = (log.len() as f64 * at) as usize;
        log[from..].fill(rubbish);
        prop_assert_eq!(commits_left(&log).is_none(), log[..12] != IMAGE.log[..12]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_flipped_bit_loses_at_most_the_last_commit(at in 0.0..1.0_f64, bit in 0..8_u32) {
        let mut log = IMAGE.log.clone();
        let at = (log.len() as f64 * at) as usize;
        log[at] ^= 1 << bit;
        let left = commits_left(&log);
        prop_assert!(left.is_none_or(|left| left + 1 >= COMMITS), "{left:?} left, flipped at {at}");
    }

    #[test]
    fn so_does_a_flipped_bit_of_the_header(at in 0..32_usize, bit in 0..8_u32) {
        let mut log = IMAGE.log.clone();
        log[at] ^= 1 << bit;
        prop_assert_eq!(commits_left(&log), None);
    }
}
