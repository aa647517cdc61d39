//! The budget of a fan-out: all its items are checked before the first one starts, and each gets a share of the rest.

use std::sync::Arc;

use rawko_core::{Admission, Chart, FanOutRequest, Invoke, Map, ServiceClass, ServiceName, Value};

use crate::gate::Gate;
use crate::instance::Instance;
use crate::ledger::Ledger;
use crate::policy::budget_at;

/// The parts of an instance that decide if a fan-out may start.
#[derive(Debug)]
pub(crate) struct FanOutBudget<'a> {
    pub(crate) instance: &'a str,
    pub(crate) chart: &'a Chart,
    /// The policy that the instance inherited.
    pub(crate) policy: &'a Value,
    pub(crate) ledger: &'a Ledger,
    pub(crate) calls: u64,
    pub(crate) gate: &'a Gate,
}

impl Admission for FanOutBudget<'_> {
    fn refuse(&self, request: &FanOutRequest<'_>) -> Option<(String, String)> {
        let left = budget_at(self.chart, self.policy, self.ledger, request.node);
        let names: Vec<&str> = request.sources.iter().flatten().map(|src| &**src).collect();
        let (key, needed, left) = self.gate.cannot_pay(&names, self.calls, &left)?;
        let items = request.sources.len();
        let message = format!(
            "`{}` cannot pay for {items} items: `{key}` needs at least {needed}, and {left} is left",
            self.instance
        );
        Some(("budget".to_owned(), message))
    }
}

impl Instance {
    /// Returns the policy of an item: its budget is an equal part of the rest, so that items that run at the same
    /// time cannot spend more than there is.
    pub(crate) fn share_of(&self, invoke: &Invoke, policy: Value) -> Value {
        let mut all = self.snapshot.fan_outs().iter();
        let Some(fan_out) = all.find(|known| known.index_of(invoke.invocation).is_some()) else {
            return policy;
        };
        let shares = matches!(
            ServiceName::of(&invoke.src).class,
            ServiceClass::Agent | ServiceClass::Model | ServiceClass::Chart
        );
        let Some(budget) = policy.get("budget").as_map().filter(|_| shares) else { return policy };
        let counts = fan_out.counts();
        let unfinished = (fan_out.len() as i64 - i64::from(counts.done) - i64::from(counts.failed)).max(1);
        let shared = budget.iter().map(|(key, left)| (Arc::clone(key), part(left, unfinished)));
        let shared = Value::Map(shared.collect::<Map>().into());
        let mut policy = policy.as_map().cloned().unwrap_or_default();
        policy.insert("budget".into(), shared);
        Value::Map(policy.into())
    }
}

fn part(left: &Value, of: i64) -> Value {
    match left {
        Value::Int(left) => Value::Int(left / of),
        Value::Float(left) => Value::float(left / of as f64),
        other => other.clone(),
    }
}
