//! The file `<store>-end`: the place in the write-ahead log where the last acknowledged commit ends. Damage in the last
//! transaction of a log looks like a torn write, which is no loss; only this file shows that the transaction was whole.
//!
//! It is written after the commit is durable and before it is acknowledged, and never synced. After a kill it is exact,
//! after a power failure it may be older: it never names a commit that the disk does not have.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::fault::fault;
use super::wal::{FRAME_HEADER_LEN, HEADER_LEN};
use super::{journal, log};
use crate::StoreError;
use crate::chain::hash;

const MAGIC: [u8; 8] = *b"rawkoen2";
/// Magic, frame number, salts, checksum, record number, and the first half of the hash of all these.
const LEN: usize = 56;
/// Until format 7, without the record.
const EARLIER_MAGIC: [u8; 8] = *b"rawkoend";
const EARLIER_LEN: usize = 48;

/// The last frame of a commit. Salts and checksum are copied from its header: a log that was restarted has others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    /// Counted from 1.
    pub(super) frame: u64,
    /// The salts and the checksum.
    pub(super) proof: [u8; 16],
    /// The last record of all instances: a deleted one is not missed otherwise while no index has it. 0 if unknown.
    pub(super) record: i64,
}

impl LogEnd {
    /// Reads the end of a store's log. `None` if there is no such file, or an incomplete one.
    pub(super) fn read(store: &Path) -> Option<LogEnd> {
        let mut bytes = [0; LEN];
        let file = File::open(path(store)).ok()?;
        file.read_exact_at(&mut bytes[..EARLIER_LEN], 0).ok()?;
        let is_earlier = bytes.starts_with(&EARLIER_MAGIC);
        if !is_earlier {
            file.read_exact_at(&mut bytes, 0).ok()?;
        }
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        let mut proof = [0; 16];
        proof.copy_from_slice(&bytes[16..32]);
        let record = if is_earlier { 0 } else { i64::try_from(number(32)).ok()? };
        let end = LogEnd { frame: number(8), proof, record };
        let is_whole = match is_earlier {
            true => bytes[32..EARLIER_LEN] == hash(&bytes[..32]),
            false => end.bytes() == bytes,
        };
        is_whole.then_some(end)
    }

    /// Returns true if the end is in the log with these salts.
    pub(super) fn is_in(&self, salts: &[u8]) -> bool {
        self.proof.starts_with(salts)
    }

    fn bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.frame.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.proof);
        bytes[32..40].copy_from_slice(&self.record.to_le_bytes());
        let hash = hash(&bytes[..40]);
        bytes[40..].copy_from_slice(&hash);
        bytes
    }
}

/// Fails if records are gone that were acknowledged in this log, although all of its frames are there.
pub(super) fn refuse_lost_records(connection: &Connection, place: &Path) -> Result<(), StoreError> {
    // The end first: a host may commit meanwhile.
    let Some(end) = LogEnd::read(place) else { return Ok(()) };
    let mut header = [0; HEADER_LEN];
    let log = log::path(place);
    let is_read = File::open(&log).and_then(|file| file.read_exact_at(&mut header, 0)).is_ok();
    if !is_read || !end.is_in(&header[16..24]) {
        return Ok(());
    }
    let is_open = || connection.query_row("SELECT is_open FROM owner", [], |row| row.get::<_, bool>(0));
    let read = || Ok((is_open()?, journal::last_seq(connection)?));
    let (is_open, last) = read().map_err(|error| fault(place, &error))?;
    if !is_open || last >= end.record {
        return Ok(());
    }
    Err(StoreError::Damaged(format!(
        "{}: the last record of the journal is {last} and the last acknowledged one {}, so records were deleted; \
         restore a backup (`rawko restore`), or continue without them (`rawko doctor --accept-loss`)",
        place.display(),
        end.record
    )))
}

/// Keeps the file current.
pub(super) struct LogEndFile {
    path: PathBuf,
    /// The file and the log; `None` if one of them cannot be opened. Then damage at the end of the log is not noticed.
    files: Option<(File, File)>,
    page_len: u64,
}

impl LogEndFile {
    /// The log must exist.
    pub(super) fn open(store: &Path, connection: &Connection) -> LogEndFile {
        let path = path(store);
        let files = || {
            // The last host's end stays until the first commit.
            let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
            Ok::<_, std::io::Error>((options.open(&path)?, File::open(log::path(store))?))
        };
        let page_len = connection.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0));
        let page_len = u64::from(page_len.unwrap_or(0));
        let files = files().ok().filter(|_| page_len > 0);
        LogEndFile { path, files, page_len }
    }

    /// Writes the end after a commit of this connection. A failure leaves the file as it was, which is older. `record` is
    /// the last record, `frame` the last frame; 0 before the first commit.
    pub(super) fn write(&self, frame: u64, record: i64) {
        let Some((file, log)) = self.files.as_ref().filter(|_| frame > 0) else { return };
        let at = HEADER_LEN as u64 + (frame - 1) * (FRAME_HEADER_LEN as u64 + self.page_len);
        let mut header = [0; FRAME_HEADER_LEN];
        if log.read_exact_at(&mut header, at).is_err() {
            return;
        }
        let mut proof = [0; 16];
        proof.copy_from_slice(&header[8..]);
        let _ = file.write_all_at(&LogEnd { frame, proof, record }.bytes(), 0);
    }

    /// Removes the file, once the store is closed.
    pub(super) fn remove(&mut self) {
        self.files = None;
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The number of frames in the log after the last commit of a connection. From SQLite's hook: a pragma that returns it is
/// compiled again for every commit, which took a tenth of its time.
#[derive(Default)]
pub(super) struct LogFrames(Arc<AtomicU64>);

impl LogFrames {
    /// Replaces SQLite's own checkpoints, which use the same hook.
    pub(super) fn follow(connection: &mut Connection) -> rusqlite::Result<LogFrames> {
        let frames = LogFrames::default();
        let counted = Arc::clone(&frames.0);
        connection.wal_hook(Some(move |_: &mut Wal, pages: c_int| {
            counted.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(frames)
    }

    pub(super) fn last(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns the path of the file: beside the log.
fn path(store: &Path) -> PathBuf {
    log::beside(store, "-end")
}
