//! The handling of each effect: one file per effect. Nothing is performed here; a driver performs the transaction's
//! actions after the commit.

mod call;
pub(crate) mod child;
mod ended;
mod invoke;
mod permission;
mod person;
pub(crate) mod send;

use rawko_core::{Effect, Step};

use crate::consequences::Consequence;
use crate::environment::MachineEnvironment;
use crate::failure::ServiceError;
use crate::instance::Instance;
use crate::records::{EffectKind, OpenEffect};
use crate::result::EffectResult;
use crate::transaction::Transaction;

/// The position of an effect: with the instance's id it forms the effect's id, `instance/step/index`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectPosition {
    pub(crate) step: u64,
    pub(crate) index: u32,
    pub(crate) ms: i64,
    /// Messages that the step sends.
    pub(crate) sends: u32,
}

impl Instance {
    pub(crate) fn plan_effects(
        &mut self,
        step: Step,
        env: &dyn MachineEnvironment,
        ms: i64,
        tx: &mut Transaction,
    ) {
        let is_message = |effect: &&Effect| matches!(effect, Effect::Send(_) | Effect::Emit { .. });
        let sends = step.effects.iter().filter(is_message).count() as u32;
        for (index, effect) in step.effects.into_iter().enumerate() {
            let at = EffectPosition { step: step.number, index: index as u32, ms, sends };
            self.plan_effect(effect, at, env, tx);
        }
    }

    fn plan_effect(
        &mut self,
        effect: Effect,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        match Consequence::of(effect) {
            // The head has the next due time of timers.
            Consequence::Nothing => {}
            Consequence::Work { invoke, kind } => self.plan_invoke((invoke, kind), at, env, tx),
            Consequence::Stop { invocation, id } => self.plan_stop((invocation, &id), at, env, tx),
            Consequence::OwnEvent(event) => self.post_named(self.key, event, at, env, tx),
            Consequence::Message(send) => self.plan_send(send, at, env, tx),
            Consequence::Emission { event, data } => self.plan_emit(event, data, at, env, tx),
            Consequence::Call { handler, params } => self.plan_call(handler, params, at, env, tx),
            Consequence::Completion { output } => self.plan_complete(output, at, env, tx),
            Consequence::Cancellation { reason } => self.plan_cancelled(&reason, at, env, tx),
            Consequence::Stall { error, .. } => self.plan_stall(error, at, env, tx),
        }
    }

    pub(crate) fn open(&mut self, effect: OpenEffect, tx: &mut Transaction) {
        tx.commit.opened.push(effect.clone());
        self.open.push(effect);
    }

    /// Opens an effect that cannot run. Its failure is its result, which the chart receives in the next step.
    pub(crate) fn refuse(&mut self, effect: OpenEffect, error: ServiceError, tx: &mut Transaction) {
        let result = EffectResult::of(&effect, Err(error.clone()));
        let text = tx.pack(serde_json::to_string(&result).unwrap_or_default());
        tx.refused.push((effect.clone(), error));
        self.open(OpenEffect { result: text, ..effect }, tx);
    }

    /// Closes an effect. Opened and closed within one commit, it need not be written at all.
    pub(crate) fn close(&mut self, effect: &OpenEffect, tx: &mut Transaction) {
        let same = |known: &OpenEffect| known.step == effect.step && known.index == effect.index;
        tx.commit.opened.retain(|known| !same(known));
        tx.commit.closed.push((effect.step, effect.index));
    }

    /// Stores the key of an attempt with an unknown outcome, for the next attempt of its invocation.
    pub(crate) fn keep_key(&mut self, effect: OpenEffect, tx: &mut Transaction) {
        let same = |known: &OpenEffect| known.step == effect.step && known.index == effect.index;
        tx.commit.opened.retain(|known| !same(known));
        let unknown = OpenEffect { kind: EffectKind::Unknown, due_ms: None, result: String::new(), ..effect };
        self.open(unknown, tx);
    }

    /// Removes keys of ended invocations, and results that an ended instance no longer receives.
    pub(crate) fn forget_settled_keys(&mut self, tx: &mut Transaction) {
        let over = self.snapshot.status().is_over();
        let is_settled = |effect: &OpenEffect| {
            let is_unneeded = || effect.invocation.is_none_or(|id| !self.needs_key(id));
            (effect.kind == EffectKind::Unknown && is_unneeded())
                || (over && (!effect.result.is_empty() || effect.kind == EffectKind::Held))
        };
        let tally = self.open.tally();
        if tally.unknown + tally.held + tally.with_result == 0 {
            return;
        }
        let settled: Vec<OpenEffect> =
            self.open.iter().filter(|effect| is_settled(effect)).cloned().collect();
        for effect in settled {
            let is = |known: &OpenEffect| (known.step, known.index) == (effect.step, effect.index);
            while let Some(at) = self.open.position(is) {
                self.open.remove(at);
            }
            self.close(&effect, tx);
        }
    }
}

/// Returns an effect's id, which is its idempotency key.
pub(crate) fn effect_id(instance: &str, step: u64, index: u32) -> String {
    format!("{instance}/{step}/{index}")
}
