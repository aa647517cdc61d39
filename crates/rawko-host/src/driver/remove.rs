//! Removes ended instances while the host runs: from the store, then from memory. Separate from `rawko prune`, which has
//! the store to itself.

use std::sync::Arc;

use rawko_core::Status;
use rawko_store::{EffectKind, InstanceRow};

use crate::error::HostError;
use crate::host::{Host, HostInner};

impl Host {
    /// Returns true if the store can remove instances.
    pub fn can_remove(&self) -> bool {
        self.inner.store.can_remove()
    }

    /// Removes ended top-level instances with their descendants and journals, all or none. Returns the number of removed
    /// instances.
    pub async fn remove(&self, ids: Vec<String>) -> Result<u64, HostError> {
        // A clean-up may still read the journal.
        self.inner.endings_over().await;
        let inner = Arc::clone(&self.inner);
        let removing = self.inner.runtime.spawn_blocking(move || inner.remove(&ids));
        removing.await.unwrap_or(Err(HostError::Closing))
    }
}

impl HostInner {
    fn remove(&self, ids: &[String]) -> Result<u64, HostError> {
        let (mut roots, mut family) = (Vec::new(), Vec::new());
        for id in ids {
            let row = self.store.find(id)?.ok_or_else(|| HostError::NoInstance(id.clone()))?;
            let refused = |why: String| Err(HostError::NotRemovable { id: id.clone(), why });
            if let Some(parent) = &row.new.parent {
                return refused(format!("it belongs to `{}`; remove that one", parent.id));
            }
            if !row.head.status.is_over() && row.head.outcome.is_none() {
                return refused("it has not ended; cancel it first".to_owned());
            }
            if !roots.contains(&row.key) {
                roots.push(row.key);
                self.add_family(row, &mut family)?;
            }
        }
        family.iter().try_for_each(|row| self.insist_on_rest(row))?;
        let removed = self.store.remove(&roots)?;
        for row in &family {
            // A sender that still holds it looks it up again, and finds nothing.
            if let Some(slot) = self.instances.get(row.key) {
                slot.lock().evicted = true;
                self.instances.forget(row.key);
            }
        }
        self.changed();
        Ok(removed)
    }

    fn add_family(&self, row: InstanceRow, family: &mut Vec<InstanceRow>) -> Result<(), HostError> {
        let mut waiting = vec![row];
        while let Some(row) = waiting.pop() {
            waiting.extend(self.store.children(&row.new.id)?);
            family.push(row);
        }
        Ok(())
    }

    /// A descendant may outlive its root, and a call its instance.
    fn insist_on_rest(&self, row: &InstanceRow) -> Result<(), HostError> {
        let refused =
            |why: &str| Err(HostError::NotRemovable { id: row.new.id.to_string(), why: why.to_owned() });
        if row.head.status == Status::Active && row.head.outcome.is_none() {
            return refused("it still runs");
        }
        let open = self.store.open_effects(Some(row.key))?;
        match open.iter().any(|effect| effect.kind != EffectKind::Unknown) {
            true => refused("a call is still open"),
            false => Ok(()),
        }
    }
}
