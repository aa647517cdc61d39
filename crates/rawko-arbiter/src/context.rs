//! The chart's context as the arbiter reads it: the typed keys of `charts/orchestrator.yaml` that matter to a decision.
//! The same keys are the input of `work:select` and `work:evaluate`.

use jiff::Timestamp;
use rawko_core::Value;
use serde::{Deserialize, Serialize};

/// The arbiter's input from the chart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Orchestration {
    /// Task text as the person wrote it.
    pub task: String,
    /// Any of the supported plan shapes; see [`super::Plan::of`].
    pub plan: Value,
    /// Executions so far, oldest first.
    pub history: Vec<ExecutionEntry>,
    /// The last failure, until an agent succeeds.
    pub last_error: Option<ErrorEntry>,
    /// The agents that may be selected; `None` allows all.
    pub agents: Option<Vec<String>>,
    /// The last agent, or empty.
    pub current_mode: String,
    /// The arbiter's previous decision.
    pub last_arbiter_decision: Value,
    /// Start time in RFC 3339.
    pub started_at: Option<String>,
    /// The conversation with each agent, by name.
    pub sessions: Value,
    /// Iterations started.
    pub iteration_count: u64,
    /// Limit on iterations of the task.
    pub max_iterations: u64,
    /// Failures since the last success.
    pub consecutive_failures: u64,
    /// Failures in a row that end the task.
    pub max_failures: u64,
    /// Limit on the time of the task, in milliseconds; `None` has no limit.
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
    /// True if no check fails.
    pub clean: bool,
    /// Report of the checks, for the prompt.
    pub text: String,
    /// Files that agents had changed although a check depends on them.
    pub restored: Vec<String>,
}

/// One execution of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionEntry {
    /// Agent id.
    pub agent: String,
    /// Defaults to its position in the history.
    #[serde(default)]
    pub iteration: Option<u64>,
    /// Start time in RFC 3339.
    pub started_at: String,
    /// End time in RFC 3339.
    #[serde(default)]
    pub completed_at: Option<String>,
    /// Outcome of the execution.
    pub result: EntryResult,
    /// Final text of the agent.
    #[serde(default)]
    pub output: Option<String>,
    /// The structured response, if the agent gave one.
    #[serde(default)]
    pub data: Value,
    /// Changed files, relative to the project.
    #[serde(default)]
    pub files_modified: Option<Vec<String>>,
    /// Present if the execution failed.
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
    /// The agent completed its work.
    Success,
    /// The agent ended with an error.
    Failure,
    /// The execution used up its time.
    Timeout,
    /// A person stopped it.
    Cancelled,
    /// Stopped at the agent's own limit.
    MaxIterations,
}

/// The error of an entry.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum EntryError {
    /// Only a text.
    Message(String),
    /// The fields of an error.
    Details(Box<ErrorEntry>),
}

/// A failure as the chart records it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ErrorEntry {
    /// `arbiter` if no agent was running.
    pub agent: Option<String>,
    /// One sentence for people.
    pub message: Option<String>,
    /// A category of the host, of an agent, or one of [`super::ErrorCategory`].
    pub category: Option<String>,
    /// The code of a provider or an agent.
    pub code: Option<String>,
    /// Tool whose call failed.
    pub tool: Option<String>,
    /// Position of the plan's step, counted from 1.
    pub step: Option<u64>,
    /// The attempted operation, such as a tool call with its input.
    pub attempted: Option<String>,
    /// Ways to continue, as the agent reported them.
    pub recovery_options: Option<Vec<super::RecoveryOption>>,
    /// Time of the failure in RFC 3339.
    pub at: Option<String>,
    /// Files, command and sizes at the failure.
    pub context: Option<super::Circumstances>,
}

/// The context cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The context lacks a key or has one of the wrong type.
    #[error("the chart's context does not match the orchestrator's: {0}")]
    Unreadable(String),
    /// The history is empty.
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

    /// Returns the newest execution.
    pub fn last(&self) -> Option<&ExecutionEntry> {
        self.history.last()
    }

    /// Returns true unless a check fails.
    pub(super) fn is_clean(&self) -> bool {
        self.evidence.as_ref().is_none_or(|evidence| evidence.clean)
    }

    /// Returns true if no further iteration may start.
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

    /// Returns the name used in charts and prompts.
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
