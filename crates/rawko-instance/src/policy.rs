//! The rules for an effect: those of its state, within those of the invoking instance, less the usage. Tool rules are
//! kept side by side rather than merged, so that a refusal can name its source.

use std::sync::Arc;

use rawko_core::{Chart, Map, NodeId, Value, split_item_name};

use crate::instance::Instance;
use crate::ledger::{Ledger, Spent, least};

/// Returns the agent that an instance implements, if any.
pub fn agent_of(policy: &Value) -> Option<&str> {
    policy.get("agent").as_str()
}

/// Parses the stored policy of an instance.
pub(crate) fn policy_from(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { serde_json::from_str(text).unwrap_or_default() }
}

/// Returns the stored form of a policy.
pub(crate) fn policy_text(policy: &Value) -> Arc<str> {
    if policy.is_null() { Arc::default() } else { serde_json::to_string(policy).unwrap_or_default().into() }
}

impl Instance {
    /// Returns the policy for an action of a state.
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
        put("permission_mode", inherited.get("permission_mode").clone());
        if !inherited.get("agent").is_null() {
            // Approvals are accepted only from a chart that is known to wait for them.
            put("chart", Value::from(crate::content::hex(&self.chart.hash())));
        }
        Value::Map(policy.into())
    }

    fn budget_at(&self, node: NodeId) -> Value {
        let left = budget_at(&self.chart, &self.policy, &self.ledger, node);
        let own = budget_in_context(&self.chart, self.snapshot.context());
        least(&left, &self.ledger.total.left_of(&own))
    }

    /// Records the usage of a state's action.
    pub(crate) fn spend(&mut self, spent: Spent, node: Option<NodeId>) {
        if spent.is_nothing() {
            return;
        }
        let scopes = node.map(|node| scopes(&self.chart, node)).unwrap_or_default();
        self.ledger.add(spent, scopes.into_iter().map(|(path, _)| path));
    }

    /// Returns the active states with a budget around an invoke, by its id or the name of an item.
    pub(crate) fn active_scopes_of(&self, invoke: &str) -> Vec<Arc<str>> {
        let id = split_item_name(invoke).map_or(invoke, |(id, _)| id);
        let has = |node: &NodeId| self.chart.node(*node).invokes.iter().any(|(known, _)| &**known == id);
        let Some(node) = self.chart.node_ids().find(has) else { return Vec::new() };
        let active = self.chart.active(self.snapshot.configuration());
        let around = scopes(&self.chart, node).into_iter().filter(|(_, node)| active.contains(*node));
        around.map(|(path, _)| path).collect()
    }

    /// Records the usage of a stopped child, in the states around it that are still active.
    pub(crate) fn spend_late(&mut self, spent: Spent, scopes: Vec<Arc<str>>) {
        let active = self.chart.active(self.snapshot.configuration());
        let is_active = |path: &Arc<str>| self.chart.find(path).is_some_and(|node| active.contains(node));
        let scopes: Vec<_> = scopes.into_iter().filter(is_active).collect();
        self.ledger.add(spent, scopes);
    }

    /// Resets the budget of a state that was left, so that it is full on the next entry.
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

/// Returns the smallest remaining budget of the enclosing states and of the invoking instance.
pub(crate) fn budget_at(chart: &Chart, inherited: &Value, ledger: &Ledger, node: NodeId) -> Value {
    let whole = ledger.total.left_of(inherited.get("budget"));
    scopes(chart, node).into_iter().fold(whole, |left, (path, node)| {
        let spent = ledger.in_scope(&path);
        least(&left, &spent.left_of(chart.node(node).policy.get("budget")))
    })
}

/// Returns the budget of the whole run that the chart reads from its context (`budget: {from_context: …}`); null if it reads
/// none or the key has none. A limit that is no number allows nothing, so that a slip never widens a budget.
fn budget_in_context(chart: &Chart, context: &[Value]) -> Value {
    let key = chart.node(NodeId::ROOT).policy.get("budget_key").as_str();
    let slot = key.and_then(|key| chart.context_names().iter().position(|name| **name == *key));
    let limits = slot.and_then(|slot| context.get(slot)).and_then(Value::as_map);
    let of_context = |(key, limit): (&Arc<str>, &Value)| {
        let is_limit = ["tokens", "cost_usd", "time", "tool_calls"].contains(&&**key) && !limit.is_null();
        is_limit.then(|| (Arc::clone(key), limit_of(key, limit)))
    };
    let limits: Map = limits.into_iter().flat_map(|limits| limits.iter()).filter_map(of_context).collect();
    if limits.is_empty() { Value::Null } else { Value::Map(limits.into()) }
}

/// Returns a limit in its unit: dollars may be any number, everything else is whole.
fn limit_of(key: &str, limit: &Value) -> Value {
    match limit.as_f64() {
        Some(number) if key == "cost_usd" => Value::float(number),
        Some(number) => Value::Int(number.floor() as i64),
        None => Value::Int(0),
    }
}

/// Returns the enclosing states with a budget, including the node itself.
fn scopes(chart: &Chart, node: NodeId) -> Vec<(Arc<str>, NodeId)> {
    let around = std::iter::successors(Some(node), |node| chart.node(*node).parent);
    let limited = around.filter(|node| !chart.node(*node).policy.get("budget").is_null());
    limited.map(|node| (Arc::clone(&chart.node(node).path), node)).collect()
}

/// Returns the policy of a child: everything that applied to the effect that started it.
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
        ("permission_mode", policy.get("permission_mode").clone()),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, part)| !part.is_null()).collect();
    if parts.is_empty() { Value::Null } else { Value::map(parts) }
}

/// Returns the rules of a state, with their source for messages.
fn sourced(tools: &Value, chart: &Chart, node: NodeId) -> Value {
    let Some(tools) = tools.as_map() else { return Value::Null };
    let mut tools = tools.clone();
    let path = &chart.node(node).path;
    let state = if path.is_empty() { String::new() } else { format!("the state `{path}` of ") };
    let source = format!("`tools` of {state}the chart `{}`", chart.id());
    tools.insert("source".into(), Value::from(source));
    Value::Map(tools.into())
}
