//! The gate's decision on a call, and its audit line: both in the commit, so the line exists before the call is made.

use std::sync::Arc;

use rawko_core::Value;
use serde::Serialize;

use super::EffectPosition;
use crate::content;
use crate::environment::MachineEnvironment;
use crate::failure::{Category, ServiceError};
use crate::gate::{self, GateDecision, GateQuestion};
use crate::instance::Instance;
use crate::ledger::Spent;
use crate::policy::agent_of;
use crate::records::{AuditLine, OpenEffect};
use crate::transaction::Transaction;

/// The audit's record of a caller.
#[derive(Serialize)]
struct Provenance {
    chart: String,
    chart_hash: String,
    step: u64,
    /// The id of an item of an `each`: `reviews[0]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    invoke: Option<Arc<str>>,
    input_hash: String,
    service: Value,
}

impl Instance {
    pub(super) fn ask_gate(
        &mut self,
        effect: &OpenEffect,
        input: &Value,
        policy: &Value,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) -> Result<(), ServiceError> {
        let decision = env.gate().decide(&GateQuestion {
            name: &effect.name,
            instance: &self.new.id,
            chart: self.chart.id(),
            calls_so_far: self.calls,
            agent: agent_of(&self.policy),
            policy,
            now_ms: at.ms,
        });
        let (word, rule) = match &decision {
            GateDecision::Allowed { rule } => {
                let basis = env.basis(&effect.name, effect.kind, input);
                ("allowed", basis.map_or_else(|| rule.clone(), |basis| format!("{rule}; {basis}")))
            }
            GateDecision::Refused { rule, .. } => ("refused", rule.clone()),
        };
        tx.commit.audit.push(AuditLine {
            at_ms: at.ms,
            instance: Arc::clone(&self.new.id),
            effect: Arc::clone(&effect.idempotency),
            service: Arc::clone(&effect.name),
            decision: word.into(),
            reason: rule,
            provenance: self.provenance(effect, input, env),
        });
        match decision {
            GateDecision::Allowed { .. } => {
                self.calls += u64::from(gate::is_gated(&effect.name));
                self.count_call(effect, policy);
                Ok(())
            }
            GateDecision::Refused { rule, limit } => {
                let category = if limit { Category::Limit } else { Category::Refused };
                Err(ServiceError::new(category, rule))
            }
        }
    }

    /// A call of a tool or a service counts against `tool_calls`.
    fn count_call(&mut self, effect: &OpenEffect, policy: &Value) {
        if !policy.is_null() && gate::is_counted(&effect.name) {
            let node = self.node_of(effect.invocation);
            self.spend(Spent { tool_calls: 1, ..Spent::default() }, node);
        }
    }

    fn item_of(&self, effect: &OpenEffect) -> Option<Arc<str>> {
        let known = self.snapshot.invocation(effect.invocation?)?;
        known.item.map(|_| self.chart.invocation_name(&known))
    }

    fn provenance(&mut self, effect: &OpenEffect, input: &Value, env: &dyn MachineEnvironment) -> String {
        let input = self.inputs.hash(input);
        let record = Provenance {
            chart: format!("{}@{}", self.chart.id(), self.chart.version()),
            chart_hash: content::hex(&self.chart.hash()),
            step: effect.step,
            invoke: self.item_of(effect),
            input_hash: content::hex(&input),
            service: env.provenance(&effect.name, effect.kind),
        };
        serde_json::to_string(&record).unwrap_or_default()
    }
}
