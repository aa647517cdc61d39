//! The images of a conversation, numbered in order of appearance; an image sent twice has one number.

use crate::message::{Message, Part, Role};

/// One image and its accompanying text.
pub(super) struct Image<'m> {
    pub(super) hash: String,
    pub(super) part: &'m Part,
    /// Index of its first message.
    pub(super) message: usize,
}

pub(super) fn all(messages: &[Message]) -> Vec<Image<'_>> {
    let mut found: Vec<Image<'_>> = Vec::new();
    for (message, said) in messages.iter().enumerate() {
        for part in &said.parts {
            if let Some(hash) = hash(part)
                && !found.iter().any(|image| image.hash == hash)
            {
                found.push(Image { hash, part, message });
            }
        }
    }
    found
}

/// By content: type and data. `None` for what is no image.
pub(super) fn hash(part: &Part) -> Option<String> {
    match part {
        Part::Image { media_type, data } => {
            let mut hasher = blake3::Hasher::new();
            hasher.update(media_type.as_bytes()).update(b"\0").update(data.as_bytes());
            Some(hasher.finalize().to_hex()[..32].to_owned())
        }
        Part::Text { .. } | Part::ToolUse(_) | Part::ToolResult(_) => None,
    }
}

/// What is said in a message, in words.
pub(super) fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Image { .. } | Part::ToolUse(_) | Part::ToolResult(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the text for an image of a message: its own, or for a tool's image the last prompt.
pub(super) fn words_about(messages: &[Message], message: usize) -> String {
    let spoken = messages[..=message].iter().rev().filter(|said| said.role == Role::User).map(words);
    spoken.into_iter().find(|words| !words.trim().is_empty()).unwrap_or_default()
}
