//! Detects a write-ahead log that was damaged in its middle, and a database that was shortened, before SQLite opens
//! them: SQLite treats a damaged frame as the end of the log and drops every commit behind it without an error. The
//! rules are in `docs/decisions/store-integrity.md`.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Result, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::log;
use super::log_end::LogEnd;
use crate::StoreError;

pub(super) const HEADER_LEN: usize = 32;
pub(super) const FRAME_HEADER_LEN: usize = 24;
const MAGIC: u32 = 0x377f_0682;
/// Page sizes of SQLite are powers of two in this range.
const PAGE_LENS: std::ops::RangeInclusive<usize> = 512..=65_536;
/// A running host changes the files between two reads; damage stays the same.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

type WalChecksum = (u32, u32);
type Salts = [u8; 8];

/// A problem of the two files.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Damage {
    /// The header, with this many commits behind it.
    Header { commits: u64 },
    /// A frame, counted from 1, of this many, with this many commits in it or behind it.
    Frame { number: u64, of: u64, commits: u64 },
    /// The last commit ends at this frame, and the last acknowledged one at the other.
    End { last: u64, acknowledged: u64 },
    /// The database has fewer pages than it should, and the log does not have the others.
    Short { pages: u64, of: u64 },
}

/// Fails if the files of a store lost commits that were acknowledged.
pub(super) fn refuse_damage(place: &Path) -> std::result::Result<(), StoreError> {
    let path = log::path(place);
    let look = || look(place, &path).map_err(|error| StoreError::Io(format!("{}: {error}", path.display())));
    let mut found = None;
    for _ in 0..ATTEMPTS {
        let now = look()?;
        if now.is_none() {
            return Ok(());
        }
        if now == found {
            break;
        }
        found = now;
        sleep(PAUSE);
    }
    // Different results are those of a host that writes meanwhile.
    let Some(damage) = found.filter(|found| matches!(look(), Ok(Some(now)) if now == *found)) else {
        return Ok(());
    };
    let (shown, log) = (place.display(), path.display());
    let lost = |commits: u64| {
        format!("at least {commits} acknowledged {}", if commits == 1 { "commit" } else { "commits" })
    };
    let accept = "or continue without them (`rawko doctor --accept-loss`)";
    Err(StoreError::Damaged(match damage {
        Damage::Header { commits } => format!(
            "the header of the write-ahead log {log} is damaged, which hides {}; restore a backup (`rawko restore`), \
             {accept}",
            lost(commits)
        ),
        Damage::Frame { number, of, commits } => format!(
            "frame {number} of {of} of the write-ahead log {log} is damaged, which hides {} from there on; restore a \
             backup (`rawko restore`), {accept}",
            lost(commits)
        ),
        Damage::End { last, acknowledged } => format!(
            "the last commit of the write-ahead log {log} ends at frame {last} and the last acknowledged one at frame \
             {acknowledged}, so {} is lost; restore a backup (`rawko restore`), {accept}",
            lost(1)
        ),
        Damage::Short { pages, of } => format!(
            "{shown} was truncated: it has {pages} of {of} pages, and its write-ahead log does not have the others; \
             restore a backup (`rawko restore`)"
        ),
    }))
}

/// Makes what a killed host wrote durable, before further commits follow it. Otherwise a power failure could tear two
/// transactions at once, which looks like damage.
pub(super) fn sync(place: &Path) -> std::result::Result<(), StoreError> {
    let path = log::path(place);
    match File::open(&path).and_then(|file| file.sync_data()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StoreError::Io(format!("{}: {error}", path.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn look(place: &Path, log: &Path) -> Result<Option<Damage>> {
    // The end first, then the log: both grow while a host runs, as the database does.
    let end = LogEnd::read(place);
    let read = match File::open(log) {
        Ok(file) => Scan::read(file, place, end)?,
        Err(error) if error.kind() == ErrorKind::NotFound => Scan::default(),
        Err(error) => return Err(error),
    };
    match read.damage {
        Some(damage) => Ok(Some(damage)),
        None => shortened(place, &read),
    }
}

/// The result of a pass over a log.
#[derive(Default)]
struct Scan {
    damage: Option<Damage>,
    page_len: Option<u64>,
    /// The pages in valid transactions.
    pages: FxHashSet<u32>,
    /// Pages of the database after the last valid transaction.
    size: Option<u32>,
    /// The last frame of that transaction.
    last: u64,
}

/// One frame of the log.
struct WalFrame {
    page: u32,
    /// Size of the database in pages after a commit; 0 in all other frames.
    size: u32,
    salts: Salts,
    stored: WalChecksum,
    bytes: Vec<u8>,
}

impl WalFrame {
    fn read(input: &mut impl Read, page_len: usize) -> Result<Option<WalFrame>> {
        let mut bytes = vec![0; FRAME_HEADER_LEN + page_len];
        match input.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let mut salts = Salts::default();
        salts.copy_from_slice(&bytes[8..16]);
        let stored = (word(&bytes, 16), word(&bytes, 20));
        Ok(Some(WalFrame { page: word(&bytes, 0), size: word(&bytes, 4), salts, stored, bytes }))
    }

    /// Returns the checksum of this frame after one with checksum `before`.
    fn sum(&self, before: WalChecksum, is_big: bool) -> WalChecksum {
        let sum = checksum(before, &self.bytes[..8], is_big);
        checksum(sum, &self.bytes[FRAME_HEADER_LEN..], is_big)
    }
}

impl Scan {
    fn read(mut file: File, place: &Path, end: Option<LogEnd>) -> Result<Scan> {
        let mut header = [0; HEADER_LEN];
        match file.read_exact(&mut header) {
            // Too short for a commit; a store that was not closed reports its lost log.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Scan::default()),
            other => other?,
        }
        let is_big = word(&header, 0) & 1 == 1;
        let sum = checksum((0, 0), &header[..24], is_big);
        let is_sound = word(&header, 0) & !1 == MAGIC && sum == (word(&header, 24), word(&header, 28));
        let input = BufReader::with_capacity(1 << 20, file);
        if !is_sound {
            return Scan::without_header(input, place, end);
        }
        let page_len = page_len(word(&header, 8));
        let Some(page_len) = page_len else { return Ok(Scan::default()) };
        let mut salts = Salts::default();
        salts.copy_from_slice(&header[16..24]);
        let mut scan = Scan::frames(input, page_len, salts, sum, is_big)?;
        if let Some(LogEnd { frame: acknowledged, .. }) = end.filter(|end| end.is_in(&salts))
            && scan.last < acknowledged
        {
            scan.damage.get_or_insert(Damage::End { last: scan.last, acknowledged });
        }
        Ok(scan)
    }

    fn frames(
        mut input: impl Read,
        page_len: usize,
        salts: Salts,
        start: WalChecksum,
        is_big: bool,
    ) -> Result<Scan> {
        let mut scan = Scan { page_len: Some(page_len as u64), ..Scan::default() };
        let (mut before, mut number, mut broken) = (start, 0_u64, None);
        let mut uncommitted = Vec::new();
        let mut rest = WalTail::default();
        while let Some(frame) = WalFrame::read(&mut input, page_len)? {
            number += 1;
            let is_current = frame.salts == salts;
            let is_next = is_current && frame.sum(before, is_big) == frame.stored;
            if !is_next {
                broken.get_or_insert(number);
            }
            if broken.is_some() {
                rest.add(&frame, number, is_current, is_next);
            } else {
                uncommitted.push(frame.page);
                if frame.size > 0 {
                    scan.pages.extend(uncommitted.drain(..));
                    scan.size = Some(frame.size);
                    scan.last = number;
                }
            }
            before = frame.stored;
        }
        if let Some(number) = broken.filter(|_| rest.commits > 0) {
            scan.damage = Some(Damage::Frame { number, of: rest.last, commits: rest.commits });
        }
        Ok(scan)
    }

    /// A header is torn if the power fails while the log is restarted, which is no loss: all of its frames are in the
    /// database then. In any other case the header was damaged.
    fn without_header(mut input: BufReader<File>, place: &Path, end: Option<LogEnd>) -> Result<Scan> {
        let none = Ok(Scan::default());
        let Ok(database) = File::open(place) else { return none };
        let mut start = [0; 100];
        if database.read_exact_at(&mut start, 0).is_err() {
            return none;
        }
        // The database's own, because the one in the header may be wrong; 1 stands for 65,536.
        let len = u32::from(u16::from_be_bytes([start[16], start[17]]));
        let Some(page_len) = page_len(if len == 1 { 65_536 } else { len }) else { return none };
        let is_big = cfg!(target_endian = "big");
        input.seek(SeekFrom::Start(HEADER_LEN as u64))?;
        let Some(first) = WalFrame::read(&mut input, page_len)? else { return none };
        let mut before = first.stored;
        let mut latest: FxHashMap<u32, Vec<u8>> = FxHashMap::default();
        let salts = first.salts;
        let mut open = vec![first];
        let mut commits = 0;
        let mut number = 1;
        let mut is_proven = false;
        loop {
            if let Some(last) = open.last()
                && last.size > 0
            {
                commits += 1;
                is_proven |= end.is_some_and(|end| end.frame == number && end.proof[..] == last.bytes[8..24]);
                let pages =
                    open.drain(..).map(|mut frame| (frame.page, frame.bytes.split_off(FRAME_HEADER_LEN)));
                latest.extend(pages);
            }
            let Some(frame) = WalFrame::read(&mut input, page_len)? else { break };
            if frame.salts != salts || frame.sum(before, is_big) != frame.stored {
                break;
            }
            before = frame.stored;
            number += 1;
            open.push(frame);
        }
        let mut page = vec![0; page_len];
        let is_stored = latest.iter().all(|(number, bytes)| {
            let at = u64::from(number.saturating_sub(1)) * page_len as u64;
            database.read_exact_at(&mut page, at).is_ok() && page == *bytes
        });
        // The checksum of the first frame cannot be verified, so one commit alone proves nothing.
        let damage = (!is_stored && (commits > 1 || is_proven)).then_some(Damage::Header { commits });
        Ok(Scan { damage, ..Scan::default() })
    }
}

/// The frames from a broken one on.
#[derive(Default)]
struct WalTail {
    /// Commits that were acknowledged: a further frame was chained to them.
    commits: u64,
    /// The last frame of this log.
    last: u64,
    /// Commit frames since the last proof.
    pending: u64,
    is_after_commit: bool,
}

impl WalTail {
    fn add(&mut self, frame: &WalFrame, number: u64, is_current: bool, is_next: bool) {
        // SQLite begins a transaction when the one before it is durable. A frame that follows a commit in the chain
        // is the proof that the commit was, and that everything before it was.
        if is_next && self.is_after_commit {
            self.commits += std::mem::take(&mut self.pending);
        }
        self.is_after_commit = is_current && frame.size > 0;
        if self.is_after_commit {
            self.pending += 1;
        }
        if is_current {
            self.last = number;
        }
    }
}

/// Fails for a database with missing pages. A checkpoint that was interrupted leaves a file that is too short, but the
/// log still has these pages.
fn shortened(place: &Path, log: &Scan) -> Result<Option<Damage>> {
    let file = match File::open(place) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let len = file.metadata()?.len();
    let mut start = [0; 100];
    let has_start = file.read_exact_at(&mut start, 0).is_ok() && start.starts_with(b"SQLite format 3\0");
    let own = match u64::from(u16::from_be_bytes([start[16], start[17]])) {
        1 => 65_536,
        len => len,
    };
    let Some(page_len) = log.page_len.or(has_start.then_some(own)).filter(|len| *len > 0) else {
        return Ok(None);
    };
    // The size in the header counts only if the last writer knew that field.
    let stored = (has_start && start[24..28] == start[92..96]).then(|| word(&start, 28));
    let Some(size) = log.size.or(stored) else { return Ok(None) };
    let (pages, size) = (len / page_len, u64::from(size));
    // SQLite never writes the page that its locks are in.
    let lock_page = (1 << 30) / page_len + 1;
    let is_there =
        |page: u64| page == lock_page || u32::try_from(page).is_ok_and(|page| log.pages.contains(&page));
    let is_whole = (pages + 1..=size).all(is_there);
    Ok((!is_whole).then_some(Damage::Short { pages, of: size }))
}

fn page_len(len: u32) -> Option<usize> {
    usize::try_from(len).ok().filter(|len| PAGE_LENS.contains(len) && len.is_power_of_two())
}

/// Returns the big-endian number at an offset.
fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

/// SQLite's checksum, continued; the log's header gives the byte order.
fn checksum(before: WalChecksum, bytes: &[u8], is_big: bool) -> WalChecksum {
    let (mut first, mut second) = before;
    let number = |bytes: &[u8]| {
        let mut word = [0; 4];
        word.copy_from_slice(bytes);
        if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(number(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(number(&pair[4..])).wrapping_add(first);
    }
    (first, second)
}
