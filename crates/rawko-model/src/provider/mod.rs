//! Providers: one completion at a time with a model service. Wire formats are pure functions from bytes to stream
//! events; only the transport does IO. Loop control relies on the reported values, so nothing is guessed.

mod back_off;
mod classify;
mod compaction;
mod completion;
mod error;
mod http;
mod pricing;
mod providers;
mod reasoning;
mod scripted;
mod structured;
mod tape;
mod tokens;
mod wire;

use std::future::Future;
use std::pin::Pin;

pub use back_off::{BackOffSettings, back_off_ms};
pub use compaction::{
    Compaction, CompactionAttempt, CompactionLimits, NoProgress, SUMMARY_SYSTEM, Summarising, answers_so_far,
    compact,
};
pub use completion::{Completion, CompletionRequest, OutputSchema, StreamEvent};
pub use error::{ErrorCode, ProviderError};
pub use http::{ApiKey, HttpProvider};
pub use pricing::{Price, Prices};
pub use providers::{ProviderProblem, ProviderProblems, ProviderWrapper, Providers};
pub use reasoning::{EffortLevel, ReasoningEffort, effort as read_effort};
pub use scripted::{ScriptProblem, Scripted};
pub use structured::{Repair, Structured, StructuredError, Unfit, complete_structured, judge, judge_text};
pub use tape::{Recorder, RecordingProvider, TapeProvider, request_hash};
pub use tokens::{message_tokens, messages_tokens, request_tokens, text_tokens};
pub use wire::{BodyEnd, Decoder, Dialect, OpenAiTraits, ReasoningReturn, SchemaSupport};

/// A pending completion.
pub type CompletionFuture<'a> = Pin<Box<dyn Future<Output = Result<Completion, ProviderError>> + Send + 'a>>;

/// Receives stream events while the completion arrives.
pub type StreamListener<'a> = &'a mut (dyn FnMut(StreamEvent) + Send);

/// A model service. One request, one completion; it neither retries nor waits, because retries are durable and belong
/// to the caller.
pub trait Provider: Send + Sync {
    /// Dropping the future abandons the request.
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a>;
}

/// Reads a text that settings name. A pipe or a device would never end, and a project can name one.
fn regular_text(path: &std::path::Path) -> std::io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    std::fs::read_to_string(path)
}
