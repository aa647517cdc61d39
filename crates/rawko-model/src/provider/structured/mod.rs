//! Structured responses: JSON of a given shape. Providers are asked for it in their own way; regardless of their
//! guarantees, the response is extracted, validated against the schema, and requested again a bounded number of times
//! if invalid.

mod peel;
mod repair;

use rawko_core::Value;

use crate::message::{Message, MessagePart, StopReason};
use crate::provider::{Completion, OutputSchema};

pub use repair::{Repair, Structured, StructuredError, complete_structured};

/// Limit of reported problems.
const PROBLEMS_MAX: usize = 8;

/// A completion that is not a valid structured response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The model reached its output limit before the JSON was complete. Another attempt would end the same way.
    #[error("the answer was cut short by the limit of output tokens before its JSON was complete")]
    CutShort,
    /// The response has tool calls; run them first.
    #[error("the model asked for tools and has not answered yet")]
    AskedForTools,
    /// The text contains no JSON value.
    #[error("there is no JSON in the answer")]
    NotJson,
    /// The JSON violates the schema; holds one line per violation.
    #[error("the answer does not fit its schema: {}", .0.join("; "))]
    Invalid(Vec<String>),
    /// An error in the schema, not of the model.
    #[error("the schema itself is wrong: {0}")]
    Schema(String),
}

/// Returns the structured response of a completion, or its problem.
pub fn judge(completion: &Completion, schema: &OutputSchema) -> Result<Value, Unfit> {
    if completion.message.tool_uses().next().is_some() {
        return Err(Unfit::AskedForTools);
    }
    let judged = judge_text(&text(&completion.message), schema);
    match judged {
        Err(Unfit::NotJson | Unfit::Invalid(_)) if completion.stop_reason == StopReason::Length => {
            Err(Unfit::CutShort)
        }
        judged => judged,
    }
}

/// Like `judge`, for a text alone. The first valid piece of JSON is the response; otherwise problems refer to the
/// largest.
pub fn judge_text(text: &str, schema: &OutputSchema) -> Result<Value, Unfit> {
    let validator = jsonschema::validator_for(&schema.schema.to_json())
        .map_err(|error| Unfit::Schema(error.to_string()))?;
    let candidates = peel::candidates(text);
    let fits = candidates.iter().flat_map(with_inner).find(|it| validator.is_valid(it));
    if let Some(json) = fits {
        return Ok(Value::from_json(json.clone()));
    }
    let largest = candidates.iter().max_by_key(|json| json.to_string().len()).ok_or(Unfit::NotJson)?;
    let problem = |error: jsonschema::ValidationError<'_>| {
        let at = error.instance_path().to_string();
        if at.is_empty() { error.to_string() } else { format!("at `{at}`: {error}") }
    };
    Err(Unfit::Invalid(validator.iter_errors(largest).take(PROBLEMS_MAX).map(problem).collect()))
}

/// If only objects can be requested, other values come as `{answer: …}`.
fn with_inner(json: &serde_json::Value) -> impl Iterator<Item = &serde_json::Value> {
    let inner = json.as_object().filter(|map| map.len() == 1).and_then(|map| map.get("answer"));
    std::iter::once(json).chain(inner)
}

fn text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
