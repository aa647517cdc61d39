//! A provider that responds from a file. The response depends on the request alone: the agent, the occasion, and the
//! number of responses in the conversation. It needs no memory, so after a crash the same request gets the same step.
//!
//! ```yaml
//! - agent: planner                    # whose script this is; without it, everybody's
//!   when: design                      # only if this stands in the occasion or in the first message
//!   steps:
//!     - expect: "make the test pass"  # must stand in the last message or in the system prompt
//!       tool_calls: [{name: Read, input: {path: src/lib.rs}}]
//!     - error: {code: rate_limited, retry_after_ms: 20}
//!     - text: "The plan: …"
//! - agent: developer                  # steps of one agent may also stand one by one
//!   text: done
//! ```
//!
//! A step has `text`, `data` (JSON, as the text) or `tool_calls`, and `reasoning`, `stop_reason`, `usage`, `expect` and
//! `delay_ms` beside it, or it is an `error`. Errors belong to the response after them: the first attempt at that completion gets
//! the first error, the next attempt the next. Of several matching scripts the most specific is used: one with an agent
//! before one without, the occasion before the first message, a longer `when` before a shorter one.

mod read;
mod step;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use read::ScriptProblem;
use step::{AgentScript, ScriptStep, StepKind};

use super::classify::head;
use super::compaction::answers_so_far;
use super::wire::ScriptedResponse;
use super::{
    Completion, CompletionFuture, CompletionRequest, ErrorCode, Provider, ProviderError, StreamListener,
};
use crate::message::{Message, MessagePart};

/// A provider with scripted responses.
pub struct Scripted {
    file: String,
    scripts: Vec<AgentScript>,
    /// Lines of the steps used so far, for `unused` only.
    used: Mutex<BTreeSet<usize>>,
}

impl Scripted {
    /// Reads a script file.
    pub fn read(path: &Path) -> Result<Self, ScriptProblem> {
        read::file(path)
    }

    /// Parses a script; `file` names it in problems.
    pub fn of_text(file: &str, text: &str) -> Result<Self, ScriptProblem> {
        read::text(file, text)
    }

    /// Returns the steps that have not been used.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = self.scripts.iter().flat_map(|script| script.steps().map(move |step| (script, step)));
        let rest = steps.filter(|(_, step)| !used.contains(&step.number));
        rest.map(|(script, step)| format!("{}:{}: {}", self.file, step.line, script.described())).collect()
    }

    fn step(&self, request: &CompletionRequest) -> Result<&ScriptStep, ProviderError> {
        let index = answers_so_far(&request.messages);
        let first = request.messages.first().map(seen).unwrap_or_default();
        let script = self.scripts.iter().filter_map(|script| Some((script.fits(request, &first)?, script)));
        // The first among equally specific ones.
        let script = script.rev().max_by_key(|(how_well, _)| *how_well).map(|(_, script)| script);
        let step = script.and_then(|script| script.step(index, request.attempt));
        step.ok_or_else(|| self.unexpected(request, index, script))
    }

    fn unexpected(
        &self,
        request: &CompletionRequest,
        index: u64,
        script: Option<&AgentScript>,
    ) -> ProviderError {
        let CompletionRequest { agent, occasion, attempt, .. } = request;
        let why = script.map_or_else(
            || "no script is for it".to_owned(),
            |script| format!("{} ends before that", script.described()),
        );
        let attempt = if *attempt == 0 { String::new() } else { format!(", attempt {}", attempt + 1) };
        let message = format!(
            "{}: agent `{agent}` on occasion `{occasion}` asks for step {}{attempt}, but {why}",
            self.file,
            index + 1
        );
        ProviderError::new(ErrorCode::InvalidRequest, message)
    }

    fn check_expected(&self, step: &ScriptStep, request: &CompletionRequest) -> Result<(), ProviderError> {
        let last = request.messages.last().map(seen).unwrap_or_default();
        let missing = step.expect.iter().find(|it| !last.contains(*it) && !request.system.contains(*it));
        let Some(missing) = missing else { return Ok(()) };
        let CompletionRequest { agent, occasion, .. } = request;
        let message = format!(
            "{}:{}: agent `{agent}` on occasion `{occasion}` should have received `{missing}`, but its last message is \
             `{}`",
            self.file,
            step.line,
            head(&last, 300)
        );
        Err(ProviderError::new(ErrorCode::InvalidRequest, message))
    }
}

impl Provider for Scripted {
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a> {
        Box::pin(async move {
            let step = self.step(&request)?;
            self.check_expected(step, &request)?;
            self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(step.number);
            if step.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
            }
            answer(step, &request, listener)
        })
    }
}

fn answer(
    step: &ScriptStep,
    request: &CompletionRequest,
    listener: StreamListener<'_>,
) -> Result<Completion, ProviderError> {
    match &step.kind {
        StepKind::Error(error) => Err(error.clone()),
        StepKind::Answer { reasoning, text, tools, stop, usage } => {
            let spoken = ScriptedResponse { reasoning, text, tools, stop: *stop, usage: *usage };
            let (completion, events) = spoken.completion(request);
            events.into_iter().for_each(listener);
            Ok(completion)
        }
    }
}

/// Returns all text of a message, including tool results.
fn seen(message: &Message) -> String {
    let words = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        MessagePart::ToolResult(result) => Some(result.content.as_str()),
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::Reasoning(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}
