//! Usage of an instance and its children, and the rest of a budget. Separate from the gate, which only checks if
//! anything is left, and from agents, which report their usage.

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::{Map, Value};
use serde::{Deserialize, Serialize};

/// Total usage, including children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens of models, input and output together.
    pub tokens: u64,
    /// Cost in US dollars.
    pub cost_usd: f64,
    /// Working time of agents; concurrent ones are added up.
    pub time_ms: u64,
    /// Tool calls of agents.
    pub tool_calls: u64,
}

/// The totals of one instance: over its lifetime, and since each of its states with a budget was entered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// Usage over the lifetime of the instance.
    pub total: Spent,
    /// By the path of the state.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scopes: BTreeMap<Arc<str>, Spent>,
    /// Time that the instance was paused, which is no working time.
    #[serde(skip_serializing_if = "is_zero")]
    pub paused_ms: u64,
    /// When the current pause began, if a migration came after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_since_ms: Option<i64>,
    /// Stopped children that have not reported their usage yet, with the paths of the states with a budget around them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub awaited: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Spent {
    /// Parses the `usage` of a result.
    pub fn of(usage: &Value) -> Self {
        let whole = |key: &str| usage.get(key).as_i64().and_then(|number| u64::try_from(number).ok());
        let parts = whole("input_tokens").unwrap_or(0) + whole("output_tokens").unwrap_or(0);
        Self {
            tokens: whole("tokens").unwrap_or(parts),
            cost_usd: usage.get("cost_usd").as_f64().filter(|cost| *cost > 0.0).unwrap_or(0.0),
            time_ms: whole("time_ms").unwrap_or(0),
            tool_calls: whole("tool_calls").unwrap_or(0),
        }
    }

    /// Returns true if nothing was used.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds two totals; counters saturate.
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost_usd: self.cost_usd + other.cost_usd,
            time_ms: self.time_ms.saturating_add(other.time_ms),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
        }
    }

    /// Saturates at zero.
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost_usd: (self.cost_usd - other.cost_usd).max(0.0),
            time_ms: self.time_ms.saturating_sub(other.time_ms),
            tool_calls: self.tool_calls.saturating_sub(other.tool_calls),
        }
    }

    /// Converts to a map with the field names as keys, as charts see it.
    pub fn to_value(self) -> Value {
        let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        Value::map([
            ("tokens", int(self.tokens)),
            ("cost_usd", Value::float(self.cost_usd)),
            ("time_ms", int(self.time_ms)),
            ("tool_calls", int(self.tool_calls)),
        ])
    }

    /// Returns the rest of a budget, key by key, saturating at zero. Times in budgets are milliseconds.
    pub(crate) fn left_of(&self, budget: &Value) -> Value {
        let Some(budget) = budget.as_map() else { return Value::Null };
        let left = budget.iter().map(|(key, limit)| (Arc::clone(key), self.left_of_one(key, limit)));
        Value::Map(left.collect::<Map>().into())
    }

    fn left_of_one(&self, key: &str, limit: &Value) -> Value {
        let whole = |spent: u64| {
            let spent = i64::try_from(spent).unwrap_or(i64::MAX);
            limit.as_i64().map_or(Value::Null, |limit| Value::Int(limit.saturating_sub(spent).max(0)))
        };
        match key {
            "tokens" => whole(self.tokens),
            "time" => whole(self.time_ms),
            "tool_calls" => whole(self.tool_calls),
            "cost_usd" => {
                limit.as_f64().map_or(Value::Null, |limit| Value::float((limit - self.cost_usd).max(0.0)))
            }
            _ => limit.clone(),
        }
    }
}

impl Ledger {
    /// Parses the ledger stored in the head of an instance.
    pub fn read(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Serialises the ledger; `None` if it is empty.
    pub fn write(&self) -> Option<Arc<str>> {
        let nothing = self.total.is_nothing()
            && self.scopes.is_empty()
            && self.paused_ms == 0
            && self.paused_since_ms.is_none()
            && self.awaited.is_empty();
        (!nothing).then(|| serde_json::to_string(self).unwrap_or_default().into())
    }

    pub(crate) fn add(&mut self, spent: Spent, scopes: impl IntoIterator<Item = Arc<str>>) {
        self.total = self.total.plus(spent);
        for scope in scopes {
            let sum = self.scopes.entry(scope).or_default();
            *sum = sum.plus(spent);
        }
    }

    pub(crate) fn in_scope(&self, path: &str) -> Spent {
        self.scopes.get(path).copied().unwrap_or_default()
    }
}

/// Returns the smaller limit of each key.
pub(crate) fn least(one: &Value, other: &Value) -> Value {
    let (Some(left), Some(right)) = (one.as_map(), other.as_map()) else {
        return if one.is_null() { other.clone() } else { one.clone() };
    };
    let mut least = left.clone();
    for (key, limit) in right.iter() {
        let is_less = match (limit.as_f64(), left.get(key).and_then(Value::as_f64)) {
            (Some(limit), Some(known)) => limit < known,
            // An entry that is no number limits nothing.
            (None, _) => false,
            (Some(_), None) => true,
        };
        if is_less {
            least.insert(Arc::clone(key), limit.clone());
        }
    }
    Value::Map(least.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_is_left_of_a_budget_is_never_below_nothing() {
        let spent = Spent { tokens: 700, cost_usd: 0.25, time_ms: 90_000, tool_calls: 3 };
        let left =
            spent.left_of(&value(r#"{"tokens": 1000, "cost_usd": 1.0, "time": 60000, "tool_calls": 3}"#));
        assert_eq!(left, value(r#"{"tokens": 300, "cost_usd": 0.75, "time": 0, "tool_calls": 0}"#));
        assert_eq!(spent.left_of(&Value::Null), Value::Null);
    }

    #[test]
    fn the_smaller_limit_holds() {
        let least =
            least(&value(r#"{"tokens": 10, "time": 5}"#), &value(r#"{"tokens": 7, "tool_calls": 2}"#));
        assert_eq!(least, value(r#"{"tokens": 7, "time": 5, "tool_calls": 2}"#));
        let broken = super::least(&value(r#"{"tokens": 10}"#), &value(r#"{"tokens": null, "time": 3}"#));
        assert_eq!(broken, value(r#"{"tokens": 10, "time": 3}"#));
    }

    #[test]
    fn usage_is_read_in_both_forms_and_summed() {
        let table = [
            (r#"{"tokens": 5}"#, 5, 0.0),
            (r#"{"input_tokens": 2, "output_tokens": 3, "cost_usd": 0.5}"#, 5, 0.5),
            (r#"{"tokens": -4, "cost_usd": -1}"#, 0, 0.0),
            ("null", 0, 0.0),
        ];
        for (usage, tokens, cost_usd) in table {
            let spent = Spent::of(&value(usage));
            assert_eq!((spent.tokens, spent.cost_usd), (tokens, cost_usd), "{usage}");
        }
        let mut ledger = Ledger::default();
        assert_eq!(ledger.write(), None);
        ledger.add(Spent { tokens: 2, ..Spent::default() }, ["build".into()]);
        ledger.add(Spent { tokens: 3, ..Spent::default() }, []);
        assert_eq!((ledger.total.tokens, ledger.in_scope("build").tokens), (5, 2));
        assert_eq!(Ledger::read(ledger.write().as_deref()), ledger);
    }
}
