//! Compaction of a conversation that exceeds its model's context: by a summary of its middle, else by truncating tool
//! results. Pure: the caller requests the summary and chooses when. A change that does not leave strictly fewer tokens
//! is not made, so repeating compaction until the conversation fits always terminates.

mod marker;
mod transcript;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use marker::answers_so_far;

use crate::message::{Message, MessagePart, Role};
use crate::provider::tokens::messages_tokens;
use marker::Marker;
use transcript::{shortened, transcript};

/// System prompt for the summary.
pub const SUMMARY_SYSTEM: &str = "You summarise the middle of a conversation between a user and an assistant that works with tools, so that the \
     assistant can go on from your summary alone. Keep: what was asked and decided, what was found out (paths, names, \
     numbers, error texts to the letter), what was changed, what failed and why, what is still to be done. Leave out \
     politeness and repetition. Write plain text, no longer than a page.";

/// Size limits of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionLimits {
    /// Includes the system prompt and the tools.
    pub tokens_max: u64,
    /// The latest messages, up to about this many tokens, are kept unchanged.
    pub kept_tokens: u64,
    /// Initial limit for truncated tool results.
    pub result_bytes_max: usize,
}

impl CompactionLimits {
    /// Limits for a model with this context size, with room for its response.
    pub fn of_context(context_tokens: u64) -> Self {
        let tokens_max = context_tokens - context_tokens / 5;
        Self { tokens_max, kept_tokens: tokens_max / 4, result_bytes_max: 8_000 }
    }
}

/// An attempt on this conversation that did not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionAttempt {
    /// No attempt yet.
    Nothing,
    /// The summary was not shorter than the messages it replaces, or no model could provide one.
    Summary,
}

/// The next compaction step.
#[derive(Clone, Debug, PartialEq)]
pub enum Compaction {
    /// The conversation is small enough.
    Fits,
    /// Request a summary from a model, then `apply` it.
    Summarise(Summarising),
    /// Continue with these messages.
    Shorten(Vec<Message>),
    /// Nothing more can be removed.
    GiveUp {
        /// Estimated size of the conversation.
        tokens: u64,
    },
}

/// A summary request. Plain data, so that it survives a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summarising {
    /// The messages to send; the system prompt is `SUMMARY_SYSTEM`.
    pub ask: Vec<Message>,
    /// The messages that the summary will replace.
    pub range: Range<usize>,
}

/// The summary would not make the conversation smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the summary is not shorter than the original")]
pub struct NoProgress;

/// Chooses the next compaction step. `overhead_tokens` is the size of the system prompt and the tools. When a provider
/// rejects a conversation as too long although it fits by our estimate, call this again with `tokens_max` below the
/// estimate.
pub fn compact(
    messages: &[Message],
    overhead_tokens: u64,
    limits: CompactionLimits,
    tried: CompactionAttempt,
) -> Compaction {
    let tokens = messages_tokens(messages) + overhead_tokens;
    if tokens <= limits.tokens_max {
        return Compaction::Fits;
    }
    let light = without_old_reasoning(messages);
    if messages_tokens(&light) + overhead_tokens <= limits.tokens_max {
        return Compaction::Shorten(light);
    }
    let range = match tried {
        CompactionAttempt::Nothing => middle(messages, limits.kept_tokens),
        CompactionAttempt::Summary => None,
    };
    if let Some(range) = range {
        let ask = vec![Message::text(Role::User, summary_prompt(messages, &range, limits))];
        return Compaction::Summarise(Summarising { ask, range });
    }
    shorten(messages, light, overhead_tokens, limits)
        .map_or(Compaction::GiveUp { tokens }, Compaction::Shorten)
}

impl Summarising {
    /// Replaces the summarised range with the summary.
    pub fn apply(&self, messages: &[Message], summary: &str) -> Result<Vec<Message>, NoProgress> {
        let Range { start, end } = self.range;
        let (Some(before), Some(covered), Some(after)) =
            (messages.get(..start), messages.get(start..end), messages.get(end..))
        else {
            return Err(NoProgress);
        };
        let text = format!("{}\n{}", Marker::of(covered).line(), summary.trim());
        let summary_message = Message::text(Role::User, text);
        let shorter = [before, &[summary_message], after].concat();
        let is_progress = !summary.trim().is_empty() && messages_tokens(&shorter) < messages_tokens(messages);
        if is_progress { Ok(shorter) } else { Err(NoProgress) }
    }
}

/// Returns the messages between the user's first message and the latest ones, if they are worth summarising.
fn middle(messages: &[Message], kept_tokens: u64) -> Option<Range<usize>> {
    let start = usize::from(messages.first().is_some_and(|first| first.role == Role::User));
    let end = kept_from(messages, kept_tokens)?;
    let covered = messages.get(start..end)?;
    let is_worth_it = covered.iter().any(|message| Marker::read(message).is_none());
    is_worth_it.then_some(start..end)
}

/// Returns the index of the first kept message: as many as fit, never a tool result without its tool use.
fn kept_from(messages: &[Message], kept_tokens: u64) -> Option<usize> {
    let mut tokens = 0;
    let fitting = messages.iter().rev().take_while(|message| {
        tokens += messages_tokens(std::slice::from_ref(*message));
        tokens <= kept_tokens
    });
    let wanted = messages.len() - fitting.count();
    let is_safe = |at: &usize| messages.get(*at).is_some_and(|message| !has_result(message));
    (wanted..messages.len()).find(is_safe).or_else(|| (0..wanted).rev().find(is_safe))
}

fn has_result(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part, MessagePart::ToolResult(_)))
}

fn summary_prompt(messages: &[Message], range: &Range<usize>, limits: CompactionLimits) -> String {
    let covered = messages.get(range.clone()).unwrap_or_default();
    // Half of the available space; the rest is for the summary and for estimation errors.
    let bytes_max = usize::try_from(limits.tokens_max.saturating_mul(2)).unwrap_or(usize::MAX);
    format!("Summarise this part of the conversation.\n\n{}", transcript(covered, bytes_max))
}

/// Truncates tool results as little as necessary, or as much as possible if the conversation still does not fit.
fn shorten(
    messages: &[Message],
    light: Vec<Message>,
    overhead_tokens: u64,
    limits: CompactionLimits,
) -> Option<Vec<Message>> {
    let before = messages_tokens(messages);
    let sizes =
        std::iter::successors(Some(limits.result_bytes_max), |size| (*size > 200).then_some(size / 2));
    let mut best = Some(light.clone()).filter(|light| messages_tokens(light) < before);
    for size in sizes {
        let shorter: Vec<Message> = light.iter().map(|message| with_short_results(message, size)).collect();
        let tokens = messages_tokens(&shorter);
        if tokens < before {
            best = Some(shorter);
        }
        if tokens + overhead_tokens <= limits.tokens_max {
            break;
        }
    }
    best
}

/// Drops all reasoning but the newest message's. Services need the reasoning behind pending tool calls, signed and
/// unchanged; older reasoning may be absent, but not edited.
fn without_old_reasoning(messages: &[Message]) -> Vec<Message> {
    let newest = messages.iter().rposition(|message| message.role == Role::Assistant);
    let lighter = |(at, message): (usize, &Message)| {
        let is_kept = |part: &MessagePart| Some(at) == newest || !matches!(part, MessagePart::Reasoning(_));
        let parts = message.parts.iter().filter(|part| is_kept(part)).cloned().collect();
        Message { role: message.role, parts }
    };
    messages.iter().enumerate().map(lighter).collect()
}

fn with_short_results(message: &Message, bytes_max: usize) -> Message {
    let mut message = message.clone();
    for part in &mut message.parts {
        if let MessagePart::ToolResult(result) = part {
            result.content = shortened(&result.content, bytes_max);
        }
    }
    message
}
