//! Loads an instance into memory, and commits a new one.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rawko_instance::{Instance, Receipt, Transaction};
use rawko_store::InstanceKey;
use tokio::sync::oneshot;

use super::drive::PendingCommit;
use super::slot::InstanceSlot;
use crate::error::HostError;
use crate::host::HostInner;

impl HostInner {
    pub(crate) fn load(&self, key: InstanceKey) -> Result<Arc<InstanceSlot>, HostError> {
        let row = self.store.instance(key)?.ok_or_else(|| HostError::NoInstance(format!("#{}", key.0)))?;
        Ok(InstanceSlot::new(self.reader.instance(row)?))
    }

    /// Commits a new instance and makes it available.
    pub(crate) async fn commit_new(
        self: &Arc<Self>,
        instance: Instance,
        tx: Transaction,
    ) -> Result<Receipt, HostError> {
        let (reply, answer) = oneshot::channel();
        let receipt = instance.receipt(true);
        let slot = InstanceSlot::committing(instance);
        self.instances.enter(&slot);
        self.submit(&slot, PendingCommit::first(tx, reply, receipt));
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

/// Generates an id that is easy to type: the chart's name and six letters or digits. The id may already be in use.
pub fn made_up_id(chart: &str) -> String {
    // No vowels and no look-alikes, so that an id never spells a word and is hard to misread.
    const LETTERS: &[u8] = b"23456789bcdfghjkmnpqrstvwxz";
    let mut number = RandomState::new().hash_one(chart);
    let mut id = format!("{chart}-");
    for _ in 0..6 {
        id.push(LETTERS[(number % LETTERS.len() as u64) as usize] as char);
        number /= LETTERS.len() as u64;
    }
    id
}
