//! `Result`: an effect ended. It is stale if the effect is no longer open.

use std::sync::Arc;

use rawko_core::{Event, ServiceName};

use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::instance::Instance;
use crate::ledger::Spent;
use crate::receipt::Receipt;
use crate::records::{AuditLine, EffectKind, OpenEffect};
use crate::result::{EffectNote, EffectResult};
use crate::transaction::{EffectPlace, Transaction};

/// A call that takes this long is no part of a runaway loop.
const SLOW_CALL_MS: i64 = 1_000;

impl Instance {
    pub(super) fn take_result(
        &mut self,
        place: EffectPlace,
        result: EffectResult,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let Some(at) = self.open_at(place.step, place.index) else { return Ok(self.receipt(false)) };
        if self.is_paused() {
            self.hold_result(at, &result, tx);
            return Ok(self.receipt(false));
        }
        if !self.may_end_call(at, result.event.as_ref(), env, now_ms, tx) {
            self.keep_result(place, &result, tx);
            return Ok(self.receipt(false));
        }
        self.end_effect(at, result, env, now_ms, tx)
    }

    /// Keeps the result that a stopped loop did not take for the retry, unless the chart has left the state.
    pub(super) fn keep_result(&mut self, place: EffectPlace, result: &EffectResult, tx: &mut Transaction) {
        if let Some(at) = self.open_at(place.step, place.index) {
            self.hold_result(at, result, tx);
        }
    }

    /// Counts calls that fail one after the other. Returns false over the limit: the loop was stopped.
    pub(super) fn may_end_call(
        &mut self,
        at: usize,
        event: Option<&Event>,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> bool {
        self.pace.zero_delay_steps = 0;
        if !matches!(event, Some(Event::InvokeFailed { .. })) {
            self.pace.restart();
            return true;
        }
        // The list of an `each` bounds its items, and a slow call paces its loop.
        if self.is_later_item(at) {
            return true;
        }
        if now_ms.saturating_sub(self.open[at].opened_ms) >= SLOW_CALL_MS {
            self.pace.restart();
            return true;
        }
        self.pace.failed_calls += 1;
        let most = env.limits().failed_calls_max;
        if self.pace.failed_calls <= most {
            return true;
        }
        let message = format!("more than {most} calls in a row failed without a delay: a runaway loop");
        self.stop_loop(&message, env, now_ms, tx);
        false
    }

    /// Closes an open effect with its result: audit, budget, and the step that receives it.
    pub(super) fn end_effect(
        &mut self,
        at: usize,
        result: EffectResult,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let EffectResult { event, note } = result;
        let effect = &self.open[at];
        let spent = reported(effect, event.as_ref());
        tx.commit.audit.extend(self.audit_of(effect, &note, now_ms));
        self.spend(spent, self.node_of(effect.invocation));
        self.note_undelivered(event.as_ref(), now_ms, tx);
        self.close_with(at, event, note.outcome_open, env, now_ms, tx)
    }

    pub(super) fn close_with(
        &mut self,
        at: usize,
        event: Option<Event>,
        outcome_open: bool,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let effect = self.open.remove(at);
        let Some(event) = event.filter(|_| !self.snapshot.status().is_over()) else {
            self.close(&effect, tx);
            return Ok(self.receipt(false));
        };
        let outcome = self.step_with(&event, env, now_ms, tx);
        // Once an attempt was ambiguous, its key serves all later attempts of the invocation: a refusal of a later one
        // does not prove that the earlier one had no effect.
        let is_ambiguous = outcome_open || effect.in_doubt;
        if is_ambiguous && effect.invocation.is_some_and(|id| self.needs_key(id)) {
            self.keep_key(effect, tx);
        } else {
            self.close(&effect, tx);
        }
        match outcome {
            Ok(handled) => {
                self.fault = None;
                Ok(self.receipt(handled))
            }
            Err(error) => {
                self.rest_with(&error.to_string(), env, tx);
                Err(error)
            }
        }
    }

    fn audit_of(&self, effect: &OpenEffect, note: &EffectNote, at_ms: i64) -> Option<AuditLine> {
        let is_audited = match effect.kind {
            EffectKind::Service
            | EffectKind::Agent
            | EffectKind::Call
            | EffectKind::Send
            | EffectKind::Person => true,
            EffectKind::Child | EffectKind::Unknown | EffectKind::Held => false,
        };
        (is_audited && !note.decision.is_empty()).then(|| AuditLine {
            at_ms,
            instance: Arc::clone(&self.new.id),
            effect: Arc::clone(&effect.idempotency),
            service: Arc::clone(&effect.name),
            decision: note.decision.as_ref().into(),
            reason: note.reason.clone(),
            provenance: String::new(),
        })
    }
}

/// Returns the usage that an agent or a model reports with its result.
fn reported(effect: &OpenEffect, event: Option<&Event>) -> Spent {
    let reports = effect.kind == EffectKind::Agent || ServiceName::of(&effect.name).class.reports_usage();
    match event {
        Some(Event::InvokeDone { data, .. }) if reports => Spent::of(data.get("usage")),
        Some(Event::InvokeFailed { error, .. }) if reports => Spent::of(error.get("usage")),
        _ => Spent::default(),
    }
}
