//! State common to all wire formats: text and tool uses that grow piece by piece, the stop reason and the token counts.
//! A format only decodes the pieces of its stream; the rules shared by all formats are here.

use rawko_core::Value;

use crate::message::{MessagePart, Reasoning, StopReason, ToolUse};
use crate::provider::StreamEvent;

/// Token counts as the provider reported them. Zero means unknown: some report 0 for everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenCounts {
    /// Includes tokens read from a cache.
    pub(super) input: u64,
    pub(super) cached: u64,
    /// Input written to a cache, included in `input`.
    pub(super) written: u64,
    pub(super) output: u64,
    /// Output spent on reasoning, included in `output`.
    pub(super) reasoning: u64,
}

pub(super) struct CompletionBuilder {
    pieces: Vec<StreamPiece>,
    events: Vec<StreamEvent>,
    pub(super) stop: Option<StopReason>,
    pub(super) counted: TokenCounts,
    /// Title and address of pages that the service's own search used.
    sources: Vec<(String, String)>,
    /// Number of the next tool use that has no id from its provider.
    next_id: u64,
}

enum StreamPiece {
    Text(String),
    Tool(ToolPiece),
    Reasoning(Reasoning),
}

/// An incomplete tool use.
struct ToolPiece {
    /// The format's key for it, which is not the id.
    key: u64,
    id: String,
    name: String,
    json: String,
    stage: StreamStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamStage {
    /// The name may still grow.
    Naming,
    /// The start event was sent.
    Open,
    Closed,
}

impl CompletionBuilder {
    pub(super) fn new(next_id: u64) -> Self {
        Self {
            pieces: Vec::new(),
            events: Vec::new(),
            stop: None,
            counted: TokenCounts::default(),
            sources: Vec::new(),
            next_id,
        }
    }

    /// Returns true if there is no answer yet; reasoning alone is none.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, StreamPiece::Reasoning(_)))
    }

    pub(super) fn take_events(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(StreamPiece::Text(said)) => said.push_str(text),
            Some(StreamPiece::Tool(_) | StreamPiece::Reasoning(_)) | None => {
                self.pieces.push(StreamPiece::Text(text.to_owned()))
            }
        }
        self.events.push(StreamEvent::TextDelta { text: text.to_owned() });
    }

    /// Adds a piece of reasoning, to the block that is open or to a new one.
    pub(super) fn reasoning(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.edit_reasoning(|reasoning| reasoning.text.push_str(text));
        self.events.push(StreamEvent::ReasoningDelta { text: text.to_owned() });
    }

    /// Begins another block of reasoning.
    pub(super) fn new_reasoning(&mut self, reasoning: Reasoning) {
        if !reasoning.text.is_empty() {
            self.events.push(StreamEvent::ReasoningDelta { text: reasoning.text.clone() });
        }
        self.pieces.push(StreamPiece::Reasoning(reasoning));
    }

    /// Changes the block of reasoning that is open, or a new one after anything else.
    pub(super) fn edit_reasoning(&mut self, edit: impl FnOnce(&mut Reasoning)) {
        if let Some(StreamPiece::Reasoning(reasoning)) = self.pieces.last_mut() {
            return edit(reasoning);
        }
        let mut reasoning = Reasoning::default();
        edit(&mut reasoning);
        self.pieces.push(StreamPiece::Reasoning(reasoning));
    }

    /// Adds a piece of a tool use. Empty fields were absent from the piece; repeated fields are not added again.
    pub(super) fn tool(&mut self, key: u64, id: &str, name: &str, json: &str) {
        let at = self.tool_at(key, id);
        let Some(StreamPiece::Tool(tool)) = self.pieces.get_mut(at) else { return };
        if tool.id.is_empty() && tool.stage == StreamStage::Naming {
            tool.id.push_str(id);
        }
        if tool.stage == StreamStage::Naming && tool.name != name {
            tool.name.push_str(name);
        }
        if !json.is_empty() {
            self.open(at);
            self.add_input(at, json);
        }
    }

    /// Adds a page that the service used, once.
    pub(super) fn source(&mut self, title: &str, url: &str) {
        if !url.is_empty() && !self.sources.iter().any(|(_, known)| known == url) {
            self.sources.push((title.to_owned(), url.to_owned()));
        }
    }

    /// Returns true if a tool use with this key has begun.
    pub(super) fn has_tool(&self, key: u64) -> bool {
        self.latest(key).is_some()
    }

    /// Adds a tool use that arrived in one piece.
    pub(super) fn whole_tool(&mut self, id: &str, name: &str, json: &str) {
        let key = self.pieces.len() as u64;
        self.tool(key, id, name, json);
        self.close_tool(key);
    }

    /// Marks a tool use as complete.
    pub(super) fn close_tool(&mut self, key: u64) {
        if let Some(at) = self.latest(key) {
            self.close(at);
        }
    }

    /// Returns the index of a tool use. Some servers give every call the same index, so a different id is a different
    /// call.
    fn tool_at(&mut self, key: u64, id: &str) -> usize {
        let is_same = |tool: &ToolPiece| id.is_empty() || tool.id.is_empty() || tool.id == id;
        let known = self
            .latest(key)
            .filter(|at| matches!(self.pieces.get(*at), Some(StreamPiece::Tool(tool)) if is_same(tool)));
        known.unwrap_or_else(|| {
            let (id, name, json) = (String::new(), String::new(), String::new());
            self.pieces.push(StreamPiece::Tool(ToolPiece {
                key,
                id,
                name,
                json,
                stage: StreamStage::Naming,
            }));
            self.pieces.len() - 1
        })
    }

    fn latest(&self, key: u64) -> Option<usize> {
        self.pieces.iter().rposition(|piece| matches!(piece, StreamPiece::Tool(tool) if tool.key == key))
    }

    fn open(&mut self, at: usize) {
        let Some(StreamPiece::Tool(tool)) = self.pieces.get_mut(at) else { return };
        if tool.stage != StreamStage::Naming {
            return;
        }
        if tool.id.is_empty() {
            tool.id = format!("{MADE_UP}{}", self.next_id);
            self.next_id += 1;
        }
        tool.stage = StreamStage::Open;
        self.events.push(StreamEvent::ToolUseStart { id: tool.id.clone(), name: tool.name.clone() });
    }

    fn add_input(&mut self, at: usize, json: &str) {
        let Some(StreamPiece::Tool(tool)) = self.pieces.get_mut(at) else { return };
        tool.json.push_str(json);
        self.events.push(StreamEvent::ToolUseInput { id: tool.id.clone(), json: json.to_owned() });
    }

    fn close(&mut self, at: usize) {
        self.open(at);
        let Some(StreamPiece::Tool(tool)) = self.pieces.get_mut(at) else { return };
        if tool.stage != StreamStage::Closed {
            tool.stage = StreamStage::Closed;
            self.events.push(StreamEvent::ToolUseEnd { id: tool.id.clone(), name: tool.name.clone() });
        }
    }

    /// Returns the message and its stop reason. Drops a tool use that was cut off by the output limit, because its
    /// input is incomplete. `origin` is the `provider/model` of the reasoning.
    pub(super) fn finish(&mut self, origin: &str) -> (Vec<MessagePart>, StopReason) {
        if !self.sources.is_empty() {
            let lines = self.sources.iter().map(|(title, url)| format!("- {title} {url}"));
            let list = lines.collect::<Vec<_>>().join("\n");
            self.text(&format!("\n\nSources:\n{list}"));
        }
        (0..self.pieces.len()).for_each(|at| self.close(at));
        let said = self.stop.unwrap_or(StopReason::Other);
        let pieces = std::mem::take(&mut self.pieces);
        let parts: Vec<MessagePart> =
            pieces.into_iter().filter_map(|piece| part(piece, said, origin)).collect();
        let stop = stop_reason(said, parts.iter().any(|part| matches!(part, MessagePart::ToolUse(_))));
        (parts, stop)
    }
}

const MADE_UP: &str = "call_";

/// Returns the first number not used by a generated id: tool results refer to their tool use by id.
pub(super) fn next_id<'i>(ids: impl Iterator<Item = &'i str>) -> u64 {
    let number = |id: &str| id.strip_prefix(MADE_UP)?.parse::<u64>().ok();
    ids.filter_map(number).max().map_or(1, |highest| highest.saturating_add(1))
}

/// Returns `ToolUse` whenever tools were called, and ignores a reported tool stop without tool calls.
fn stop_reason(said: StopReason, has_tools: bool) -> StopReason {
    match said {
        _ if has_tools => StopReason::ToolCalls,
        StopReason::ToolCalls => StopReason::Other,
        StopReason::Stop | StopReason::Length | StopReason::ContentFilter | StopReason::Other => said,
    }
}

fn part(piece: StreamPiece, said: StopReason, origin: &str) -> Option<MessagePart> {
    match piece {
        StreamPiece::Reasoning(it) if it.text.is_empty() && it.signature.is_none() => None,
        StreamPiece::Reasoning(it) => {
            Some(MessagePart::Reasoning(Reasoning { origin: origin.to_owned(), ..it }))
        }
        StreamPiece::Text(text) => Some(MessagePart::Text { text }),
        StreamPiece::Tool(ToolPiece { id, name, json, .. }) => {
            let input = match input(&json) {
                Some(input) => input,
                None if said == StopReason::Length => return None,
                // The tool rejects this input, and the model sees its own text in the error.
                None => Value::from(json),
            };
            Some(MessagePart::ToolUse(ToolUse { id, name, input }))
        }
    }
}

/// Parses a tool input. No input counts as an empty object; some servers encode the JSON as a string once more.
fn input(json: &str) -> Option<Value> {
    if json.trim().is_empty() {
        return Some(Value::map([] as [(&str, Value); 0]));
    }
    let value: Value = serde_json::from_str(json).ok()?;
    let inner = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    Some(inner.filter(|inner| inner.as_map().is_some()).unwrap_or(value))
}
