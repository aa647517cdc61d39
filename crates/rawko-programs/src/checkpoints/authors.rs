//! The authors of changes: brings the history up to date without taking the work of a running call for a person's.
//! Separate from taking entries, because the custody of a task asks and never writes.

use std::io;

use super::record::TreeMemory;
use super::{ChangeAuthor, Checkpoints, EntryKind, HistoryEntry};

impl Checkpoints {
    /// Returns the entries after a number, the oldest first.
    pub fn entries_since(&self, number: u64) -> io::Result<Vec<HistoryEntry>> {
        self.log.entries_since(number)
    }

    /// Returns the number of the last entry; 0 before the first.
    pub fn last_number(&self) -> io::Result<u64> {
        self.log.last_number()
    }

    /// Records changes since the last entry, unless they may be the work of a call that is running.
    pub async fn refresh(&self) -> io::Result<()> {
        let mut held = self.hold().await?;
        self.refresh_held(&mut held.memory).await
    }

    pub(super) async fn refresh_held(&self, memory: &mut TreeMemory) -> io::Result<()> {
        let calls = self.log.open_calls();
        let is_left = calls.iter().any(|call| !self.is_open(call));
        // While another call of this process is running, what changed may be its work.
        if is_left || calls.is_empty() || memory.tree.is_none() {
            self.catch_up(memory).await?;
        }
        Ok(())
    }

    /// Returns the other instances with a call that is running, or that was killed: what an author changed may be theirs.
    pub(super) fn others(&self, author: &ChangeAuthor) -> Vec<String> {
        if author.kind != EntryKind::Call {
            return Vec::new();
        }
        let instances = self.log.open_calls().into_iter().map(|call| call.instance);
        let mut others: Vec<String> = instances.filter(|instance| *instance != author.instance).collect();
        others.sort();
        others.dedup();
        others
    }

    /// Waits until no call of such an instance runs in this process.
    pub async fn quiet(&self, is_waited_for: impl Fn(&str) -> bool) {
        loop {
            let ended = self.ended.notified();
            let mut calls = self.log.open_calls().into_iter();
            if !calls.any(|call| is_waited_for(&call.instance) && self.is_open(&call)) {
                return;
            }
            ended.await;
        }
    }
}
