//! `Complete`, `Cancelled`, `Stall`: the result for the parent, committed together with the step that ended the child.

use std::sync::Arc;

use rawko_core::{Event, Value};

use super::{EffectPosition, effect_id};
use crate::environment::MachineEnvironment;
use crate::failure::{Category, ServiceError};
use crate::instance::Instance;
use crate::ledger::Spent;
use crate::message::{MessageChain, StoredMessage};
use crate::policy::agent_of;
use crate::status::outcome_of;
use crate::transaction::Transaction;

impl Instance {
    pub(super) fn plan_complete(
        &self,
        output: Value,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let data = self.with_outcome(output);
        self.report_to_parent(at, env, tx, |invocation| Event::InvokeDone { invocation, data });
    }

    /// Adds the outcome to the output of an agent whose chart does not state one itself.
    fn with_outcome(&self, output: Value) -> Value {
        let is_agent = agent_of(&self.policy).is_some() && output.get("outcome").as_str().is_none();
        match outcome_of(&self.chart, &self.snapshot).filter(|_| is_agent) {
            Some(outcome) => Value::map([("outcome", Value::str(outcome.as_str())), ("output", output)]),
            None => output,
        }
    }

    /// If the parent cancelled the child, it no longer waits and the message is stale there.
    pub(super) fn plan_cancelled(
        &self,
        reason: &Value,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let message = match reason {
            Value::Null => "it was cancelled".to_owned(),
            reason => format!("it was cancelled: {reason}"),
        };
        let error = Value::map([
            ("category", Value::str("cancelled")),
            ("message", Value::from(message)),
            ("retryable", Value::Bool(false)),
        ]);
        self.report_to_parent(at, env, tx, |invocation| Event::InvokeFailed { invocation, error });
    }

    /// A child that failed without a handler has failed for its parent.
    pub(super) fn plan_stall(
        &self,
        error: Value,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        self.report_to_parent(at, env, tx, |invocation| Event::InvokeFailed { invocation, error });
    }

    /// Reports a step of this child that could not be taken.
    pub(crate) fn report_failure(&self, why: &str, env: &dyn MachineEnvironment, tx: &mut Transaction) {
        let error = ServiceError::new(Category::Execution, why).to_value();
        // The parent matches it by the open effect, so the position does not matter.
        let at =
            EffectPosition { step: self.snapshot.step_number(), index: u32::MAX, ms: self.last_ms, sends: 1 };
        self.report_to_parent(at, env, tx, |invocation| Event::InvokeFailed { invocation, error });
    }

    fn report_to_parent(
        &self,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
        event: impl FnOnce(u64) -> Event,
    ) {
        let (Some(key), Some(parent)) = (self.parent, &self.new.parent) else { return };
        let message = StoredMessage {
            event: event(parent.invocation),
            key: effect_id(&self.new.id, at.step, at.index).into(),
            child: Some(Arc::clone(&self.new.id)),
            spent: self.spent_in_all(),
            chain: MessageChain::default(),
        };
        tx.post(key, env.next_message(), message);
    }

    /// An agent's time is its lifetime without pauses; its descendants have reported their own.
    fn spent_in_all(&self) -> Spent {
        let mut spent = self.ledger.total;
        if agent_of(&self.policy).is_some() {
            let lived_ms = u64::try_from(self.last_ms - self.new.created_ms).unwrap_or(0);
            spent.time_ms = lived_ms.saturating_sub(self.ledger.paused_ms);
        }
        spent
    }
}
