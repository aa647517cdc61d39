//! The images of a conversation, numbered in order of appearance; an image sent twice has one number.

use crate::message::{Message, MessagePart, Role};

/// One image and its accompanying text.
pub(super) struct CaptionedImage<'m> {
    pub(super) hash: String,
    pub(super) part: &'m MessagePart,
    /// Index of its first message.
    pub(super) message: usize,
}

pub(super) fn all(messages: &[Message]) -> Vec<CaptionedImage<'_>> {
    let mut found: Vec<CaptionedImage<'_>> = Vec::new();
    for (message, said) in messages.iter().enumerate() {
        for part in &said.parts {
            if let Some(hash) = part.image_hash()
                && !found.iter().any(|image| image.hash == hash)
            {
                found.push(CaptionedImage { hash, part, message });
            }
        }
    }
    found
}

/// Returns the text of a message.
pub(super) fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the text for an image of a message: its own, or for a tool's image the last prompt.
pub(super) fn words_about(messages: &[Message], message: usize) -> String {
    let spoken = messages[..=message].iter().rev().filter(|said| said.role == Role::User).map(words);
    spoken.into_iter().find(|words| !words.trim().is_empty()).unwrap_or_default()
}
