//! Making a conversation that outgrows its model smaller: by a summary of its middle, else by shortening the results of
//! tools. Pure: who asks for the summary, and when, is decided elsewhere. Every change leaves strictly fewer tokens, or is
//! not made; so going on until it fits always ends.

mod marker;
mod transcript;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use marker::answers_so_far;

use crate::message::{Message, Part, Role};
use crate::provider::tokens::messages_tokens;
use marker::Marker;
use transcript::{shortened, transcript};

/// The system prompt of whoever summarises.
pub const SUMMARY_SYSTEM: &str = "You summarise the middle of a conversation between a user and an assistant that works with tools, so that the \
     assistant can go on from your summary alone. Keep: what was asked and decided, what was found out (paths, names, \
     numbers, error texts to the letter), what was changed, what failed and why, what is still to be done. Leave out \
     politeness and repetition. Write plain text, no longer than a page.";

/// How large a conversation may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionLimits {
    /// With the system prompt and the tools.
    pub tokens_max: u64,
    /// The latest messages, about so much of them, stay as they are.
    pub kept_tokens: u64,
    /// To how much the results of tools are shortened at first.
    pub result_bytes_max: usize,
}

impl CompactionLimits {
    /// For a model of this size, with room for its answer.
    pub fn of_context(context_tokens: u64) -> Self {
        let tokens_max = context_tokens - context_tokens / 5;
        Self { tokens_max, kept_tokens: tokens_max / 4, result_bytes_max: 8_000 }
    }
}

/// What was tried on this very conversation before and did not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    Nothing,
    /// The summary was no shorter than what it stood for, or nobody could give one.
    Summary,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Compaction {
    /// It is small enough.
    Fits,
    /// Ask a model for a summary, then `apply` it.
    Summarise(Summarising),
    /// Go on with these.
    Shorten(Vec<Message>),
    /// Nothing more can be taken away.
    GiveUp { tokens: u64 },
}

/// A summary to ask for. Plain data: the asking may survive a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summarising {
    /// The messages to ask with; the system prompt is `SUMMARY_SYSTEM`.
    pub ask: Vec<Message>,
    /// The messages that the summary will stand for.
    pub range: Range<usize>,
}

/// The summary would not make the conversation smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the summary is not shorter than what it stands for")]
pub struct NoProgress;

/// What to do with a conversation. `overhead_tokens` is what the system prompt and the tools take. When a provider says
/// that a conversation is too long which fits by our estimate, ask again with `tokens_max` below the estimate.
pub fn compact(
    messages: &[Message],
    overhead_tokens: u64,
    limits: CompactionLimits,
    tried: Tried,
) -> Compaction {
    let tokens = messages_tokens(messages) + overhead_tokens;
    if tokens <= limits.tokens_max {
        return Compaction::Fits;
    }
    let range = match tried {
        Tried::Nothing => middle(messages, limits.kept_tokens),
        Tried::Summary => None,
    };
    if let Some(range) = range {
        let ask = vec![Message::text(Role::User, summary_prompt(messages, &range, limits))];
        return Compaction::Summarise(Summarising { ask, range });
    }
    shorten(messages, overhead_tokens, limits).map_or(Compaction::GiveUp { tokens }, Compaction::Shorten)
}

impl Summarising {
    /// The conversation with the summary in the place of what it stands for.
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

/// What stands between the first message of the user and the latest messages, if there is anything to summarise in it.
fn middle(messages: &[Message], kept_tokens: u64) -> Option<Range<usize>> {
    let start = usize::from(messages.first().is_some_and(|first| first.role == Role::User));
    let end = kept_from(messages, kept_tokens)?;
    let covered = messages.get(start..end)?;
    let is_worth_it = covered.iter().any(|message| Marker::read(message).is_none());
    is_worth_it.then_some(start..end)
}

/// Where the latest messages begin: as many as fit, never a result without the use it answers.
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
    message.parts.iter().any(|part| matches!(part, Part::ToolResult(_)))
}

fn summary_prompt(messages: &[Message], range: &Range<usize>, limits: CompactionLimits) -> String {
    let covered = messages.get(range.clone()).unwrap_or_default();
    // Half of what fits: the rest is for the summary and for a wrong estimate.
    let bytes_max = usize::try_from(limits.tokens_max.saturating_mul(2)).unwrap_or(usize::MAX);
    format!("Summarise this part of the conversation.\n\n{}", transcript(covered, bytes_max))
}

/// The results of tools shortened as little as it takes; as much as possible when even that does not do.
fn shorten(messages: &[Message], overhead_tokens: u64, limits: CompactionLimits) -> Option<Vec<Message>> {
    let before = messages_tokens(messages);
    let sizes =
        std::iter::successors(Some(limits.result_bytes_max), |size| (*size > 200).then_some(size / 2));
    let mut best = None;
    for size in sizes {
        let shorter: Vec<Message> =
            messages.iter().map(|message| with_short_results(message, size)).collect();
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

fn with_short_results(message: &Message, bytes_max: usize) -> Message {
    let mut message = message.clone();
    for part in &mut message.parts {
        if let Part::ToolResult(result) = part {
            result.content = shortened(&result.content, bytes_max);
        }
    }
    message
}
