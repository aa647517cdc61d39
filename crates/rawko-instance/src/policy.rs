//! The rules for an effect: those of its state, within those of the invoking instance, less what was spent. Rules of
//! tools are kept side by side rather than merged, so that a refusal can name the one that refused.

use std::sync::Arc;

use rawko_core::{Chart, Map, NodeId, Value};

use crate::instance::Instance;
use crate::ledger::{Spent, least};

/// The agent that an instance plays, if it plays one.
pub fn agent_of(policy: &Value) -> Option<&str> {
    policy.get("agent").as_str()
}

/// The policy of an instance as it is stored.
pub(crate) fn policy_from(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { serde_json::from_str(text).unwrap_or_default() }
}

/// A policy as the row of an instance holds it.
pub(crate) fn policy_text(policy: &Value) -> Arc<str> {
    if policy.is_null() { Arc::default() } else { serde_json::to_string(policy).unwrap_or_default().into() }
}

impl Instance {
    /// The policy of something that a state of this instance does.
    pub(crate) fn policy_at(&self, node: NodeId) -> Value {
        let (own, inherited) = (&self.chart.node(node).policy, &self.policy);
        if own.is_null() && inherited.is_null() {
            return Value::Null;
        }
        let mut policy = Map::default();
        let mut put = |key: &str, value: Value| {
            if !value.is_null() {
                policy.insert(key.into(), value);
            }
        };
        put("tools", sourced(own.get("tools"), &self.chart, node));
        put("within", inherited.get("within").clone());
        put("budget", self.budget_at(node));
        put("loop", least(inherited.get("loop"), own.get("loop")));
        put("agent", inherited.get("agent").clone());
        Value::Map(policy.into())
    }

    /// The smallest rest of the budgets of the enclosing states and of the invoking instance.
    fn budget_at(&self, node: NodeId) -> Value {
        let whole = self.ledger.total.left_of(self.policy.get("budget"));
        self.scopes(node).into_iter().fold(whole, |left, (path, node)| {
            let spent = self.ledger.in_scope(&path);
            least(&left, &spent.left_of(self.chart.node(node).policy.get("budget")))
        })
    }

    /// The states around a node that have a budget, itself included.
    fn scopes(&self, node: NodeId) -> Vec<(Arc<str>, NodeId)> {
        let around = std::iter::successors(Some(node), |node| self.chart.node(*node).parent);
        let limited = around.filter(|node| !self.chart.node(*node).policy.get("budget").is_null());
        limited.map(|node| (Arc::clone(&self.chart.node(node).path), node)).collect()
    }

    /// Notes what something that a state did has cost.
    pub(crate) fn spend(&mut self, spent: Spent, node: Option<NodeId>) {
        if spent.is_nothing() {
            return;
        }
        let scopes = node.map(|node| self.scopes(node)).unwrap_or_default();
        self.ledger.add(spent, scopes.into_iter().map(|(path, _)| path));
    }

    /// A state that was left begins anew with its whole budget when it is entered again.
    pub(crate) fn forget_left_scopes(&mut self) {
        if self.ledger.scopes.is_empty() {
            return;
        }
        let (chart, snapshot) = (&self.chart, &self.snapshot);
        self.ledger.scopes.retain(|path, _| {
            let node = chart.find(path);
            node.is_some_and(|node| chart.active(snapshot.configuration()).contains(node))
        });
    }
}

/// The policy of a child: everything that held for the effect that began it.
pub(crate) fn inherited(policy: &Value, agent: Option<&str>) -> Value {
    let mut within = policy.get("within").as_list().unwrap_or_default().to_vec();
    if !policy.get("tools").is_null() {
        within.push(policy.get("tools").clone());
    }
    let within = if within.is_empty() { Value::Null } else { Value::list(within) };
    let agent = agent.map_or(Value::Null, Value::str);
    let parts = [
        ("within", within),
        ("budget", policy.get("budget").clone()),
        ("loop", policy.get("loop").clone()),
        ("agent", agent),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, part)| !part.is_null()).collect();
    if parts.is_empty() { Value::Null } else { Value::map(parts) }
}

/// The rules of a state, with the words that name it.
fn sourced(tools: &Value, chart: &Chart, node: NodeId) -> Value {
    let Some(tools) = tools.as_map() else { return Value::Null };
    let mut tools = tools.clone();
    let path = &chart.node(node).path;
    let state = if path.is_empty() { String::new() } else { format!("the state `{path}` of ") };
    let source = format!("`tools` of {state}the chart `{}`", chart.id());
    tools.insert("source".into(), Value::from(source));
    Value::Map(tools.into())
}
