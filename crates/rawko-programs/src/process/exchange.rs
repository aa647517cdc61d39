//! The exchange of one turn: reads lines, runs tools in sequence and sends results until the agent is done or the turn
//! ends.

use std::collections::VecDeque;
use std::future::pending;
use std::time::Duration;

use tokio::process::ChildStdout;
use tokio::time::{Instant, sleep_until};

use super::lines::{LineReader, LineWriter, ProgramLine};
use super::protocol::{AgentLine, HostLine, PROTOCOL_VERSION, error_code, stop_reason};
use crate::program::{CancelFuture, ProgramHost, TurnRequest, TurnResult};
use rawko_model::provider::{ErrorCode, StreamEvent};
use rawko_model::{StopReason, ToolUse, Usage};
use rawko_tools::{ToolFuture, ToolOutcome};

/// Limit of queued tool calls; reading pauses at the limit.
const CALLS_WAITING_MAX: usize = 32;
/// Length limit of a quoted line in a message.
const SHOWN_CHARS: usize = 200;

pub(super) struct ExchangeLimits {
    pub(super) silence: Duration,
    pub(super) cancel_grace: Duration,
    /// Limit of all text of a turn.
    pub(super) text_bytes_max: usize,
}

/// A turn that ended without a result.
pub(super) enum StoppedTurn {
    OutputEnded,
    Silent,
    Malformed(String),
    LineTooLong,
    TextTooLong,
    Reported { code: ErrorCode, message: String },
    Cancelled,
}

pub(super) struct TurnExchange<'h> {
    host: &'h dyn ProgramHost,
    lines: LineReader<ChildStdout>,
    writer: LineWriter,
    limits: ExchangeLimits,
    waiting: VecDeque<ToolUse>,
    running: Option<(String, ToolFuture<'h>)>,
    /// Deadline for silence or, after a cancel, for termination.
    deadline: Instant,
    is_cancelled: bool,
    text: String,
    /// Usage as reported by the agent, estimated until then.
    usage: Usage,
}

/// The next event.
enum ExchangeEvent {
    Line(ProgramLine),
    ToolDone(ToolOutcome),
    Cancelled,
    TimeIsUp,
}

impl<'h> TurnExchange<'h> {
    pub(super) fn new(
        host: &'h dyn ProgramHost,
        lines: LineReader<ChildStdout>,
        writer: LineWriter,
        limits: ExchangeLimits,
    ) -> Self {
        Self {
            host,
            lines,
            writer,
            deadline: Instant::now() + limits.silence,
            limits,
            waiting: VecDeque::new(),
            running: None,
            is_cancelled: false,
            text: String::new(),
            usage: Usage { is_estimate: true, ..Usage::default() },
        }
    }

    pub(super) async fn run(&mut self, request: &TurnRequest) -> Result<TurnResult, StoppedTurn> {
        let turn = HostLine::Turn { version: PROTOCOL_VERSION, request };
        self.usage.input_tokens = estimate(turn.line().len());
        self.host.spent(self.usage);
        self.send(&turn)?;
        let mut cancelling = self.host.cancelled();
        loop {
            match self.next(&mut cancelling).await {
                ExchangeEvent::Line(line) => {
                    self.is_heard();
                    if let Some(result) = self.take(line)? {
                        return Ok(result);
                    }
                }
                ExchangeEvent::ToolDone(outcome) => self.answer(&outcome)?,
                ExchangeEvent::Cancelled => {
                    self.is_cancelled = true;
                    self.deadline = Instant::now() + self.limits.cancel_grace;
                    (self.running, self.waiting) = (None, VecDeque::new());
                    self.send(&HostLine::Cancel)?;
                }
                ExchangeEvent::TimeIsUp if self.is_cancelled => return Err(self.cancelled()),
                ExchangeEvent::TimeIsUp => return Err(StoppedTurn::Silent),
            }
            self.start_next_tool();
        }
    }

    async fn next(&mut self, cancelling: &mut CancelFuture<'h>) -> ExchangeEvent {
        let may_read = self.waiting.len() < CALLS_WAITING_MAX;
        // The silence timeout does not run while a tool runs.
        let is_its_turn = self.running.is_none() || self.is_cancelled;
        let tool = async {
            match &mut self.running {
                Some((_, running)) => running.await,
                None => pending().await,
            }
        };
        tokio::select! {
            line = self.lines.next(), if may_read => ExchangeEvent::Line(line),
            outcome = tool => ExchangeEvent::ToolDone(outcome),
            () = cancelling, if !self.is_cancelled => ExchangeEvent::Cancelled,
            () = sleep_until(self.deadline), if is_its_turn => ExchangeEvent::TimeIsUp,
        }
    }

    /// Resets the silence timeout, unless the turn was cancelled.
    fn is_heard(&mut self) {
        if !self.is_cancelled {
            self.deadline = Instant::now() + self.limits.silence;
        }
    }

    fn take(&mut self, line: ProgramLine) -> Result<Option<TurnResult>, StoppedTurn> {
        match line {
            ProgramLine::Text(text) if text.trim().is_empty() => Ok(None),
            ProgramLine::Text(text) => match serde_json::from_str(&text) {
                Ok(message) => self.take_message(message),
                Err(error) => {
                    let shown: String = text.chars().take(SHOWN_CHARS).collect();
                    Err(StoppedTurn::Malformed(format!("{error} in `{shown}`")))
                }
            },
            ProgramLine::NotUtf8 => Err(StoppedTurn::Malformed("a line is not UTF-8 text".to_owned())),
            ProgramLine::TooLong => Err(StoppedTurn::LineTooLong),
            ProgramLine::End if self.is_cancelled => Err(self.cancelled()),
            ProgramLine::End => Err(StoppedTurn::OutputEnded),
        }
    }

    fn take_message(&mut self, message: AgentLine) -> Result<Option<TurnResult>, StoppedTurn> {
        match message {
            AgentLine::TextDelta { text } => {
                self.text.push_str(&text);
                if self.usage.is_estimate {
                    self.usage.output_tokens = estimate(self.text.len());
                    self.host.spent(self.usage);
                }
                if self.text.len() > self.limits.text_bytes_max {
                    return Err(StoppedTurn::TextTooLong);
                }
                self.host.heard(StreamEvent::TextDelta { text });
            }
            AgentLine::ToolCall(tool_use) => self.take_call(tool_use)?,
            AgentLine::Usage(spent) => {
                if self.usage.is_estimate {
                    self.usage = Usage::default();
                }
                spent.add_to(&mut self.usage);
                self.host.spent(self.usage);
            }
            AgentLine::Done { .. } | AgentLine::Error { .. } if self.is_cancelled => {
                return Err(self.cancelled());
            }
            AgentLine::Done { text, data, stop_reason: word, session } => {
                let stop_reason = stop_reason(word);
                self.host.heard(StreamEvent::MessageDone { usage: self.usage, stop_reason });
                let text = text.unwrap_or_else(|| std::mem::take(&mut self.text));
                return Ok(Some(TurnResult { text, data, stop_reason, usage: self.usage, session }));
            }
            AgentLine::Error { code, message } => {
                return Err(StoppedTurn::Reported { code: error_code(code), message });
            }
        }
        Ok(None)
    }

    /// Tools run in the order of their calls. After a cancel none runs.
    fn take_call(&mut self, tool_use: ToolUse) -> Result<(), StoppedTurn> {
        if self.is_cancelled {
            let outcome = ToolOutcome {
                content: "the turn was cancelled: no tool is run any more".to_owned(),
                is_error: true,
                ..ToolOutcome::default()
            };
            return self.send(&HostLine::tool_result(&tool_use.id, &outcome));
        }
        let (id, name) = (tool_use.id.clone(), tool_use.name.clone());
        self.host.heard(StreamEvent::ToolUseStart { id: id.clone(), name: name.clone() });
        self.host.heard(StreamEvent::ToolUseInput { id: id.clone(), json: tool_use.input.to_string() });
        self.host.heard(StreamEvent::ToolUseEnd { id, name });
        self.waiting.push_back(tool_use);
        Ok(())
    }

    fn start_next_tool(&mut self) {
        if self.running.is_none()
            && let Some(tool_use) = self.waiting.pop_front()
        {
            self.running = Some((tool_use.id.clone(), self.host.tool(tool_use)));
        }
    }

    fn answer(&mut self, outcome: &ToolOutcome) -> Result<(), StoppedTurn> {
        self.is_heard();
        match self.running.take() {
            Some((id, _)) => self.send(&HostLine::tool_result(&id, outcome)),
            None => Ok(()),
        }
    }

    /// Usage until the cancel is still reported.
    fn cancelled(&self) -> StoppedTurn {
        self.host.heard(StreamEvent::MessageDone { usage: self.usage, stop_reason: StopReason::Other });
        StoppedTurn::Cancelled
    }

    fn send(&self, message: &HostLine<'_>) -> Result<(), StoppedTurn> {
        let is_read = self.writer.send(message.line());
        if is_read { Ok(()) } else { Err(StoppedTurn::Malformed("it does not read its input".to_owned())) }
    }
}

/// Estimates the tokens of this many bytes.
fn estimate(bytes: usize) -> u64 {
    (bytes / 4) as u64
}
