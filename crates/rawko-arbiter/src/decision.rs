//! `Decision`: the arbiter's possible decisions, and `Decided`: a decision with its origin and reason, as stored by the
//! chart and the journal.

use rawko_core::{Map, Value};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    /// Another agent runs next.
    SelectMode { mode: String, reason: String },
    /// The same agent continues.
    Continue { reason: String },
    /// The task is done.
    Complete { summary: String },
    /// Try again: back to selecting; while selecting, the last agent.
    Retry { reason: String },
    /// The current step of the plan is left out.
    Skip { reason: String },
    /// The task ends without success.
    Abort { reason: String },
    /// A person answers a question first.
    Ask { question: String },
}

/// The kind of a decision without its payload, for listing the enabled ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    SelectMode,
    Continue,
    Complete,
    Retry,
    Skip,
    Abort,
    Ask,
}

/// The origin of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Rule,
    Model,
    Fallback,
}

/// A decision with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub decision: Decision,
    /// The next agent; `None` if there is none, or if it is still to be selected.
    pub agent: Option<String>,
    pub by: By,
    /// The rule, or the reason for the fallback.
    pub why: String,
}

impl Kind {
    /// Returns the name used by charts and models.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::SelectMode => "SELECT_MODE",
            Kind::Continue => "CONTINUE",
            Kind::Complete => "COMPLETE",
            Kind::Retry => "RETRY",
            Kind::Skip => "SKIP",
            Kind::Abort => "ABORT",
            Kind::Ask => "ASK",
        }
    }
}

impl Decided {
    /// Returns the result of `work:evaluate`: the decision with its origin and reason.
    pub fn to_value(&self) -> Value {
        let decision = serde_json::to_value(&self.decision).map(Value::from_json).unwrap_or_default();
        let mut map: Map = decision.as_map().cloned().unwrap_or_default();
        map.insert("by".into(), Value::str(self.by.as_str()));
        map.insert("why".into(), Value::str(&self.why));
        Value::Map(map.into())
    }

    /// Returns the result of `work:select`: the agent and the decision that selected it.
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
