//! One turn of an agent that is not a model of ours: what it is asked, who serves it meanwhile, and how it ends. The
//! same for commands and for coding agents.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::provider::{ErrorCode, StreamEvent};
use rawko_model::{Message, StopReason, ToolSpec, ToolUse, Usage};
use rawko_tools::Running;

/// What the agent is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The agent's name.
    pub agent: String,
    /// What was said before.
    pub messages: Vec<Message>,
    /// Everything that is wanted, in words.
    pub prompt: String,
    pub tools: Vec<ToolSpec>,
    /// As an earlier turn gave it back, to go on from there.
    pub session: Option<String>,
    /// Who it is, and what holds in its phase.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What it works on, for programs; the prompt has it in words.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub plan: Value,
    /// The JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub schema: Value,
}

/// What the agent gave back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    pub text: String,
    pub data: Value,
    pub stop_reason: StopReason,
    pub usage: Usage,
    pub session: Option<String>,
}

/// Returns when nobody wants the turn any more.
pub type Cancelling<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Who serves an agent during its turn.
pub trait TurnHost: Send + Sync {
    /// Runs a tool for the agent, past the gate like any other.
    fn tool(&self, tool_use: ToolUse) -> Running<'_>;

    fn heard(&self, event: StreamEvent);

    /// What the turn has used so far, each time that more is known of it.
    fn spent(&self, _so_far: Usage) {}

    /// When it returns the agent is told to stop, and ended if it does not. Dropping the turn ends it at once.
    fn cancelled(&self) -> Cancelling<'_> {
        Box::pin(std::future::pending())
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    #[error("the agent did not start: {0}")]
    NotStarted(String),
    /// With how it ended and its last words.
    #[error("the agent ended before it was done: {0}")]
    Ended(String),
    #[error("the agent was ended: it said nothing for {within}; {detail}")]
    Silent { within: String, detail: String },
    /// It does not speak the protocol.
    #[error("the agent does not speak the protocol: {0}")]
    Malformed(String),
    #[error("the agent wrote more than {bytes_max} bytes {what}")]
    TooLong { bytes_max: usize, what: &'static str },
    #[error("the agent wants to be signed in: {0}")]
    Unauthenticated(String),
    /// What the agent itself says went wrong.
    #[error("{message}")]
    Reported { code: ErrorCode, message: String },
    #[error("the turn was cancelled")]
    Cancelled,
}

impl TurnError {
    /// Whether the same turn may do better later.
    pub fn is_transient(&self) -> bool {
        match self {
            TurnError::Ended(_) | TurnError::Silent { .. } => true,
            TurnError::Reported { code, .. } => code.is_transient(),
            TurnError::NotStarted(_)
            | TurnError::Malformed(_)
            | TurnError::TooLong { .. }
            | TurnError::Unauthenticated(_)
            | TurnError::Cancelled => false,
        }
    }
}

pub(crate) fn in_time(duration: Duration) -> String {
    rawko_core::duration::format_ms(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
