//! Decodes the bytes of a response into events and a completion, for all dialects. No IO: the transport feeds it, as
//! can a test or a recording.

use super::lines::LineSplitter;
use super::progress::is_progress;
use super::sse::{Sse, SseLine};
use super::stream_state::{CompletionBuilder, next_id};
use super::{Dialect, anthropic, gemini, ollama, openai, responses};
use crate::message::{Message, Role, Usage};
use crate::provider::classify::{self, head};
use crate::provider::pricing::Price;
use crate::provider::structured;
use crate::provider::tokens::{request_tokens, said_tokens};
use crate::provider::{Completion, CompletionRequest, ErrorCode, OutputSchema, ProviderError, StreamEvent};

/// A larger body is not a valid response of a model.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Limit of a body that is not a stream, kept for the error.
const STRAY_BYTES_MAX: usize = 1024 * 1024;

/// The end of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// By HTTP framing.
    Announced,
    /// The connection broke.
    Broken,
}

/// Decodes one response to one request.
pub struct Decoder {
    dialect: Dialect,
    lines: LineSplitter,
    sse: Sse,
    gathering: CompletionBuilder,
    bytes: usize,
    stray: String,
    has_heard: bool,
    is_over: bool,
    has_progressed: bool,
    /// The tool that stands for the structured answer.
    answer_tool: anthropic::AnswerTool,
    schema: Option<OutputSchema>,
    input_estimate: u64,
    price: Option<Price>,
    /// The model's own name.
    model: Option<String>,
    /// `provider/model` as requested, for reasoning.
    origin: String,
}

impl Decoder {
    /// `origin` is the `provider/model` that is asked.
    pub fn new(dialect: Dialect, request: &CompletionRequest, price: Option<Price>, origin: &str) -> Self {
        let uses = request.messages.iter().flat_map(Message::tool_uses);
        Self {
            dialect,
            lines: LineSplitter::default(),
            sse: Sse::default(),
            gathering: CompletionBuilder::new(next_id(uses.map(|tool_use| tool_use.id.as_str()))),
            bytes: 0,
            stray: String::new(),
            has_heard: false,
            is_over: false,
            has_progressed: false,
            answer_tool: anthropic::AnswerTool::default(),
            schema: request.schema.clone(),
            input_estimate: request_tokens(request),
            price,
            model: None,
            origin: origin.to_owned(),
        }
    }

    /// Decodes the next bytes of the response. Fails on a malformed or oversized body.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        let lines = self.lines.handle_bytes(bytes).ok().filter(|_| self.bytes <= BODY_BYTES_MAX);
        let lines = lines.ok_or_else(|| malformed("it is too large for a model response"))?;
        lines.iter().try_for_each(|line| self.handle_line(line))
    }

    /// Drains the events decoded so far.
    pub fn take_events(&mut self) -> Vec<StreamEvent> {
        self.gathering.take_events()
    }

    /// Returns true if a part of the response arrived since the last call.
    pub fn take_progress(&mut self) -> bool {
        std::mem::take(&mut self.has_progressed)
    }

    /// Returns true if the provider has marked the end of the stream.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns true if the response is complete, even if the connection breaks now.
    pub fn is_whole(&self) -> bool {
        self.gathering.stop.is_some() || (self.is_over && !self.gathering.is_empty())
    }

    fn handle_line(&mut self, line: &str) -> Result<(), ProviderError> {
        if self.is_over {
            return Ok(());
        }
        match self.dialect {
            Dialect::Ollama => self.handle_json_line(line),
            Dialect::OpenAi(_) | Dialect::Responses | Dialect::Anthropic | Dialect::Gemini => {
                match self.sse.handle_line(line) {
                    SseLine::Nothing => Ok(()),
                    SseLine::Data(data) => self.handle_data(&data),
                    SseLine::Stray => {
                        self.keep_stray(line);
                        Ok(())
                    }
                }
            }
        }
    }

    fn handle_json_line(&mut self, line: &str) -> Result<(), ProviderError> {
        if line.trim().is_empty() { Ok(()) } else { self.handle_data(line) }
    }

    fn handle_data(&mut self, data: &str) -> Result<(), ProviderError> {
        self.has_heard = true;
        if data.trim() == "[DONE]" {
            self.is_over = true;
            return Ok(());
        }
        let json: serde_json::Value = serde_json::from_str(data)
            .map_err(|error| malformed(&format!("{error}, in `{}`", head(data, 200))))?;
        self.handle_json(&json)
    }

    fn handle_json(&mut self, json: &serde_json::Value) -> Result<(), ProviderError> {
        if json.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify::in_stream(json));
        }
        if self.model.is_none() {
            self.model = named(json);
        }
        self.has_progressed |= is_progress(self.dialect, json);
        let gathering = &mut self.gathering;
        match self.dialect {
            Dialect::OpenAi(_) => openai::handle_chunk(json, gathering)?,
            Dialect::Responses => self.is_over |= responses::handle_event(json, gathering)?,
            Dialect::Anthropic => {
                self.is_over |= anthropic::handle_event(json, gathering, &mut self.answer_tool)
            }
            Dialect::Gemini => gemini::handle_chunk(json, gathering),
            Dialect::Ollama => self.is_over |= ollama::handle_chunk(json, gathering),
        }
        Ok(())
    }

    fn keep_stray(&mut self, line: &str) {
        if self.stray.len() + line.len() < STRAY_BYTES_MAX {
            self.stray.push_str(line);
            self.stray.push('\n');
        }
    }

    /// Returns the completion and the last events, or an error. Never returns a partial completion as complete.
    pub fn finish(mut self, end: BodyEnd) -> Result<(Completion, Vec<StreamEvent>), ProviderError> {
        match (self.handle_end(), end) {
            // After the end of the response only the token counts can be lost.
            (Err(_), BodyEnd::Broken) | (Ok(()), _) if self.is_whole() => {}
            (Err(_), BodyEnd::Broken) | (Ok(()), _) => return Err(self.cut_off()),
            (Err(error), BodyEnd::Announced) => return Err(error),
        }
        let (parts, stop_reason) = self.gathering.finish(&self.origin);
        let message = Message { role: Role::Assistant, parts };
        let usage = self.usage(said_tokens(&message));
        let model = self.model.take();
        let mut completion = Completion { message, stop_reason, usage, data: None, model };
        completion.data = self.schema.as_ref().and_then(|schema| structured::judge(&completion, schema).ok());
        let mut events = self.gathering.take_events();
        events.push(StreamEvent::MessageDone { usage, stop_reason });
        Ok((completion, events))
    }

    /// Handles the rest after the last line end. Incomplete JSON there means that the stream was cut, even if HTTP
    /// reported a regular end.
    fn handle_end(&mut self) -> Result<(), ProviderError> {
        if let Some(rest) = self.lines.take_rest() {
            self.handle_line(&rest).map_err(|error| self.torn(error, &rest))?;
        }
        if let Some(data) = self.sse.take_event().filter(|_| !self.is_over) {
            self.handle_data(&data).map_err(|error| self.torn(error, &data))?;
        }
        if !self.has_heard && !self.stray.trim().is_empty() {
            self.handle_stray()?;
        }
        Ok(())
    }

    fn torn(&self, error: ProviderError, data: &str) -> ProviderError {
        let is_unended = serde_json::from_str::<serde_json::Value>(data).is_err_and(|error| error.is_eof());
        let is_torn = error.status == Some(200) && is_unended;
        if is_torn { self.cut_off() } else { error }
    }

    /// Handles a body that is not a stream: an error in plain JSON, or a server that does not stream.
    fn handle_stray(&mut self) -> Result<(), ProviderError> {
        let json: Option<serde_json::Value> = serde_json::from_str(self.stray.trim()).ok();
        if let Some(json) = json {
            self.handle_json(&json)?;
        }
        if self.is_whole() {
            return Ok(());
        }
        Err(malformed(&format!("it is not an event stream: `{}`", head(self.stray.trim(), 200))))
    }

    fn cut_off(&self) -> ProviderError {
        let message = match (self.has_heard, self.gathering.is_empty()) {
            (false, _) => "the provider closed the connection without a response",
            (true, true) => "the provider returned an empty response",
            (true, false) => "the provider's response was cut off",
        };
        ProviderError::new(ErrorCode::NetworkError, message)
    }

    /// Uses the provider's counts, or estimates without them.
    fn usage(&self, output_estimate: u64) -> Usage {
        let counted = self.gathering.counted;
        let input = Some(counted.input).filter(|tokens| *tokens > 0);
        let output = Some(counted.output).filter(|tokens| *tokens > 0 || output_estimate == 0);
        let mut usage = Usage {
            input_tokens: input.unwrap_or(self.input_estimate),
            output_tokens: output.unwrap_or(output_estimate),
            cached_tokens: counted.cached,
            cache_write_tokens: counted.written,
            reasoning_tokens: counted.reasoning,
            is_estimate: input.is_none() || output.is_none(),
            cost_usd: None,
        };
        usage.cost_usd = self.price.map(|price| price.cost_usd(&usage));
        usage
    }
}

/// Returns the model named in a chunk; the location depends on the dialect.
fn named(json: &serde_json::Value) -> Option<String> {
    let mut places = ["/model", "/message/model", "/modelVersion", "/response/model"].into_iter();
    let name = places.find_map(|place| json.pointer(place)?.as_str().filter(|name| !name.is_empty()));
    name.map(str::to_owned)
}

/// A successful response that cannot be parsed.
fn malformed(why: &str) -> ProviderError {
    let message = format!("the provider's response cannot be parsed: {why}");
    ProviderError { status: Some(200), ..ProviderError::new(ErrorCode::Unknown, message) }
}
