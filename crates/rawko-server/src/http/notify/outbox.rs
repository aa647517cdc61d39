//! `Outbox`: which messages were sent, and when failed ones are due again, in a file. Written before the next message is
//! sent: a crash can repeat the last one, and loses none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

const RETRY_MS: i64 = 2_000;
const RETRY_MS_MAX: i64 = 15 * 60 * 1000;

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoticeOutcome {
    Sent,
    Failed { retry_after_ms: Option<u64> },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SentNotice {
    #[serde(default)]
    is_sent: bool,
    #[serde(default)]
    attempts: u32,
    #[serde(default)]
    due_ms: i64,
}

/// Deliveries of requests that still wait, by receiver and request.
#[derive(Debug)]
pub(super) struct Outbox {
    path: PathBuf,
    deliveries: BTreeMap<String, SentNotice>,
}

impl Outbox {
    pub(super) fn open(path: &Path) -> Result<Outbox, String> {
        let cannot = |error: &dyn std::fmt::Display| format!("cannot use `{}`: {error}", path.display());
        let deliveries = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| cannot(&error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(cannot(&error)),
        };
        let outbox = Outbox { path: path.to_owned(), deliveries };
        // A file that cannot be written would have every message sent again.
        outbox.save().map_err(|error| cannot(&error))?;
        Ok(outbox)
    }

    pub(super) fn is_due(&self, key: &str, now_ms: i64) -> bool {
        self.deliveries.get(key).is_none_or(|known| !known.is_sent && known.due_ms <= now_ms)
    }

    /// Records an attempt. Failed ones wait longer each time.
    pub(super) fn note(&mut self, key: &str, outcome: NoticeOutcome, now_ms: i64) {
        let known = self.deliveries.entry(key.to_owned()).or_default();
        known.attempts = known.attempts.saturating_add(1);
        match outcome {
            NoticeOutcome::Sent => known.is_sent = true,
            NoticeOutcome::Failed { retry_after_ms } => {
                let doubled = RETRY_MS.saturating_mul(1 << known.attempts.min(20)).min(RETRY_MS_MAX);
                let named =
                    retry_after_ms.map(|ms| i64::try_from(ms).unwrap_or(RETRY_MS_MAX).min(RETRY_MS_MAX));
                known.due_ms = now_ms.saturating_add(doubled.max(named.unwrap_or(0)));
            }
        }
        // A full disk costs at most a repeated message after a restart.
        let _ = self.save();
    }

    /// Forgets requests that no longer wait.
    pub(super) fn keep_only(&mut self, keys: &[String]) {
        let keys: BTreeSet<&String> = keys.iter().collect();
        let before = self.deliveries.len();
        self.deliveries.retain(|key, _| keys.contains(key));
        if self.deliveries.len() != before {
            let _ = self.save();
        }
    }

    fn save(&self) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let unfinished = self.path.with_extension("part");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(&self.deliveries)?)?;
        file.sync_all()?;
        fs::rename(&unfinished, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_stays_sent_and_what_failed_is_due_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox.json");
        let mut outbox = Outbox::open(&path).unwrap();
        outbox.note("a", NoticeOutcome::Sent, 0);
        outbox.note("b", NoticeOutcome::Failed { retry_after_ms: None }, 0);
        outbox.note("c", NoticeOutcome::Failed { retry_after_ms: Some(60_000) }, 0);
        let mut again = Outbox::open(&path).unwrap();
        assert!(!again.is_due("a", i64::MAX) && again.is_due("new", 0));
        assert!(!again.is_due("b", 3_999) && again.is_due("b", 4_000));
        assert!(!again.is_due("c", 59_999) && again.is_due("c", 60_000));
        for _ in 0..40 {
            again.note("b", NoticeOutcome::Failed { retry_after_ms: None }, 0);
        }
        assert!(again.is_due("b", RETRY_MS_MAX), "attempts stay within 15 minutes");
        again.keep_only(&["b".to_owned()]);
        assert!(Outbox::open(&path).unwrap().is_due("a", 0), "another request of that name");
        fs::write(&path, "not JSON").unwrap();
        assert!(Outbox::open(&path).unwrap_err().contains("outbox.json"));
    }
}
