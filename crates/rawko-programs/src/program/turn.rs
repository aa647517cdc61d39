//! One turn of a program: its request, its result, and the reasons why it has none.

use std::time::Duration;

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::provider::ErrorCode;
use rawko_model::{Message, StopReason, ToolSpec, Usage};

/// The request to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The name of the agent.
    pub agent: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The complete request as text.
    pub prompt: String,
    /// Our tools that it may use.
    pub tools: Vec<ToolSpec>,
    /// Session of an earlier turn, to resume it.
    pub session: Option<String>,
    /// The agent's role and the rules of its phase.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The phase that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Task data for programs; the prompt has it as text.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// The plan so far.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub plan: Value,
    /// JSON Schema of the response.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub schema: Value,
}

/// The agent's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    /// The answer.
    pub text: String,
    /// The structured answer.
    pub data: Value,
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Tokens and cost.
    pub usage: Usage,
    /// The session, to resume it.
    pub session: Option<String>,
}

/// A turn that ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The program cannot be started.
    #[error("the agent did not start: {0}")]
    NotStarted(String),
    /// Contains the exit status and the end of stderr.
    #[error("the agent exited before it finished: {0}")]
    Ended(String),
    /// It sent nothing for too long.
    #[error("the agent was stopped: no output for {within}; {detail}")]
    Silent {
        /// The silence timeout.
        within: String,
        /// The end of stderr.
        detail: String,
    },
    /// The agent violates the protocol.
    #[error("the agent broke the protocol: {0}")]
    Malformed(String),
    /// It sent more than is allowed.
    #[error("the agent wrote more than {bytes_max} bytes {what}")]
    TooLong {
        /// The limit.
        bytes_max: usize,
        /// Where it applies: `in one line`.
        what: &'static str,
    },
    /// It requires a login.
    #[error("the agent requires authentication: {0}")]
    Unauthenticated(String),
    /// An error that the agent reported.
    #[error("{message}")]
    Reported {
        /// The kind of the error.
        code: ErrorCode,
        /// The text of the agent.
        message: String,
    },
    /// The caller cancelled the turn.
    #[error("the turn was cancelled")]
    Cancelled,
}

impl TurnError {
    /// Returns true if the same turn may succeed later.
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
