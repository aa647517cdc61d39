//! `Call`: an action that calls a handler. No invocation waits for the result, but the call passes the same gate, and a
//! failure raises `error.communication` in the chart.

use std::sync::Arc;

use rawko_core::Value;

use super::{EffectPosition, effect_id};
use crate::environment::MachineEnvironment;
use crate::failure::ServiceError;
use crate::instance::Instance;
use crate::records::{EffectKind, OpenEffect};
use crate::transaction::{DriverAction, ServiceRequest, Transaction};

impl Instance {
    pub(super) fn plan_call(
        &mut self,
        handler: Arc<str>,
        params: Value,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let request = ServiceRequest::Call { handler: Arc::clone(&handler), params: params.clone() };
        let effect = OpenEffect {
            body: tx.pack(serde_json::to_string(&request).unwrap_or_default()),
            ..self.new_effect(EffectKind::Call, None, Arc::clone(&handler), at)
        };
        // The calling state is no longer known; the rules of the whole chart apply.
        let policy = self.chart.node_ids().next().map_or(Value::Null, |root| self.policy_at(root));
        match self.ask_gate(&effect, &params, &policy, at, env, tx) {
            Ok(()) => {
                self.open(effect.clone(), tx);
                tx.actions.push(DriverAction::Run { effect, request });
            }
            Err(error) => {
                let message = format!("`{handler}` was not called: {}", error.message);
                self.refuse(effect, ServiceError { message, ..error }, tx);
            }
        }
    }

    /// An effect of this instance, without a request yet.
    pub(crate) fn new_effect(
        &self,
        kind: EffectKind,
        invocation: Option<u64>,
        name: Arc<str>,
        at: EffectPosition,
    ) -> OpenEffect {
        OpenEffect {
            instance: self.key,
            step: at.step,
            index: at.index,
            kind,
            invocation,
            name,
            body: String::new(),
            opened_ms: at.ms,
            due_ms: None,
            idempotency: effect_id(&self.new.id, at.step, at.index).into(),
            result: String::new(),
            parked: false,
            in_doubt: false,
        }
    }
}
