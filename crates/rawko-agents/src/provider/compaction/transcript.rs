//! A stretch of conversation as text, for whoever is to summarise it.

use crate::message::{Message, Part, Role};

/// Of one text or result, this much at most.
const PIECE_BYTES_MAX: usize = 4_000;

/// Bounded: when the whole is too long, its middle is left out.
pub(super) fn transcript(messages: &[Message], bytes_max: usize) -> String {
    let whole: Vec<String> =
        messages.iter().flat_map(|message| message.parts.iter().map(move |it| line(message, it))).collect();
    shortened(&whole.join("\n"), bytes_max)
}

fn line(message: &Message, part: &Part) -> String {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    match part {
        Part::Text { text } => format!("{who}: {}", shortened(text, PIECE_BYTES_MAX)),
        Part::Image { media_type, .. } | Part::ImageRef { media_type, .. } => {
            format!("{who}: (an image, {media_type})")
        }
        Part::ToolUse(it) => {
            format!("{who} calls {}: {}", it.name, shortened(&it.input.to_string(), PIECE_BYTES_MAX))
        }
        Part::ToolResult(result) => {
            let what = if result.is_error { "failure" } else { "result" };
            format!("{what}: {}", shortened(&result.content, PIECE_BYTES_MAX))
        }
    }
}

/// The beginning and the end of a text, cut between characters, with a word about what is missing. Not longer than the
/// text, and about `bytes_max` long when it is cut.
pub(super) fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes_max / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 2);
    let cut = format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..]);
    if cut.len() < text.len() { cut } else { text.to_owned() }
}
