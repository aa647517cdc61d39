//! The chart's context as the arbiter reads it: the keys of `charts/orchestrator.yaml` that matter to a decision, typed.
//! The same keys are the input of `work:select` and `work:evaluate`.

use jiff::Timestamp;
use rawko_core::Value;
use serde::{Deserialize, Serialize};

/// What the arbiter is told by the chart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Orchestration {
    pub task: String,
    /// In any of the shapes that plans have; see [`super::Plan::of`].
    pub plan: Value,
    pub history: Vec<ExecutionEntry>,
    pub last_error: Option<ErrorEntry>,
    /// The agents that may be chosen; `None`: all.
    pub agents: Option<Vec<String>>,
    /// Who worked last, empty if nobody did.
    pub current_mode: String,
    /// What the arbiter decided before.
    pub last_arbiter_decision: Value,
    pub started_at: Option<String>,
    /// The conversation with each agent, by name.
    pub sessions: Value,
    pub iteration_count: u64,
    pub max_iterations: u64,
    pub consecutive_failures: u64,
    pub max_failures: u64,
    pub timeout_ms: Option<u64>,
}

/// One piece of work of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionEntry {
    pub agent: String,
    /// Without one, its place in the history counts.
    #[serde(default)]
    pub iteration: Option<u64>,
    pub started_at: String,
    #[serde(default)]
    pub completed_at: Option<String>,
    pub result: EntryResult,
    #[serde(default)]
    pub output: Option<String>,
    /// The structured answer, where the agent gave one.
    #[serde(default)]
    pub data: Value,
    #[serde(default)]
    pub files_modified: Option<Vec<String>>,
    #[serde(default)]
    pub error: Option<EntryError>,
    /// `{input_tokens, output_tokens}` or `{input, output}`.
    #[serde(default)]
    pub token_usage: Value,
}

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryResult {
    Success,
    Failure,
    Timeout,
    Cancelled,
    /// Cut off at the agent's own limit.
    MaxIterations,
}

/// What an entry says of its failure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum EntryError {
    Message(String),
    Details(Box<ErrorEntry>),
}

/// A failure as the chart notes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ErrorEntry {
    /// `arbiter` when nobody was at work.
    pub agent: Option<String>,
    pub message: Option<String>,
    /// A word of the host's, of an agent's, or one of [`super::ErrorCategory`].
    pub category: Option<String>,
    /// A provider's code, or an agent's.
    pub code: Option<String>,
    pub tool: Option<String>,
    pub step: Option<u64>,
    pub attempted: Option<String>,
    pub recovery_options: Option<Vec<super::RecoveryOption>>,
    pub at: Option<String>,
    pub context: Option<super::Circumstances>,
}

/// Why the context cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    #[error("the chart's context is not the orchestrator's: {0}")]
    Unreadable(String),
    #[error("there is nothing to evaluate: no agent has worked yet")]
    NothingDone,
}

impl Default for Orchestration {
    fn default() -> Self {
        Self {
            task: String::new(),
            plan: Value::Null,
            history: Vec::new(),
            last_error: None,
            agents: None,
            current_mode: String::new(),
            last_arbiter_decision: Value::Null,
            started_at: None,
            sessions: Value::Null,
            iteration_count: 0,
            max_iterations: 50,
            consecutive_failures: 0,
            max_failures: 3,
            timeout_ms: None,
        }
    }
}

impl Orchestration {
    /// Out of the chart's context, or the input of `work:select` and `work:evaluate`. Other keys are passed over.
    pub fn of(context: &Value) -> Result<Self, ContextError> {
        serde_json::from_value(context.to_json()).map_err(|error| ContextError::Unreadable(error.to_string()))
    }

    pub fn last(&self) -> Option<&ExecutionEntry> {
        self.history.last()
    }

    pub fn is_at_cap(&self) -> bool {
        self.iteration_count >= self.max_iterations
    }

    /// Who worked last, if anybody.
    pub(super) fn current(&self) -> Option<&str> {
        Some(self.current_mode.as_str()).filter(|name| !name.is_empty())
    }
}

impl ExecutionEntry {
    pub(super) fn duration_ms(&self) -> u64 {
        let ends = (millis(&self.started_at), self.completed_at.as_deref().and_then(millis));
        match ends {
            (Some(start), Some(end)) => u64::try_from(end - start).unwrap_or(0),
            (Some(_) | None, Some(_) | None) => 0,
        }
    }

    /// A word of the agent's own on how its work came out, never read out of its text.
    pub(super) fn verdict(&self) -> Option<&str> {
        self.data.get("verdict").as_str()
    }
}

impl EntryResult {
    /// Whether it speaks of trouble. Being stopped by a person, or cut off while at work, does not.
    pub fn is_failure(self) -> bool {
        match self {
            EntryResult::Failure | EntryResult::Timeout => true,
            EntryResult::Success | EntryResult::Cancelled | EntryResult::MaxIterations => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            EntryResult::Success => "success",
            EntryResult::Failure => "failure",
            EntryResult::Timeout => "timeout",
            EntryResult::Cancelled => "cancelled",
            EntryResult::MaxIterations => "max_iterations",
        }
    }
}

impl EntryError {
    pub(super) fn details(&self) -> ErrorEntry {
        match self {
            EntryError::Message(message) => {
                ErrorEntry { message: Some(message.clone()), ..ErrorEntry::default() }
            }
            EntryError::Details(details) => (**details).clone(),
        }
    }
}

/// Milliseconds since 1970 of an ISO timestamp.
pub(super) fn millis(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}
