//! A store whose machine loses power in the middle of a write: the last transaction is on disk only up to some byte, it
//! was never acknowledged, and the process is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use rawko_store::*;

pub(crate) struct TearingStore {
    pub(crate) inner: SqliteStore,
    pub(crate) path: PathBuf,
    /// Commits left until the power loss.
    pub(crate) left: AtomicI64,
    /// Share of the last write that reaches the disk, in thousandths.
    pub(crate) share: u64,
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn wal(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

impl TearingStore {
    /// Commits, removes the end of the written bytes, and exits.
    fn tear(&self, commits: &[Commit]) -> ! {
        let (file, log) = (fs::read(&self.path).unwrap(), fs::read(wal(&self.path)).unwrap_or_default());
        let end = fs::read(beside(&self.path, "-end"));
        let _ = self.inner.commit(commits);
        // A checkpoint moved the write into the main file after an fsync of the log, so it can no longer be torn.
        if fs::read(&self.path).unwrap() == file {
            let written = fs::read(wal(&self.path)).unwrap();
            // Renamed, so that other threads of this process that read the log never see it half written, and cannot
            // end the process at such a moment.
            let new = self.path.with_extension("torn");
            fs::write(&new, torn(&log, &written, self.share)).unwrap();
            fs::rename(&new, wal(&self.path)).unwrap();
            // It names the end of a write only when that is on disk.
            match end {
                Ok(end) => fs::write(beside(&self.path, "-end"), end).unwrap(),
                Err(_) => drop(fs::remove_file(beside(&self.path, "-end"))),
            }
        }
        std::process::abort();
    }
}

/// Returns the new bytes up to a point and the old ones after it.
fn torn(before: &[u8], after: &[u8], share: u64) -> Vec<u8> {
    let same = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let cut = same + ((after.len() - same) as u64 * share / 1_000) as usize;
    let mut bytes = after[..cut].to_vec();
    bytes.extend(before.get(cut..).unwrap_or_default());
    bytes
}

impl Store for TearingStore {
    fn commit(&self, commits: &[Commit]) -> Result<(), StoreError> {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.tear(commits);
        }
        self.inner.commit(commits)
    }
    fn put_chart(&self, chart: &ChartRow) -> Result<(), StoreError> {
        self.inner.put_chart(chart)
    }
    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError> {
        self.inner.chart(hash)
    }
    fn charts(&self) -> Result<Vec<ChartRow>, StoreError> {
        self.inner.charts()
    }
    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError> {
        self.inner.find(id)
    }
    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError> {
        self.inner.instance(key)
    }
    fn list(&self, filter: &Filter) -> Result<InstancePage, StoreError> {
        self.inner.list(filter)
    }
    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError> {
        self.inner.children(id)
    }
    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<SnapshotBase>, StoreError> {
        self.inner.base(key, at)
    }
    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.inner.records(key, after, limit)
    }
    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.inner.tail(after, limit)
    }
    fn last_seq(&self) -> Result<u64, StoreError> {
        self.inner.last_seq()
    }
    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError> {
        self.inner.open_effects(key)
    }
    fn inbound(&self, key: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError> {
        self.inner.inbound(key)
    }
    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError> {
        self.inner.timers()
    }
    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError> {
        self.inner.delivered(key, delivery)
    }
    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        self.inner.blob(hash)
    }
    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.inner.audit(instance, limit)
    }
    fn marks(&self) -> Result<HighestNumbers, StoreError> {
        self.inner.marks()
    }
    fn report(&self) -> Result<StoreReport, StoreError> {
        self.inner.report()
    }
}
