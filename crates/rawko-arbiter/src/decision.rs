//! `Decision`: what the arbiter can say, and `Decided`: who said it and why, as the chart and the journal take it.

use rawko_core::{Map, Value};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    /// Another agent works next.
    SelectMode { mode: String, reason: String },
    /// The same agent goes on.
    Continue { reason: String },
    /// The task is done.
    Complete { summary: String },
    /// Once more: back to selecting; while selecting, the agent that worked last.
    Retry { reason: String },
}

/// A decision without what it says: what can be enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    SelectMode,
    Continue,
    Complete,
    Retry,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Rule,
    Model,
    Fallback,
}

/// A decision with where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub decision: Decision,
    /// Who works next; `None` when nobody does, or when that is still to be selected.
    pub agent: Option<String>,
    pub by: By,
    /// The rule, or why there was nothing better than the fallback.
    pub why: String,
}

impl Kind {
    /// The word that charts and models know it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::SelectMode => "SELECT_MODE",
            Kind::Continue => "CONTINUE",
            Kind::Complete => "COMPLETE",
            Kind::Retry => "RETRY",
        }
    }
}

impl Decided {
    /// The result of `work:evaluate`: the decision, and beside it who decided and why.
    pub fn to_value(&self) -> Value {
        let decision = serde_json::to_value(&self.decision).map(Value::from_json).unwrap_or_default();
        let mut map: Map = decision.as_map().cloned().unwrap_or_default();
        map.insert("by".into(), Value::str(self.by.as_str()));
        map.insert("why".into(), Value::str(&self.why));
        Value::Map(map.into())
    }

    /// The result of `work:select`: the agent, and the decision that chose it.
    pub fn to_selection(&self) -> Value {
        let agent = self.agent.as_ref().map(|name| Value::map([("name", Value::str(name))]));
        Value::map([("agent", agent.unwrap_or_default()), ("decision", self.to_value())])
    }
}

impl By {
    pub fn as_str(self) -> &'static str {
        match self {
            By::Rule => "rule",
            By::Model => "model",
            By::Fallback => "fallback",
        }
    }
}
