//! What an agent tells of its work while it works, as our stream events.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{ContentBlock, SessionUpdate, StopReason as Theirs, ToolCallStatus};
use rawko_core::Value;

use super::prompt::Spent;
use rawko_model::provider::StreamEvent;
use rawko_model::{StopReason, Usage};

/// What has been heard of a turn.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) text: String,
    pub(super) usage: Usage,
    /// What the agent says it spent.
    pub(super) spent: Option<Spent>,
    /// Of tools, by the ids of their calls: an update need not repeat them.
    names: BTreeMap<String, String>,
    /// Of the session, when the turn began.
    cost_before: f64,
}

impl Heard {
    /// Takes an update in, and what is to be told of it.
    pub(super) fn take(&mut self, update: SessionUpdate) -> Vec<StreamEvent> {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => match chunk.content {
                ContentBlock::Text(text) => {
                    self.text.push_str(&text.text);
                    vec![StreamEvent::TextDelta { text: text.text }]
                }
                _ => Vec::new(),
            },
            SessionUpdate::ToolCall(call) => {
                let id = call.tool_call_id.to_string();
                let name = call.name.unwrap_or(call.title);
                self.names.insert(id.clone(), name.clone());
                let mut events = vec![StreamEvent::ToolUseStart { id: id.clone(), name: name.clone() }];
                events.extend(call.raw_input.map(|input| input_of(&id, input)));
                events.extend(ended(call.status).then_some(StreamEvent::ToolUseEnd { id, name }));
                events
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let id = update.tool_call_id.to_string();
                let fields = update.fields;
                let known = self.names.get(&id).cloned();
                let name = fields.name.or(known).or(fields.title).unwrap_or_default();
                let mut events: Vec<StreamEvent> =
                    fields.raw_input.map(|input| input_of(&id, input)).into_iter().collect();
                let has_ended = fields.status.is_some_and(ended);
                events.extend(has_ended.then_some(StreamEvent::ToolUseEnd { id, name }));
                events
            }
            SessionUpdate::UsageUpdate(update) => {
                let cost = update.cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd"));
                self.usage.cost_usd =
                    cost.map(|cost| (cost.amount - self.cost_before).max(0.0)).or(self.usage.cost_usd);
                Vec::new()
            }
            // Thoughts, plans, commands and modes are the agent's own affair.
            _ => Vec::new(),
        }
    }

    /// What a session that was loaded tells of its past is not of this turn, but what it has cost is.
    pub(super) fn forget(&mut self) {
        let cost_before = self.usage.cost_usd.unwrap_or(0.0);
        *self = Self { cost_before, ..Self::default() };
    }

    /// An agent that does not count tokens gets an estimate from what was said.
    pub(super) fn usage(&self, prompt: &str) -> Usage {
        if let Some(spent) = self.spent {
            return Usage {
                input_tokens: spent.input_tokens,
                output_tokens: spent.output_tokens,
                cached_tokens: spent.cached_read_tokens.unwrap_or(0),
                is_estimate: false,
                ..self.usage
            };
        }
        let tokens = |text: &str| (text.len() / 4) as u64;
        Usage {
            input_tokens: tokens(prompt),
            output_tokens: tokens(&self.text),
            is_estimate: true,
            ..self.usage
        }
    }
}

fn input_of(id: &str, input: serde_json::Value) -> StreamEvent {
    StreamEvent::ToolUseInput { id: id.to_owned(), json: Value::from_json(input).to_string() }
}

fn ended(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

/// `None`: the turn was cancelled.
pub(super) fn stop_reason(theirs: Theirs) -> Option<StopReason> {
    match theirs {
        Theirs::EndTurn => Some(StopReason::Stop),
        Theirs::MaxTokens => Some(StopReason::Length),
        Theirs::Refusal => Some(StopReason::ContentFilter),
        Theirs::Cancelled => None,
        // It ran into its own limit of requests, or something this version does not know.
        _ => Some(StopReason::Other),
    }
}
