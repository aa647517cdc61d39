//! The lines of the process protocol, version 1: plain data, the same words as in `docs/formats/process-agent.md`.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use super::turn::TurnRequest;
use rawko_model::provider::ErrorCode;
use rawko_model::{Part, StopReason, ToolUse, Usage};
use rawko_tools::ToolOutcome;

/// What `turn` says in `version`.
pub const PROTOCOL_VERSION: u32 = 1;

/// From us to the agent.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToAgent<'a> {
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
        #[serde(skip_serializing_if = "<[Part]>::is_empty")]
        images: &'a [Part],
    },
    Cancel,
}

/// From the agent to us. Keys that are not known are passed over; types are not.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum FromAgent {
    TextDelta {
        text: String,
    },
    ToolCall(ToolUse),
    Usage(Spent),
    Done {
        /// Without it, everything that came as `text_delta`.
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

/// What was spent since the last line of this kind.
#[derive(Deserialize)]
pub(super) struct Spent {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cached_tokens: u64,
    cost_usd: Option<f64>,
}

impl<'a> ToAgent<'a> {
    pub(super) fn tool_result(id: &'a str, outcome: &'a ToolOutcome) -> Self {
        ToAgent::ToolResult {
            id,
            content: &outcome.content,
            is_error: outcome.is_error,
            data: &outcome.data,
            images: &outcome.images,
        }
    }

    pub(super) fn line(&self) -> String {
        // Nothing in these types can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Spent {
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

/// A word of ours, or what stands for words that are not known.
pub(super) fn stop_reason(word: Option<String>) -> StopReason {
    word.map_or(StopReason::Stop, |word| known(word).unwrap_or(StopReason::Other))
}

pub(super) fn error_code(word: Option<String>) -> ErrorCode {
    word.and_then(known).unwrap_or(ErrorCode::Unknown)
}

fn known<T: for<'de> Deserialize<'de>>(word: String) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word)).ok()
}
