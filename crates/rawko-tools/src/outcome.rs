//! What became of a tool call: what the model is told, and what the loop around it needs to know.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::Part;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: String,
    pub is_error: bool,
    /// Why it was not run at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Structured facts: the exit code, files changed, the new plan.
    #[serde(default)]
    pub data: Value,
    /// Images it gave back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Which rule refused, in a stable word: `tool_blocked`, `tool_not_allowed`, `path_outside`, `command_blocked`…
    pub rule: String,
    /// Where the rule stands.
    pub source: String,
}

impl ToolOutcome {
    pub fn ok(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// It was tried and did not work; the text says what to do about it.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true, ..Self::default() }
    }

    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }
}

/// A call that a rule forbids, before it is put into words for a model.
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

    /// `hint`: what may be done instead.
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

/// How a built-in tool ends: done, not possible, or forbidden.
#[derive(Debug)]
pub(crate) enum Failure {
    Refused(Refused),
    /// For the model: what went wrong and what to do.
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
