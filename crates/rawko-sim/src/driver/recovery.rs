//! Losing memory and coming back: a crash forgets everything that is not in the store; a restart does what a host does
//! when it starts.

use std::sync::Arc;

use rawko_core::Snapshot;
use rawko_instance::{Input, Instance, InstanceError, Pace, SavedInstance, StoredMessage};
use rawko_store::{EffectKind, InstanceKey, InstanceRow, RecordKind, StoreError, content};

use super::{SimDelivery, SimDriver};

impl SimDriver {
    /// The process dies: instances, queued inputs and running calls are gone. What calls did in the world stays.
    pub fn crash(&mut self) {
        self.live.clear();
        self.queue.clear();
        self.agenda.clear();
        self.deadlines.clear();
        self.replies.clear();
        let torn = std::mem::take(&mut self.torn);
        if !torn.is_empty() {
            // Another driver that owns the store by now has overwritten it.
            let _ = self.store.commit(&torn);
        }
    }

    /// Starts again on the store. In a shuffled order if chaos picks one: no order may matter.
    pub fn restart(&mut self) -> Result<(), StoreError> {
        self.epoch += 1;
        let marks = self.store.marks()?;
        self.next_key.set(marks.instance);
        self.next_message.set(marks.inbound);
        for (key, due_ms) in self.store.timers()? {
            let order = self.next_order();
            self.deadlines.insert(key, (due_ms, order));
        }
        let mut queue = Vec::new();
        let mut last = None;
        for effect in self.store.open_effects(None)? {
            let is_call = match effect.kind {
                EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => true,
                EffectKind::Child | EffectKind::Person | EffectKind::Unknown | EffectKind::Held => false,
            };
            if is_call && last != Some(effect.instance) {
                last = Some(effect.instance);
                let input = Input::Restart { epoch: self.epoch };
                queue.push(SimDelivery { to: effect.instance, input, request: None });
            }
        }
        for inbound in self.store.inbound(None)? {
            let text = content::unpack(&inbound.event, &mut |hash| self.store.blob(hash))?;
            let message = serde_json::from_str::<StoredMessage>(&text)
                .map_err(|error| StoreError::Damaged(format!("message {}: {error}", inbound.seq)))?;
            let input = Input::Message { seq: inbound.seq, message };
            queue.push(SimDelivery { to: inbound.to, input, request: None });
        }
        while !queue.is_empty() {
            let at = self.chaos.picks(queue.len()).min(queue.len() - 1);
            self.queue.push_back(queue.remove(at));
        }
        Ok(())
    }

    /// The instance in memory, read from the store if it is not there.
    pub(super) fn load(&mut self, key: InstanceKey) -> Result<Instance, InstanceError> {
        if let Some(instance) = self.live.remove(&key)
            && !self.chaos.evicts()
        {
            return Ok(instance);
        }
        let missing = || StoreError::Damaged(format!("there is no instance {}", key.0));
        let row = self.store.instance(key)?.ok_or_else(missing)?;
        self.restore(&row)
    }

    /// An instance as the store has it.
    pub fn restore(&self, row: &InstanceRow) -> Result<Instance, InstanceError> {
        let id = || row.new.id.to_string();
        let found = self.setup.charts.iter().find(|chart| chart.hash() == row.new.chart);
        let chart = Arc::clone(found.ok_or_else(|| InstanceError::Internal(id()))?);
        let base = self.store.base(row.key, None)?.ok_or_else(|| InstanceError::Internal(id()))?;
        let unpack = |text: &str| content::unpack(text, &mut |hash| self.store.blob(hash));
        let unusable = |why| InstanceError::Snapshot { id: id(), why };
        let mut snapshot = Snapshot::from_json(&chart, &unpack(&base.snapshot.body)?).map_err(unusable)?;
        let mut delta_bytes = 0;
        for record in &base.records {
            if matches!(record.kind, RecordKind::Stepped | RecordKind::Ignored) {
                snapshot.apply_delta_json(&chart, &unpack(&record.delta)?).map_err(unusable)?;
                delta_bytes += record.delta.len();
            }
        }
        let parent = match &row.new.parent {
            Some(parent) => self.store.find(&parent.id)?.map(|row| row.key),
            None => None,
        };
        let audit = self.store.audit(Some(&row.new.id), usize::MAX)?;
        let saved = SavedInstance {
            key: row.key,
            new: row.new.clone(),
            parent,
            head: row.head.clone(),
            open: self.store.open_effects(Some(row.key))?,
            calls: audit.iter().filter(|line| &*line.decision == "allowed").count() as u64,
            last_ms: row.updated_ms,
            snapshot_bytes: base.snapshot.body.len(),
            delta_bytes,
            pace: Pace::default(),
        };
        let instance = Instance::restore(saved, chart, snapshot);
        match instance.contradiction() {
            None => Ok(instance),
            Some(what) => Err(StoreError::Damaged(format!("instance `{}`: {what}", id())).into()),
        }
    }
}
