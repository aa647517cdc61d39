//! Parses a model's response. It is an enabled decision, or an error that is reported back to the model; prose is never
//! searched for a decision.

use serde_json::Value as Json;

use super::decision::{Decision, DecisionKind};
use super::enabled::EnabledDecisions;

/// A response that is not a valid decision. The message is sent back to the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The response is not one JSON object; holds the parser's message.
    #[error("it is not one JSON object: {0}")]
    NotJson(String),
    /// The decision is not enabled.
    #[error("`type` must be one of {enabled}, not {given}")]
    Type {
        /// Received value.
        given: String,
        /// Enabled kinds, comma-separated.
        enabled: String,
    },
    /// The agent cannot be selected.
    #[error("SELECT_MODE needs `mode`, one of {enabled}, not {given}")]
    Mode {
        /// Received value.
        given: String,
        /// Selectable agents, comma-separated.
        enabled: String,
    },
    /// The reason is not a string.
    #[error("`reason` must be a text")]
    Reason,
}

/// Parses the response as a decision. Removes one code fence around the object, nothing else.
pub fn parse_answer(text: &str, enabled: &EnabledDecisions) -> Result<Decision, AnswerError> {
    let json: Json =
        serde_json::from_str(unfenced(text)).map_err(|error| AnswerError::NotJson(error.to_string()))?;
    if !json.is_object() {
        return Err(AnswerError::NotJson("it is another kind of value".to_owned()));
    }
    let decision = read(&json, enabled)?;
    if enabled.allows(&decision) { Ok(decision) } else { Err(wrong_type(&json, enabled)) }
}

fn read(json: &Json, enabled: &EnabledDecisions) -> Result<Decision, AnswerError> {
    let words = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
    let reason = || words("reason").ok_or(AnswerError::Reason);
    match json.get("type").and_then(Json::as_str) {
        Some("SELECT_MODE") if !enabled.modes.is_empty() => {
            let mode = words("mode").filter(|mode| enabled.modes.contains(mode));
            let mode = mode.ok_or_else(|| AnswerError::Mode {
                given: shown(json.get("mode")),
                enabled: enabled.modes.join(", "),
            })?;
            Ok(Decision::SelectMode { mode, reason: reason()? })
        }
        Some("CONTINUE") => Ok(Decision::Continue { reason: reason()? }),
        Some("RETRY") => Ok(Decision::Retry { reason: reason()? }),
        Some("SKIP") => Ok(Decision::Skip { reason: reason()? }),
        Some("ABORT") => Ok(Decision::Abort { reason: reason()? }),
        Some("ASK") => Ok(Decision::Ask { question: words("question").map_or_else(reason, Ok)? }),
        Some("COMPLETE") => Ok(Decision::Complete { summary: words("summary").map_or_else(reason, Ok)? }),
        Some(_) | None => Err(wrong_type(json, enabled)),
    }
}

fn wrong_type(json: &Json, enabled: &EnabledDecisions) -> AnswerError {
    let kinds: Vec<&str> = enabled.kinds().into_iter().map(DecisionKind::as_str).collect();
    AnswerError::Type { given: shown(json.get("type")), enabled: kinds.join(", ") }
}

fn shown(json: Option<&Json>) -> String {
    json.map_or_else(|| "nothing".to_owned(), Json::to_string)
}

fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    // The first line names the language.
    inside.split_once('\n').map_or(text, |(_, body)| body)
}
