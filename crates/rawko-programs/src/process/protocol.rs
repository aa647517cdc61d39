//! The lines of the process protocol, version 1: plain data, with the names of `docs/formats/process-agent.md`.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use crate::program::TurnRequest;
use rawko_model::provider::ErrorCode;
use rawko_model::{MessagePart, StopReason, ToolUse, Usage};
use rawko_tools::ToolOutcome;

/// The value of `version` in `turn`.
pub const PROTOCOL_VERSION: u32 = 1;

/// Messages to the agent.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum HostLine<'a> {
    Turn {
        version: u32,
        #[serde(flatten)]
        request: &'a TurnRequest,
    },
    ToolResult {
        id: &'a str,
        content: &'a str,
        is_error: bool,
        data: &'a Value,
        #[serde(skip_serializing_if = "<[MessagePart]>::is_empty")]
        images: &'a [MessagePart],
    },
    Cancel,
}

/// Messages from the agent. Unknown keys are ignored; unknown types are not.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AgentLine {
    TextDelta {
        text: String,
    },
    ToolCall(ToolUse),
    Usage(UsageLine),
    Done {
        /// If absent, the concatenated `text_delta`s.
        text: Option<String>,
        #[serde(default)]
        data: Value,
        #[serde(default)]
        stop_reason: Option<String>,
        session: Option<String>,
    },
    Error {
        #[serde(default)]
        code: Option<String>,
        message: String,
    },
}

/// Usage since the last line of this kind.
#[derive(Deserialize)]
pub(super) struct UsageLine {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cached_tokens: u64,
    cost_usd: Option<f64>,
}

impl<'a> HostLine<'a> {
    pub(super) fn tool_result(id: &'a str, outcome: &'a ToolOutcome) -> Self {
        HostLine::ToolResult {
            id,
            content: &outcome.content,
            is_error: outcome.is_error,
            data: &outcome.data,
            images: &outcome.images,
        }
    }

    pub(super) fn line(&self) -> String {
        // Serialising these types cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl UsageLine {
    pub(super) fn add_to(&self, usage: &mut Usage) {
        usage.input_tokens = usage.input_tokens.saturating_add(self.input_tokens);
        usage.output_tokens = usage.output_tokens.saturating_add(self.output_tokens);
        usage.cached_tokens = usage.cached_tokens.saturating_add(self.cached_tokens);
        usage.cost_usd = match (usage.cost_usd, self.cost_usd) {
            (Some(sum), Some(cost)) => Some(sum + cost),
            (sum, cost) => sum.or(cost),
        };
    }
}

/// Parses a stop reason; unknown words map to `Other`.
pub(super) fn stop_reason(word: Option<String>) -> StopReason {
    word.map_or(StopReason::Stop, |word| known(word).unwrap_or(StopReason::Other))
}

pub(super) fn error_code(word: Option<String>) -> ErrorCode {
    word.and_then(known).unwrap_or(ErrorCode::Unknown)
}

fn known<T: for<'de> Deserialize<'de>>(word: String) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word)).ok()
}

/// Returns true if a line is a message.
pub(super) fn is_message(line: &[u8]) -> bool {
    match serde_json::from_slice(line) {
        Ok(AgentLine::Done { stop_reason: reason, .. }) => stop_reason(reason) != StopReason::Other,
        Ok(AgentLine::Error { code, .. }) => error_code(code) != ErrorCode::Unknown,
        Ok(AgentLine::TextDelta { .. } | AgentLine::ToolCall(_) | AgentLine::Usage(_)) => true,
        Err(_) => false,
    }
}
