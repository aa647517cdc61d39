//! A part of a conversation as text, for summarising.

use crate::message::{Message, MessagePart, Role};

/// Limit of one text or result.
const PIECE_BYTES_MAX: usize = 4_000;

/// Bounded: if the whole is too long, its middle is omitted.
pub(super) fn transcript(messages: &[Message], bytes_max: usize) -> String {
    let whole: Vec<String> =
        messages.iter().flat_map(|message| message.parts.iter().filter_map(|it| line(message, it))).collect();
    shortened(&whole.join("\n"), bytes_max)
}

/// Reasoning is left out: its results are in the text and the calls after it.
fn line(message: &Message, part: &MessagePart) -> Option<String> {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let line = match part {
        MessagePart::Reasoning(_) => return None,
        MessagePart::Text { text } => format!("{who}: {}", shortened(text, PIECE_BYTES_MAX)),
        MessagePart::Image { media_type, .. } | MessagePart::ImageRef { media_type, .. } => {
            format!("{who}: (an image, {media_type})")
        }
        MessagePart::ToolUse(it) => {
            format!("{who} calls {}: {}", it.name, shortened(&it.input.to_string(), PIECE_BYTES_MAX))
        }
        MessagePart::ToolResult(result) => {
            let what = if result.is_error { "failure" } else { "result" };
            format!("{what}: {}", shortened(&result.content, PIECE_BYTES_MAX))
        }
    };
    Some(line)
}

/// Returns the beginning and the end of a text, cut at character boundaries, with a note about the omission. Not longer
/// than the text, and about `bytes_max` long if it is cut.
pub(super) fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes_max / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 2);
    let cut = format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..]);
    if cut.len() < text.len() { cut } else { text.to_owned() }
}
