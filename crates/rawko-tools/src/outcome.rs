//! The outcome of a tool call: the text for the model and the data for the agent loop.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::MessagePart;

/// The outcome of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The text for the model.
    pub content: String,
    /// True if the call failed or was refused.
    pub is_error: bool,
    /// Set if a rule refused the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<ToolRefusal>,
    /// Structured data: the exit code, changed files, the new plan.
    #[serde(default)]
    pub data: Value,
    /// Returned images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<MessagePart>,
}

/// A rule that refused a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRefusal {
    /// Stable name of the rule that refused: `tool_blocked`, `tool_not_allowed`, `path_outside`, `command_blocked`…
    pub rule: String,
    /// The setting that contains the rule.
    pub source: String,
}

impl ToolOutcome {
    /// The call ran and succeeded.
    pub fn ok(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// The call ran and failed; the text explains how to fix it.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true, ..Self::default() }
    }

    /// Sets the structured data.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }

    /// Returns the facts in the data that the agent loop acts on. Data of other tools may have other types under these
    /// keys, which are then no facts.
    pub fn facts(&self) -> ToolFacts {
        let data = &self.data;
        ToolFacts {
            plan: data.get("plan").clone(),
            notes: data.get("notes").clone(),
            usage: data.get("usage").clone(),
            path: data.get("path").as_str().map(str::to_owned),
            wanted: data.get(super::bash::WANTED).read().unwrap_or_default(),
            question: data.get("question").read().ok(),
            exit_code: data.get("exit_code").as_i64(),
            is_timed_out: data.get("timed_out").as_bool() == Some(true),
        }
    }
}

/// Facts in the data of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolFacts {
    /// The new plan.
    pub plan: Value,
    /// Thoughts, and the instruction files that the model has read.
    pub notes: Value,
    /// Usage of a model that the tool asked.
    pub usage: Value,
    /// The file that it is about.
    pub path: Option<String>,
    /// Hosts that a person has to approve first.
    pub wanted: Vec<WantedHost>,
    /// A question to a person, which the call waits for.
    pub question: Option<ToolQuestion>,
    /// The exit code of a command.
    pub exit_code: Option<i64>,
    /// True if a command ran out of time.
    pub is_timed_out: bool,
}

/// A question of a tool to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolQuestion {
    /// The question.
    pub message: String,
    /// The MCP server that asks.
    #[serde(default)]
    pub by: Option<String>,
    /// A page to visit.
    #[serde(default)]
    pub url: Option<String>,
    /// A JSON Schema of the answer.
    #[serde(default)]
    pub form: Value,
}

/// A host that a command could not reach, and the rule that asks about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedHost {
    /// The host that was refused.
    pub host: String,
    /// The rule that asks about it.
    pub rule: String,
}

/// A refused call, before it is formatted for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedCall {
    pub(crate) rule: &'static str,
    pub(crate) source: String,
    pub(crate) why: String,
}

impl RefusedCall {
    pub(crate) fn new(rule: &'static str, source: &str, why: impl Into<String>) -> Self {
        Self { rule, source: source.to_owned(), why: why.into() }
    }

    /// Formats the refusal; `hint` names an alternative.
    pub(crate) fn outcome(self, hint: &str) -> ToolOutcome {
        let from =
            if self.why.contains(&self.source) { String::new() } else { format!(", from {}", self.source) };
        let content = format!("refused: {} (rule {}{from}).", self.why, self.rule);
        let content = if hint.is_empty() { content } else { format!("{content} {hint}") };
        ToolOutcome {
            content,
            is_error: true,
            refusal: Some(ToolRefusal { rule: self.rule.to_owned(), source: self.source }),
            ..ToolOutcome::default()
        }
    }
}

/// The failure of a built-in tool: an error or a refusal.
#[derive(Debug)]
pub(crate) enum ToolFailure {
    Refused(RefusedCall),
    /// Error text for the model: the problem and the fix.
    Said(String),
}

impl From<RefusedCall> for ToolFailure {
    fn from(refused: RefusedCall) -> Self {
        ToolFailure::Refused(refused)
    }
}

impl From<String> for ToolFailure {
    fn from(said: String) -> Self {
        ToolFailure::Said(said)
    }
}
