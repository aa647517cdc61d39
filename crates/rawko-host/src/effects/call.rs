//! `Call`: an action that calls a handler. Nobody waits for the result, but it passes the same gate, and the chart
//! hears of a failure as `error.communication`.

use std::sync::Arc;

use rawko_core::Value;
use rawko_store::{EffectKind, OpenEffect};

use super::invoke::open;
use super::{At, effect_id};
use crate::instance::Live;
use crate::instance::plan::{Plan, Request, Work};
use crate::planning::Planner;

impl Planner<'_> {
    pub(super) fn plan_call(
        &self,
        live: &mut Live,
        handler: Arc<str>,
        params: Value,
        at: At,
        plan: &mut Plan,
    ) {
        let request = Request::Call { handler: Arc::clone(&handler), params: params.clone() };
        let effect = OpenEffect {
            instance: at.key,
            step: at.step,
            index: at.index,
            kind: EffectKind::Call,
            invocation: None,
            name: Arc::clone(&handler),
            body: plan.pack(serde_json::to_string(&request).unwrap_or_default()),
            opened_ms: at.ms,
            due_ms: None,
            idempotency: effect_id(&live.new.id, at.step, at.index).into(),
        };
        // Which state called is not known any more; what holds for the whole chart does.
        let policy = live.chart.node_ids().next().map_or(Value::Null, |root| live.policy_at(root));
        match self.ask_gate(live, &effect, &params, &policy, at, plan) {
            Ok(()) => {
                open(live, effect.clone(), plan);
                plan.work.push(Work::Run { effect, request });
            }
            Err(error) => {
                let message = format!("`{handler}` was not called: {}", error.message);
                self.post_trouble(live, &handler, &message, at.key, plan);
            }
        }
    }
}
