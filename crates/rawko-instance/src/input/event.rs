//! `Event` and `Cancel`: inputs from outside.

use std::sync::Arc;

use rawko_core::{Event, NamedEvent, Value, is_fact};

use super::caller_key;
use super::pause::HeldInput;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::instance::Instance;
use crate::receipt::Receipt;
use crate::transaction::Transaction;

impl Instance {
    pub(super) fn take_event(
        &mut self,
        event: NamedEvent,
        key: Option<&Arc<str>>,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let key = caller_key(key);
        if let Some(key) = &key
            && let Some(receipt) = self.handled(key, env, tx)?
        {
            return Ok(receipt);
        }
        self.refuse_if_over()?;
        let is_simulated = env.takes_facts_from_outside() && is_fact(&event.name);
        if let Some(refusal) = self.chart.refuse_event(&event).filter(|_| !is_simulated) {
            return Err(InstanceError::EventRefused { id: self.new.id.to_string(), refusal });
        }
        if self.is_paused() {
            self.refuse_if_full()?;
            let receipt = self.hold(&HeldInput::Event(event), now_ms, tx);
            self.note_handled(key, tx);
            return Ok(receipt);
        }
        self.pace.restart();
        let receipt = self.deliver(Event::Named(event), env, now_ms, tx)?;
        self.note_handled(key, tx);
        Ok(receipt)
    }

    pub(super) fn take_cancel(
        &mut self,
        reason: Value,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        self.refuse_if_over()?;
        self.deliver(Event::CancelRequested { reason }, env, now_ms, tx)
    }

    /// Takes one step with an event that no effect waits for. A successful step clears an earlier fault.
    pub(super) fn deliver(
        &mut self,
        event: Event,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let handled = self.step_with(&event, env, now_ms, tx)?;
        self.fault = None;
        Ok(self.receipt(handled))
    }
}
