//! Replay: responses from a tape only. A request is matched by the model's input; the same request gets its recorded
//! responses in order. Concurrent agents therefore need not arrive in the recorded order, and a restart finds its
//! position.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{RecordedEnd, TapeExchange, VERSION, request_hash};
use crate::message::{Message, MessagePart};
use crate::provider::classify::head;
use crate::provider::{
    Completion, CompletionFuture, CompletionRequest, ErrorCode, Provider, ProviderError, StreamListener,
};

/// A provider that responds from a tape.
pub struct TapeProvider {
    file: String,
    exchanges: Vec<TapeExchange>,
    used: Mutex<Vec<bool>>,
}

impl TapeProvider {
    /// Reads a tape, or reports the invalid line.
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = path.display().to_string();
        let text =
            crate::provider::regular_text(path).map_err(|error| format!("cannot read {file}: {error}"))?;
        Self::of_text(&file, &text)
    }

    /// Parses a tape, one exchange per line; `file` names it in errors.
    pub fn of_text(file: &str, text: &str) -> Result<Self, String> {
        let mut exchanges = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |why: String| format!("{file}:{}: {why}", number + 1);
            let exchange: TapeExchange =
                serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if exchange.version != VERSION {
                return Err(wrong(format!(
                    "this is version {} of the format, known is {VERSION}",
                    exchange.version
                )));
            }
            exchanges.push(exchange);
        }
        let used = Mutex::new(vec![false; exchanges.len()]);
        Ok(Self { file: file.to_owned(), exchanges, used })
    }

    /// Returns the exchanges that were not requested.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = self.exchanges.iter().zip(used.iter()).enumerate().filter(|(_, (_, is_used))| !**is_used);
        rest.map(|(number, (exchange, _))| {
            format!("{}:{}: {}", self.file, number + 1, described(&exchange.request))
        })
        .collect()
    }

    fn take(&self, request: &CompletionRequest) -> Result<&TapeExchange, ProviderError> {
        let hash = request_hash(request);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            self.exchanges.iter().zip(used.iter_mut()).find(|(it, is_used)| it.hash == hash && !**is_used);
        if let Some((exchange, is_used)) = same {
            *is_used = true;
            return Ok(exchange);
        }
        let next = self.exchanges.iter().zip(used.iter()).find(|(_, is_used)| !**is_used).map(|(it, _)| it);
        Err(self.unexpected(request, next))
    }

    fn unexpected(&self, request: &CompletionRequest, next: Option<&TapeExchange>) -> ProviderError {
        let instead = next.map_or_else(
            || "the tape is at its end".to_owned(),
            |next| {
                format!("next on it is {}; {}", described(&next.request), difference(request, &next.request))
            },
        );
        let message = format!("{} has no answer to {}: {instead}", self.file, described(request));
        ProviderError::new(ErrorCode::InvalidRequest, message)
    }
}

impl Provider for TapeProvider {
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a> {
        Box::pin(async move {
            let exchange = self.take(&request)?;
            exchange.events.iter().cloned().for_each(listener);
            match &exchange.result {
                RecordedEnd::Completion(completion) => Ok(Completion::clone(completion)),
                RecordedEnd::Error(error) => Err(error.clone()),
            }
        })
    }
}

fn described(request: &CompletionRequest) -> String {
    let last = request.messages.last().map(said).unwrap_or_default();
    let who = if request.agent.is_empty() { String::new() } else { format!(" of `{}`", request.agent) };
    format!(
        "a request{who} to `{}` with {} messages that ends in `{last}`",
        request.model,
        request.messages.len()
    )
}

/// Returns the first difference between two requests.
fn difference(asked: &CompletionRequest, taped: &CompletionRequest) -> String {
    let at = asked.messages.iter().zip(taped.messages.iter()).position(|(a, b)| a != b);
    let what = if asked.model != taped.model {
        "the model"
    } else if asked.system != taped.system {
        "the system prompt"
    } else if let Some(at) = at {
        return format!("they differ in message {}", at + 1);
    } else if asked.messages.len() != taped.messages.len() {
        "the number of messages"
    } else if asked.tools != taped.tools {
        "the tools"
    } else {
        "the schema or the limits"
    };
    format!("they differ in {what}")
}

fn said(message: &Message) -> String {
    let text = message.parts.last().map(|part| match part {
        MessagePart::Text { text } => text.clone(),
        MessagePart::Image { media_type, .. } | MessagePart::ImageRef { media_type, .. } => {
            format!("({media_type})")
        }
        MessagePart::ToolUse(tool_use) => tool_use.name.clone(),
        MessagePart::ToolResult(result) => result.content.clone(),
        MessagePart::Reasoning(reasoning) => reasoning.text.clone(),
    });
    head(&text.unwrap_or_default(), 80)
}
