//! Repair: the message to a model with an invalid response, and the retry loop.

use std::sync::Arc;

use rawko_core::Value;

use super::{Unfit, judge};
use crate::message::{Message, MessagePart, Role, Usage};
use crate::provider::{
    Completion, CompletionRequest, ErrorCode, OutputSchema, Provider, ProviderError, StreamListener,
};

/// The number of repairs. Plain data, so that a durable loop can store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Limit on requests for a corrected response.
    pub attempts_max: u32,
}

impl Default for Repair {
    fn default() -> Self {
        Self { attempts_max: 2 }
    }
}

impl Repair {
    /// Returns the messages to append before the next attempt after `attempt` repairs, or `None` if no attempt is left
    /// or useful.
    pub fn messages(
        self,
        attempt: u32,
        completion: &Completion,
        unfit: &Unfit,
        schema: &OutputSchema,
    ) -> Option<Vec<Message>> {
        let is_hopeful = match unfit {
            Unfit::NotJson | Unfit::Invalid(_) => true,
            Unfit::CutShort | Unfit::AskedForTools | Unfit::Schema(_) => false,
        };
        let words = format!(
            "This answer is invalid: {unfit}.\nAnswer again with one JSON value that matches this JSON Schema, and nothing \
             before or after it:\n{}",
            schema.schema
        );
        (is_hopeful && attempt < self.attempts_max)
            .then(|| vec![spoken(&completion.message), Message::text(Role::User, words)])
    }
}

/// Services reject an empty message.
fn spoken(message: &Message) -> Message {
    let says_something = message.parts.iter().any(|part| match part {
        MessagePart::Text { text } => !text.trim().is_empty(),
        MessagePart::Reasoning(_) => false,
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_) => true,
    });
    if says_something { message.clone() } else { Message::text(Role::Assistant, "(nothing)") }
}

/// A structured response and the usage of all attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct Structured {
    /// Valid value.
    pub value: Value,
    /// The completion with the value.
    pub completion: Completion,
    /// Sum over all attempts.
    pub usage: Usage,
    /// Number of corrected responses that were requested.
    pub repairs: u32,
}

/// A structured response that could not be obtained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StructuredError {
    /// A completion failed.
    #[error(transparent)]
    Provider(ProviderError),
    /// `usage` covers all attempts: they are paid for.
    #[error("{unfit}")]
    Unfit {
        /// Problem of the last response.
        unfit: Unfit,
        /// Last response.
        completion: Box<Completion>,
        /// Sum over all attempts.
        usage: Usage,
    },
}

/// Requests a response until it is valid or the attempts are used up.
pub async fn complete_structured(
    provider: &dyn Provider,
    mut request: CompletionRequest,
    repair: Repair,
    listener: StreamListener<'_>,
) -> Result<Structured, StructuredError> {
    let Some(schema) = request.schema.clone() else {
        let error = ProviderError::new(ErrorCode::InvalidRequest, "a structured answer needs a schema");
        return Err(StructuredError::Provider(error));
    };
    let (mut usage, mut repairs) = (Usage::default(), 0);
    loop {
        let completion =
            provider.complete(request.clone(), &mut *listener).await.map_err(StructuredError::Provider)?;
        usage = sum(usage, completion.usage, repairs == 0);
        let unfit = match judge(&completion, &schema) {
            Ok(value) => return Ok(Structured { value, completion, usage, repairs }),
            Err(unfit) => unfit,
        };
        let Some(more) = repair.messages(repairs, &completion, &unfit, &schema) else {
            return Err(StructuredError::Unfit { unfit, completion: Box::new(completion), usage });
        };
        Arc::make_mut(&mut request.messages).extend(more);
        repairs += 1;
        if !request.idempotency.is_empty() {
            request.idempotency.push_str("-again");
        }
    }
}

/// An unknown cost makes the sum unknown.
fn sum(so_far: Usage, more: Usage, is_first: bool) -> Usage {
    let cost = match (so_far.cost_usd, more.cost_usd) {
        (None, cost) if is_first => cost,
        (Some(a), Some(b)) => Some(a + b),
        (Some(_), None) | (None, Some(_) | None) => None,
    };
    Usage { cost_usd: cost, ..so_far.plus(more) }
}
