//! `Decision`: the arbiter's possible decisions, and `ArbiterDecision`: a decision with its origin and reason. `DecisionRecord` is
//! its form in the chart and the journal.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

/// A decision of the arbiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    /// Another agent runs next.
    SelectMode {
        /// Id of the agent.
        mode: String,
        /// Explanation for the journal.
        reason: String,
    },
    /// The same agent continues.
    Continue {
        /// Explanation for the journal.
        reason: String,
    },
    /// The task is done.
    Complete {
        /// Result of the task, for the person.
        summary: String,
    },
    /// Try again: back to selecting; while selecting, the last agent.
    Retry {
        /// Explanation for the journal; the agent reads it too.
        reason: String,
    },
    /// The current step of the plan is left out.
    Skip {
        /// Explanation for the journal.
        reason: String,
    },
    /// The task ends without success.
    Abort {
        /// Explanation for the person.
        reason: String,
    },
    /// A person answers a question first.
    Ask {
        /// Question to the person.
        question: String,
    },
}

/// The kind of a decision without its payload, for listing the enabled ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DecisionKind {
    /// [`Decision::SelectMode`].
    SelectMode,
    /// [`Decision::Continue`].
    Continue,
    /// [`Decision::Complete`].
    Complete,
    /// [`Decision::Retry`].
    Retry,
    /// [`Decision::Skip`].
    Skip,
    /// [`Decision::Abort`].
    Abort,
    /// [`Decision::Ask`].
    Ask,
}

/// The origin of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionOrigin {
    /// A rule decided without a model.
    Rule,
    /// A model's response was valid.
    Model,
    /// No rule applied and no response was usable.
    Fallback,
}

/// A decision with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArbiterDecision {
    /// The decision.
    pub decision: Decision,
    /// The next agent; `None` if there is none, or if it is still to be selected.
    pub agent: Option<String>,
    /// Origin of the decision.
    pub by: DecisionOrigin,
    /// The rule, or the reason for the fallback.
    pub why: String,
}

/// A decision as charts read it: one map for all kinds, with the keys of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// Kind, the `type` of the record.
    #[serde(rename = "type")]
    pub kind: DecisionKind,
    /// The agent of `SELECT_MODE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Explanation of every kind but `COMPLETE` and `ASK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Result of the task, for `COMPLETE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Question to the person, for `ASK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Origin of the decision.
    pub by: DecisionOrigin,
    /// Name of the rule, or the reason of the fallback.
    pub why: String,
}

impl Decision {
    /// Returns the kind without the payload.
    pub fn kind(&self) -> DecisionKind {
        match self {
            Decision::SelectMode { .. } => DecisionKind::SelectMode,
            Decision::Continue { .. } => DecisionKind::Continue,
            Decision::Complete { .. } => DecisionKind::Complete,
            Decision::Retry { .. } => DecisionKind::Retry,
            Decision::Skip { .. } => DecisionKind::Skip,
            Decision::Abort { .. } => DecisionKind::Abort,
            Decision::Ask { .. } => DecisionKind::Ask,
        }
    }
}

impl DecisionKind {
    /// Returns the name used by charts and models.
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionKind::SelectMode => "SELECT_MODE",
            DecisionKind::Continue => "CONTINUE",
            DecisionKind::Complete => "COMPLETE",
            DecisionKind::Retry => "RETRY",
            DecisionKind::Skip => "SKIP",
            DecisionKind::Abort => "ABORT",
            DecisionKind::Ask => "ASK",
        }
    }
}

impl ArbiterDecision {
    /// Returns the decision as charts read it.
    pub fn record(&self) -> DecisionRecord {
        let (mut mode, mut reason, mut summary, mut question) = (None, None, None, None);
        match self.decision.clone() {
            Decision::SelectMode { mode: agent, reason: why } => (mode, reason) = (Some(agent), Some(why)),
            Decision::Continue { reason: why }
            | Decision::Retry { reason: why }
            | Decision::Skip { reason: why }
            | Decision::Abort { reason: why } => reason = Some(why),
            Decision::Complete { summary: text } => summary = Some(text),
            Decision::Ask { question: text } => question = Some(text),
        }
        let (kind, by, why) = (self.decision.kind(), self.by, self.why.clone());
        DecisionRecord { kind, mode, reason, summary, question, by, why }
    }

    /// Returns the result of `work:evaluate`: the decision with its origin and reason.
    pub fn to_value(&self) -> Value {
        Value::of(&self.record())
    }

    /// Returns the result of `work:select`: the agent and the decision that selected it.
    pub fn to_selection(&self) -> Value {
        let agent = self.agent.as_ref().map(|name| Value::map([("name", Value::str(name))]));
        Value::map([("agent", agent.unwrap_or_default()), ("decision", self.to_value())])
    }
}

impl DecisionOrigin {
    /// Returns the name used in charts and journals.
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionOrigin::Rule => "rule",
            DecisionOrigin::Model => "model",
            DecisionOrigin::Fallback => "fallback",
        }
    }
}
