//! Limits on the data that a model and its tools may add to the context of an agent. The chart `agent` builds
//! conversations with expressions, which reject values over `rawko_core::expr::limits`; so everything is bounded here,
//! before it enters, and the model gets a note about each omission. The services share one budget:
//!
//! ```text
//! 4 MiB conversation before a completion + 2.25 MiB completion + 1 MiB results + 4 MiB reports of sub-agents
//!     + 3 MiB answer, text and pending calls < 16 MiB for one value
//! ```

mod calls;
mod results;
mod size;
mod transcript;

pub(super) use calls::{BoundedCalls, bounded_calls};
pub(super) use results::{TurnUse, bounded_data};
pub(super) use size::ContentSize;
pub(super) use transcript::bounded_transcript;

use rawko_core::Value;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Images up to this many bytes of Base64 stay in the conversation itself.
pub(super) const INLINE_IMAGE_BYTES_MAX: usize = 16 * KIB;
/// Base64 of all images in one request. Providers refuse requests of 32 MB and more.
pub(super) const REQUEST_IMAGE_BYTES_MAX: u64 = 20 * MIB as u64;

/// Input of one tool call. A model writes about half of this in its longest answer.
const CALL_INPUT: ContentSize = ContentSize { bytes: MIB, nodes: 20_000, depth: 64 };
/// Inputs of all tool calls of a completion.
const CALLS: ContentSize = ContentSize { bytes: MIB + MIB / 2, nodes: 40_000, depth: 64 };
/// Tool calls of one completion.
const CALLS_MAX: usize = 128;
const NAME_BYTES_MAX: usize = 128;
const ID_BYTES_MAX: usize = 256;
/// Text of one completion. Below the largest string that an expression makes.
pub(super) const TEXT_BYTES_MAX: usize = 512 * KIB;

/// Reasoning of one completion, with its signatures.
const REASONING_BYTES_MAX: usize = 256 * KIB;

/// Text of one tool result.
const RESULT_BYTES_MAX: usize = 256 * KIB;
/// Text of all tool results of a turn.
const TURN_BYTES_MAX: usize = MIB;
/// Base64 of all images that the tools of a turn give back.
const TURN_IMAGE_BYTES_MAX: u64 = 20 * MIB as u64;
/// Reports of sub-agents of a turn: the chart `agent` takes 50,000 characters of each of the first eight results, and
/// 5,000 of each later one; a character has up to four bytes.
#[cfg(test)]
const REPORTS_BYTES_MAX: usize = 4 * (8 * 50_000 + (CALLS_MAX - 8) * 5_000);
/// Structured facts of a tool result.
const DATA: ContentSize = ContentSize { bytes: MIB, nodes: 20_000, depth: 32 };

/// A structured answer.
pub(super) const ANSWER: ContentSize = ContentSize { bytes: MIB, nodes: 20_000, depth: 64 };
/// A conversation that is sent to a model. A larger one is compacted.
pub(super) const CONVERSATION: ContentSize = ContentSize { bytes: 4 * MIB, nodes: 100_000, depth: 80 };

/// Stands for an input that is too large.
fn left_out(size: ContentSize) -> Value {
    Value::map([("left_out", Value::from(format!("{} bytes", size.bytes)))])
}

/// The beginning of a text, with a note about the rest.
pub(super) fn cut(mut text: String, bytes_max: usize, note: &str) -> String {
    if text.len() > bytes_max {
        let end = text.floor_char_boundary(bytes_max);
        let missing = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{missing} bytes left out: {note}]"));
    }
    text
}
