//! Converts an agent's session updates to stream events.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, SessionUpdate, StopReason as Theirs, ToolCallContent, ToolCallStatus,
};
use rawko_core::Value;
use similar::TextDiff;

use super::prompt::AcpUsage;
use crate::program::EndedCall;
use rawko_model::provider::StreamEvent;
use rawko_model::{StopReason, Usage};

/// Bytes of the diff of one file.
const DIFF_BYTES_MAX: usize = 16 * 1024;
/// Bytes of the diffs of one call, after which no other is added.
const DIFFS_BYTES_MAX: usize = 64 * 1024;
/// Larger texts, old and new together, are not compared.
const TEXTS_BYTES_MAX: usize = 1024 * 1024;
/// Texts that differ much are compared roughly after this time.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// The state accumulated over a turn.
#[derive(Default)]
pub(super) struct PromptState {
    pub(super) text: String,
    pub(super) usage: Usage,
    /// The usage that the agent reported.
    pub(super) spent: Option<AcpUsage>,
    /// Calls by id: an update need not repeat known fields.
    calls: BTreeMap<String, CallSoFar>,
    /// The session's cost at the start of the turn.
    cost_before: f64,
}

/// The known fields of a call.
#[derive(Default)]
struct CallSoFar {
    name: String,
    input: Value,
    content: String,
    diff: String,
}

/// What an update leads to.
pub(super) enum UpdateResult {
    Event(StreamEvent),
    Returned(EndedCall),
}

impl PromptState {
    /// Applies an update and returns the resulting stream events, and the result of a call that has ended.
    pub(super) fn take(&mut self, update: SessionUpdate) -> Vec<UpdateResult> {
        let ended = match &update {
            SessionUpdate::ToolCall(call) => {
                let id = call.tool_call_id.to_string();
                let known = self.calls.entry(id.clone()).or_default();
                known.note(call.raw_input.clone(), &call.content, call.raw_output.as_ref());
                Some((id, call.status))
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let (id, fields) = (update.tool_call_id.to_string(), &update.fields);
                let known = self.calls.entry(id.clone()).or_default();
                let content = fields.content.as_deref().unwrap_or_default();
                known.note(fields.raw_input.clone(), content, fields.raw_output.as_ref());
                fields.status.map(|status| (id, status))
            }
            _ => None,
        };
        let mut all: Vec<UpdateResult> = self.events(update).into_iter().map(UpdateResult::Event).collect();
        if let Some((id, status)) = ended.filter(|(_, status)| ended_with(*status)) {
            let CallSoFar { name, input, content, diff } = self.calls.remove(&id).unwrap_or_default();
            let is_error = status == ToolCallStatus::Failed;
            all.push(UpdateResult::Returned(EndedCall { id, name, input, content, diff, is_error }));
        }
        all
    }

    fn events(&mut self, update: SessionUpdate) -> Vec<StreamEvent> {
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
                self.calls.entry(id.clone()).or_default().name.clone_from(&name);
                let mut events = vec![StreamEvent::ToolUseStart { id: id.clone(), name: name.clone() }];
                events.extend(call.raw_input.map(|input| input_of(&id, input)));
                events.extend(ended_with(call.status).then_some(StreamEvent::ToolUseEnd { id, name }));
                events
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let id = update.tool_call_id.to_string();
                let fields = update.fields;
                let known = self.calls.get(&id).map(|call| call.name.clone()).filter(|name| !name.is_empty());
                let name = fields.name.or(known).or(fields.title).unwrap_or_default();
                self.calls.entry(id.clone()).or_default().name.clone_from(&name);
                let mut events: Vec<StreamEvent> =
                    fields.raw_input.map(|input| input_of(&id, input)).into_iter().collect();
                let has_ended = fields.status.is_some_and(ended_with);
                events.extend(has_ended.then_some(StreamEvent::ToolUseEnd { id, name }));
                events
            }
            SessionUpdate::UsageUpdate(update) => {
                let cost = update.cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd"));
                self.usage.cost_usd =
                    cost.map(|cost| (cost.amount - self.cost_before).max(0.0)).or(self.usage.cost_usd);
                Vec::new()
            }
            // Thoughts, plans, commands and modes stay internal to the agent.
            _ => Vec::new(),
        }
    }

    /// Discards the history that a loaded session replays, but keeps its cost so far.
    pub(super) fn forget(&mut self) {
        let cost_before = self.usage.cost_usd.unwrap_or(0.0);
        *self = Self { cost_before, ..Self::default() };
    }

    /// Returns the usage; estimated from the text if the agent does not count tokens.
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

impl CallSoFar {
    fn note(
        &mut self,
        input: Option<serde_json::Value>,
        content: &[ToolCallContent],
        output: Option<&serde_json::Value>,
    ) {
        if let Some(input) = input {
            self.input = Value::from_json(input);
        }
        let text: Vec<String> = content.iter().filter_map(words).collect();
        if !text.is_empty() {
            self.content = text.join("\n");
        }
        let mut diff = String::new();
        for part in content {
            let ToolCallContent::Diff(part) = part else { continue };
            if diff.len() >= DIFFS_BYTES_MAX {
                diff.push_str("[the other diffs are left out]\n");
                break;
            }
            diff.push_str(&changed_lines(part));
        }
        if !diff.is_empty() {
            self.diff = diff;
        }
        if let Some(output) = output.filter(|_| self.content.is_empty()) {
            self.content = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        }
    }
}

/// Returns the lines that a part of a result shows as changed.
fn changed_lines(diff: &Diff) -> String {
    let old = diff.old_text.as_deref().unwrap_or_default();
    if old.len() + diff.new_text.len() > TEXTS_BYTES_MAX {
        return format!("[the diff of {} is left out: the file is too large]\n", diff.path.display());
    }
    let lines = TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, &diff.new_text);
    let mut text = lines.unified_diff().context_radius(3).to_string();
    if text.len() > DIFF_BYTES_MAX {
        text.truncate(text.floor_char_boundary(DIFF_BYTES_MAX));
        text.push_str("\n[the rest of the diff is left out]\n");
    }
    text
}

/// Returns the text of a part of a result.
fn words(content: &ToolCallContent) -> Option<String> {
    match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        ToolCallContent::Diff(diff) => Some(format!("changed {}", diff.path.display())),
        _ => None,
    }
}

fn input_of(id: &str, input: serde_json::Value) -> StreamEvent {
    StreamEvent::ToolUseInput { id: id.to_owned(), json: Value::from_json(input).to_string() }
}

fn ended_with(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

/// Returns `None` if the turn was cancelled.
pub(super) fn stop_reason(theirs: Theirs) -> Option<StopReason> {
    match theirs {
        Theirs::EndTurn => Some(StopReason::Stop),
        Theirs::MaxTokens => Some(StopReason::Length),
        Theirs::Refusal => Some(StopReason::ContentFilter),
        Theirs::Cancelled => None,
        // The agent reached its own request limit, or the reason is unknown to this version.
        _ => Some(StopReason::Other),
    }
}

/// Returns true if a text is an update of a session; takes it into a turn that has just begun.
pub(crate) fn is_update(text: &[u8]) -> bool {
    serde_json::from_slice(text).is_ok_and(|update| !PromptState::default().take(update).is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_diff_becomes_changed_lines() {
        let mut state = PromptState::default();
        let update = |update: serde_json::Value| serde_json::from_value::<SessionUpdate>(update).unwrap();
        let begun =
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit a.txt", "kind": "edit"});
        state.take(update(begun));
        let ended = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
            "content": [{"type": "diff", "path": "/p/a.txt", "oldText": "one\ntwo\n", "newText": "one\n2\n"}],
        });
        let all = state.take(update(ended));
        let call = all.iter().find_map(|result| match result {
            UpdateResult::Returned(call) => Some(call),
            UpdateResult::Event(_) => None,
        });
        let call = call.unwrap();
        assert_eq!((&*call.name, &*call.content), ("Edit a.txt", "changed /p/a.txt"));
        assert_eq!(call.diff, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    }

    #[test]
    fn the_diffs_of_a_call_have_a_limit() {
        let part = |path: &str, text: String| ToolCallContent::Diff(Diff::new(path, text));
        let mut call = CallSoFar::default();
        call.note(None, &[part("/p/large.txt", "x\n".repeat(TEXTS_BYTES_MAX))], None);
        assert_eq!(call.diff, "[the diff of /p/large.txt is left out: the file is too large]\n");
        let many: Vec<_> = (0..100).map(|_| part("/p/a.txt", "0123456789\n".repeat(4_000))).collect();
        call.note(None, &many, None);
        let most = DIFFS_BYTES_MAX + DIFF_BYTES_MAX + 100;
        assert!((DIFFS_BYTES_MAX..most).contains(&call.diff.len()), "{}", call.diff.len());
    }
}
