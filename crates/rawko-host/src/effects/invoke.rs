//! `Invoke` and `StopInvoke`: who is asked, whether they may be, and what is kept on disk while they are at it.

use std::sync::Arc;

use rawko_core::{Invoke, Value};
use rawko_store::{AuditLine, EffectKind, OpenEffect, content};
use serde::Serialize;

use super::child::child_id;
use super::{At, effect_id, let_go};
use crate::cast::{Casting, Part};
use crate::gate::{self, Decision, Question};
use crate::instance::Live;
use crate::instance::plan::{Plan, Request, Work};
use crate::instance::waits_for;
use crate::ledger::Spent;
use crate::planning::Planner;
use crate::policy::agent_of;
use crate::services::{Category, ServiceError};

const HUMAN: &str = "human";
const CHART: &str = "statechart:";
const AGENT: &str = "agent:";

/// What a `src` refers to.
pub(crate) fn kind_of(src: &str) -> EffectKind {
    if src == HUMAN {
        EffectKind::Person
    } else if src.starts_with(CHART) {
        EffectKind::Child
    } else if src.starts_with(AGENT) {
        EffectKind::Agent
    } else {
        EffectKind::Service
    }
}

impl Planner<'_> {
    pub(crate) fn plan_invoke(&self, live: &mut Live, mut invoke: Invoke, at: At, plan: &mut Plan) {
        if let Some(node) = live.node_of(Some(invoke.invocation)) {
            invoke.policy = live.policy_at(node);
        }
        let part = self.part(live, &invoke);
        let kind = match &part {
            Some(Ok(Part::Chart { .. })) => EffectKind::Child,
            Some(Ok(Part::Person { .. })) => EffectKind::Person,
            Some(Ok(Part::Service) | Err(_)) => EffectKind::Agent,
            None => kind_of(&invoke.src),
        };
        let idempotency = take_kept_key(live, invoke.invocation, plan)
            .unwrap_or_else(|| effect_id(&live.new.id, at.step, at.index).into());
        let effect = OpenEffect {
            instance: at.key,
            step: at.step,
            index: at.index,
            kind,
            invocation: Some(invoke.invocation),
            name: Arc::clone(&invoke.src),
            body: plan.pack(serde_json::to_string(&invoke).unwrap_or_default()),
            opened_ms: at.ms,
            due_ms: None,
            idempotency,
        };
        if let Some(part) = part {
            return self.plan_agent(live, effect, (part, invoke), at, plan);
        }
        match kind {
            EffectKind::Child => self.plan_child(live, effect, invoke, at, plan),
            EffectKind::Person => self.plan_person(live, effect, &invoke, at, plan),
            EffectKind::Service | EffectKind::Agent => {
                open(live, effect.clone(), plan);
                match self.ask_gate(live, &effect, &invoke.input, &invoke.policy, at, plan) {
                    Ok(()) => plan.work.push(Work::Run { effect, request: Request::Invoke(invoke) }),
                    Err(error) => plan.work.push(Work::Fail { effect, error }),
                }
            }
            EffectKind::Call | EffectKind::Send | EffectKind::Unknown => {}
        }
    }

    /// Who plays an agent; `None` when it is none, or this host has no cast.
    fn part(&self, live: &Live, invoke: &Invoke) -> Option<Result<Part, ServiceError>> {
        let agent = invoke.src.strip_prefix(AGENT)?;
        let (input, policy) = (&invoke.input, &invoke.policy);
        Some(self.project.cast.as_ref()?.part(&Casting { agent, input, policy, instance: &live.new.id }))
    }

    /// Agents pass the gate whoever plays them.
    fn plan_agent(
        &self,
        live: &mut Live,
        effect: OpenEffect,
        (part, mut invoke): (Result<Part, ServiceError>, Invoke),
        at: At,
        plan: &mut Plan,
    ) {
        let allowed = self.ask_gate(live, &effect, &invoke.input, &invoke.policy, at, plan);
        match allowed.and(part) {
            Ok(Part::Chart { chart, input }) => {
                open(live, effect.clone(), plan);
                invoke.input = input;
                self.plan_played(live, effect, (chart, invoke), at, plan);
            }
            Ok(Part::Person { input }) => {
                invoke.input = input;
                let body = plan.pack(serde_json::to_string(&invoke).unwrap_or_default());
                self.plan_person(live, OpenEffect { body, ..effect }, &invoke, at, plan);
            }
            Ok(Part::Service) => {
                open(live, effect.clone(), plan);
                plan.work.push(Work::Run { effect, request: Request::Invoke(invoke) });
            }
            Err(error) => {
                open(live, effect.clone(), plan);
                plan.work.push(Work::Fail { effect, error });
            }
        }
    }

    pub(super) fn plan_stop(&self, live: &mut Live, invocation: u64, plan: &mut Plan) {
        let Some(at) = live.open_invocation(invocation) else { return };
        let goes_on = waits_for(&live.snapshot, invocation);
        let effect = let_go(live, at, goes_on, plan);
        match effect.kind {
            EffectKind::Child => {
                plan.work.push(Work::StopChild { id: child_id(&live.new.id, &effect) });
            }
            EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => {
                plan.work.push(Work::Stop { effect: (effect.instance, effect.step, effect.index) });
            }
            EffectKind::Person | EffectKind::Unknown => {}
        }
    }

    /// Asks the gate and notes its decision in the commit: the audit has the line before the call is made.
    pub(super) fn ask_gate(
        &self,
        live: &mut Live,
        effect: &OpenEffect,
        input: &Value,
        policy: &Value,
        at: At,
        plan: &mut Plan,
    ) -> Result<(), ServiceError> {
        let decision = self.project.gate.decide(&Question {
            name: &effect.name,
            instance: &live.new.id,
            chart: live.chart.id(),
            calls_so_far: live.calls,
            agent: agent_of(&live.policy),
            policy,
        });
        let (word, rule) = match &decision {
            Decision::Allowed { rule } => ("allowed", rule),
            Decision::Refused { rule, .. } => ("refused", rule),
        };
        plan.commit.audit.push(AuditLine {
            at_ms: at.ms,
            instance: Arc::clone(&live.new.id),
            effect: Arc::clone(&effect.idempotency),
            service: Arc::clone(&effect.name),
            decision: word.into(),
            reason: rule.clone(),
            provenance: self.provenance(live, effect, input),
        });
        match decision {
            Decision::Allowed { .. } => {
                live.calls += 1;
                self.count(live, effect, policy);
                Ok(())
            }
            Decision::Refused { rule, limit } => {
                let category = if limit { Category::Limit } else { Category::Refused };
                Err(ServiceError::new(category, rule))
            }
        }
    }

    /// A call of a tool or a service counts where calls are counted.
    fn count(&self, live: &mut Live, effect: &OpenEffect, policy: &Value) {
        let counts = !policy.is_null() && gate::is_counted(&effect.name);
        if counts {
            let node = live.node_of(effect.invocation);
            live.spend(Spent { tool_calls: 1, ..Spent::default() }, node);
        }
    }

    /// Who asks for what, from which chart, and where the service comes from.
    fn provenance(&self, live: &Live, effect: &OpenEffect, input: &Value) -> String {
        let input = content::hash(serde_json::to_string(input).unwrap_or_default().as_bytes());
        let service = self.project.find_service(&effect.name, effect.kind);
        let record = Provenance {
            chart: format!("{}@{}", live.chart.id(), live.chart.version()),
            chart_hash: content::hex(&live.chart.hash()),
            step: effect.step,
            input_hash: content::hex(&input),
            service: service.map_or(Value::Null, |service| service.provenance()),
        };
        serde_json::to_string(&record).unwrap_or_default()
    }
}

/// What the audit keeps of an asker.
#[derive(Serialize)]
struct Provenance {
    chart: String,
    chart_hash: String,
    step: u64,
    input_hash: String,
    service: Value,
}

/// Puts an effect on disk and in memory.
pub(super) fn open(live: &mut Live, effect: OpenEffect, plan: &mut Plan) {
    plan.commit.opened.push(effect.clone());
    live.open.push(effect);
}

/// The key of an earlier attempt whose outcome nobody knows: the next attempt is the same request.
fn take_kept_key(live: &mut Live, invocation: u64, plan: &mut Plan) -> Option<Arc<str>> {
    let kept =
        |effect: &OpenEffect| effect.kind == EffectKind::Unknown && effect.invocation == Some(invocation);
    let at = live.open.iter().position(kept)?;
    Some(let_go(live, at, false, plan).idempotency)
}
