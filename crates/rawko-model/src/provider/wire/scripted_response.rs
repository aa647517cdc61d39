//! Builds a completion from a script, by the same rules as a provider's response.

use rawko_core::Value;

use super::stream_state::{CompletionBuilder, next_id};
use crate::message::{Message, Role, StopReason, Usage};
use crate::provider::tokens::{request_tokens, said_tokens};
use crate::provider::{Completion, CompletionRequest, StreamEvent, structured};

/// A scripted response. If it has no stop reason, the matching one is used.
pub(in crate::provider) struct ScriptedResponse<'s> {
    pub(in crate::provider) reasoning: &'s str,
    pub(in crate::provider) text: &'s str,
    pub(in crate::provider) tools: &'s [(String, Value)],
    pub(in crate::provider) stop: Option<StopReason>,
    pub(in crate::provider) usage: Option<Usage>,
}

impl ScriptedResponse<'_> {
    pub(in crate::provider) fn completion(
        &self,
        request: &CompletionRequest,
    ) -> (Completion, Vec<StreamEvent>) {
        let uses = request.messages.iter().flat_map(Message::tool_uses);
        let mut gathering = CompletionBuilder::new(next_id(uses.map(|tool_use| tool_use.id.as_str())));
        self.reasoning.split_inclusive(char::is_whitespace).for_each(|word| gathering.reasoning(word));
        self.text.split_inclusive(char::is_whitespace).for_each(|word| gathering.text(word));
        for (name, input) in self.tools {
            gathering.whole_tool("", name, &input.to_json().to_string());
        }
        gathering.stop = Some(self.stop.unwrap_or(StopReason::Stop));
        let (parts, stop_reason) = gathering.finish(&format!("scripted/{}", request.model));
        let message = Message { role: Role::Assistant, parts };
        let usage = self.usage.unwrap_or_else(|| Usage {
            input_tokens: request_tokens(request),
            output_tokens: said_tokens(&message),
            is_estimate: true,
            ..Usage::default()
        });
        let mut completion = Completion { message, stop_reason, usage, data: None, model: None };
        let schema = request.schema.as_ref();
        completion.data = schema.and_then(|schema| structured::judge(&completion, schema).ok());
        let mut events = gathering.take_events();
        events.push(StreamEvent::MessageDone { usage, stop_reason });
        (completion, events)
    }
}
