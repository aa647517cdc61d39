//! The chart's context as the arbiter reads it: the typed keys of `charts/orchestrator.yaml` that matter to a decision.
//! The same keys are the input of `work:select` and `work:evaluate`.

use jiff::Timestamp;
use rawko_core::Value;
use serde::{Deserialize, Serialize};

/// The arbiter's input from the chart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Orchestration {
    pub task: String,
    /// Any of the supported plan shapes; see [`super::Plan::of`].
    pub plan: Value,
    pub history: Vec<ExecutionEntry>,
    pub last_error: Option<ErrorEntry>,
    /// The agents that may be selected; `None` allows all.
    pub agents: Option<Vec<String>>,
    /// The last agent, or empty.
    pub current_mode: String,
    /// The arbiter's previous decision.
    pub last_arbiter_decision: Value,
    pub started_at: Option<String>,
    /// The conversation with each agent, by name.
    pub sessions: Value,
    pub iteration_count: u64,
    pub max_iterations: u64,
    pub consecutive_failures: u64,
    pub max_failures: u64,
    pub timeout_ms: Option<u64>,
    /// The results of the checks; `None` before the first round.
    pub evidence: Option<CheckEvidence>,
    /// Why the task seems to be stuck.
    pub notice: Option<String>,
    /// Questions to people so far.
    pub asked: u64,
    /// The last question and its answer.
    pub answer: Option<String>,
}

/// The result of the project's checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CheckEvidence {
    /// False without any check.
    pub verified: bool,
    pub clean: bool,
    pub text: String,
    /// Files that agents had changed although a check depends on them.
    pub restored: Vec<String>,
}

/// One execution of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionEntry {
    pub agent: String,
    /// Defaults to its position in the history.
    #[serde(default)]
    pub iteration: Option<u64>,
    pub started_at: String,
    #[serde(default)]
    pub completed_at: Option<String>,
    pub result: EntryResult,
    #[serde(default)]
    pub output: Option<String>,
    /// The structured response, if the agent gave one.
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

/// The result of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryResult {
    Success,
    Failure,
    Timeout,
    Cancelled,
    /// Stopped at the agent's own limit.
    MaxIterations,
}

/// The error of an entry.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum EntryError {
    Message(String),
    Details(Box<ErrorEntry>),
}

/// A failure as the chart records it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ErrorEntry {
    /// `arbiter` if no agent was running.
    pub agent: Option<String>,
    pub message: Option<String>,
    /// A category of the host, of an agent, or one of [`super::ErrorCategory`].
    pub category: Option<String>,
    /// The code of a provider or an agent.
    pub code: Option<String>,
    pub tool: Option<String>,
    pub step: Option<u64>,
    pub attempted: Option<String>,
    pub recovery_options: Option<Vec<super::RecoveryOption>>,
    pub at: Option<String>,
    pub context: Option<super::Circumstances>,
}

/// The context cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    #[error("the chart's context does not match the orchestrator's: {0}")]
    Unreadable(String),
    #[error("nothing to evaluate: no agent has run yet")]
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
            evidence: None,
            notice: None,
            asked: 0,
            answer: None,
        }
    }
}

impl Orchestration {
    /// Parses the chart's context, or the input of `work:select` and `work:evaluate`. Other keys are ignored.
    pub fn of(context: &Value) -> Result<Self, ContextError> {
        serde_json::from_value(context.to_json()).map_err(|error| ContextError::Unreadable(error.to_string()))
    }

    pub fn last(&self) -> Option<&ExecutionEntry> {
        self.history.last()
    }

    /// Returns true unless a check fails.
    pub(super) fn is_clean(&self) -> bool {
        self.evidence.as_ref().is_none_or(|evidence| evidence.clean)
    }

    pub fn is_at_cap(&self) -> bool {
        self.iteration_count >= self.max_iterations
    }

    /// Returns the last agent, if any.
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

    /// Returns the agent's own verdict on its work. Never inferred from its text.
    pub(super) fn verdict(&self) -> Option<&str> {
        self.data.get("verdict").as_str()
    }
}

impl EntryResult {
    /// Returns true for failures. Being stopped by a person, or interrupted while running, is not one.
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

/// Parses an ISO timestamp to milliseconds since 1970.
pub(super) fn millis(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}
