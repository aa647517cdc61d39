//! What the host makes of each effect. Planning happens with the step, before the commit; performing after it.

mod begin;
mod call;
pub(crate) mod child;
mod ended;
mod invoke;
mod perform;
mod person;
pub(crate) mod run;
pub(crate) mod send;

use rawko_core::{Effect, Step};
use rawko_store::{EffectKind, InstanceKey, OpenEffect};

use crate::instance::Live;
use crate::instance::plan::Plan;
use crate::planning::Planner;

/// Where an effect stands: with the instance's id this is its id, `instance/step/index`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) key: InstanceKey,
    pub(crate) step: u64,
    pub(crate) index: u32,
    pub(crate) ms: i64,
}

impl Planner<'_> {
    pub(crate) fn plan_effects(
        &self,
        key: InstanceKey,
        live: &mut Live,
        step: Step,
        ms: i64,
        plan: &mut Plan,
    ) {
        for (index, effect) in step.effects.into_iter().enumerate() {
            let at = At { key, step: step.number, index: index as u32, ms };
            self.plan_effect(live, effect, at, plan);
        }
    }

    fn plan_effect(&self, live: &mut Live, effect: Effect, at: At, plan: &mut Plan) {
        match effect {
            // Timers are in the snapshot; the head says when the next one is due. Logs are in the journal.
            Effect::SetTimer { .. } | Effect::CancelTimer { .. } | Effect::Log { .. } | Effect::Fault(_) => {}
            Effect::Invoke(invoke) => self.plan_invoke(live, invoke, at, plan),
            Effect::StopInvoke { invocation, .. } => self.plan_stop(live, invocation, plan),
            Effect::Send(send) => self.plan_send(live, send, at, plan),
            Effect::Emit { event, data } => self.plan_emit(live, event, data, plan),
            Effect::Call { handler, params } => self.plan_call(live, handler, params, at, plan),
            Effect::Complete { output } => self.plan_complete(live, output, plan),
            Effect::Cancelled { reason } => self.plan_cancelled(live, reason, plan),
            Effect::Stall { error, .. } => self.plan_stall(live, error, plan),
        }
    }
}

/// An effect's id, which is its idempotency key.
pub(crate) fn effect_id(instance: &str, step: u64, index: u32) -> String {
    format!("{instance}/{step}/{index}")
}

/// Removes an open effect of an invocation; it stays as *unknown* if the invocation goes on to another attempt.
pub(crate) fn let_go(live: &mut Live, at: usize, goes_on: bool, plan: &mut Plan) -> OpenEffect {
    let effect = live.open.remove(at);
    if goes_on && matches!(effect.kind, EffectKind::Service | EffectKind::Agent) {
        let unknown = OpenEffect { kind: EffectKind::Unknown, due_ms: None, ..effect.clone() };
        plan.commit.opened.push(unknown.clone());
        live.open.push(unknown);
    } else {
        // Opened and closed within one commit: it need not be written at all.
        let same = |known: &OpenEffect| known.step == effect.step && known.index == effect.index;
        plan.commit.opened.retain(|known| !same(known));
        plan.commit.closed.push((effect.step, effect.index));
    }
    effect
}
