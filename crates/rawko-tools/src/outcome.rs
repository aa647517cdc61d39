//! The outcome of a tool call: the text for the model and the data for the agent loop.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::Part;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The text for the model.
    pub content: String,
    pub is_error: bool,
    /// Set if a rule refused the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Structured data: the exit code, changed files, the new plan.
    #[serde(default)]
    pub data: Value,
    /// Returned images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Stable name of the rule that refused: `tool_blocked`, `tool_not_allowed`, `path_outside`, `command_blocked`…
    pub rule: String,
    /// The setting that contains the rule.
    pub source: String,
}

impl ToolOutcome {
    pub fn ok(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// The call ran and failed; the text explains how to fix it.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true, ..Self::default() }
    }

    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }
}

/// A refused call, before it is formatted for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) rule: &'static str,
    pub(crate) source: String,
    pub(crate) why: String,
}

impl Refused {
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
            refusal: Some(Refusal { rule: self.rule.to_owned(), source: self.source }),
            ..ToolOutcome::default()
        }
    }
}

/// The failure of a built-in tool: an error or a refusal.
#[derive(Debug)]
pub(crate) enum Failure {
    Refused(Refused),
    /// Error text for the model: the problem and the fix.
    Said(String),
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Failure::Refused(refused)
    }
}

impl From<String> for Failure {
    fn from(said: String) -> Self {
        Failure::Said(said)
    }
}
