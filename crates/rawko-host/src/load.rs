//! Bringing an instance into memory, and putting a new one on disk.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rawko_store::InstanceKey;
use tokio::sync::oneshot;

use crate::error::HostError;
use crate::host::Inner;
use crate::instance::delivery::Receipt;
use crate::instance::plan::Plan;
use crate::instance::{Live, Slot, policy_of};
use crate::ledger::Ledger;

impl Inner {
    pub(crate) fn load(&self, key: InstanceKey) -> Result<Arc<Slot>, HostError> {
        let row = self.store.instance(key)?.ok_or_else(|| HostError::NoInstance(format!("#{}", key.0)))?;
        let restored = self.reader.snapshot(&row, None)?;
        let parent = match &row.new.parent {
            Some(parent) => self.reader.key(&parent.id)?,
            None => None,
        };
        let calls = self.calls_so_far(&row.new.id)?;
        let policy = policy_of(&row.new.policy);
        let ledger = Ledger::read(row.head.ledger.as_deref());
        Ok(Slot::new(
            key,
            Live {
                chart: restored.chart,
                snapshot: restored.snapshot,
                new: Arc::new(row.new),
                parent,
                head: row.head,
                open: self.store.open_effects(Some(key))?,
                mailbox: VecDeque::new(),
                committing: false,
                evicted: false,
                armed_ms: None,
                rests: false,
                last_ms: row.updated_ms,
                snapshot_bytes: restored.snapshot_bytes,
                delta_bytes: restored.delta_bytes,
                calls,
                policy,
                ledger,
            },
        ))
    }

    /// The audit has a line for every call that was allowed.
    fn calls_so_far(&self, id: &str) -> Result<u64, HostError> {
        let lines = self.store.audit(Some(id), usize::MAX)?;
        Ok(lines.iter().filter(|line| &*line.decision == "allowed").count() as u64)
    }

    /// Commits a new instance and lets it live.
    pub(crate) async fn commit_new(
        self: &Arc<Self>,
        slot: Arc<Slot>,
        mut plan: Plan,
    ) -> Result<Receipt, HostError> {
        let (reply, answer) = oneshot::channel();
        let receipt = slot.lock().receipt(true);
        plan.replies.push((reply, Ok(receipt)));
        self.instances.enter(&slot);
        self.submit(&slot, plan);
        let result = answer.await.unwrap_or(Err(HostError::Closing));
        if result.is_err() {
            self.instances.forget(slot.key);
        }
        result
    }

    pub(crate) fn new_id(&self, chart: &str) -> Result<String, HostError> {
        loop {
            let id = made_up_id(chart);
            if self.reader.key(&id)?.is_none() {
                return Ok(id);
            }
        }
    }
}

/// An id that is easy to say and type: the chart's name and six letters or digits. Perhaps somebody has it already.
pub fn made_up_id(chart: &str) -> String {
    // No vowels and no look-alikes: no words, nothing to misread.
    const LETTERS: &[u8] = b"23456789bcdfghjkmnpqrstvwxz";
    let mut number = RandomState::new().hash_one(chart);
    let mut id = format!("{chart}-");
    for _ in 0..6 {
        id.push(LETTERS[(number % LETTERS.len() as u64) as usize] as char);
        number /= LETTERS.len() as u64;
    }
    id
}
