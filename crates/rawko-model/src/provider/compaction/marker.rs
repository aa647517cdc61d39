//! The first line of a summary, which records how many messages it replaces. A conversation can then be counted through
//! its summaries; a script uses that count to find its position.

use crate::message::{Message, MessagePart, Role};

/// The messages that a summary replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) messages: u64,
    /// Number of them that are responses of a model.
    pub(super) answers: u64,
}

const BEFORE: &str = "[Summary of the conversation so far: ";

impl Marker {
    pub(super) fn of(messages: &[Message]) -> Self {
        let earlier = messages.iter().filter_map(Marker::read);
        let (mut all, mut answers) = (0, 0);
        for marker in earlier {
            // The summary itself is among the messages but not part of the conversation.
            all += marker.messages - u64::from(marker.messages > 0);
            answers += marker.answers;
        }
        let own = messages.iter().filter(|message| message.role == Role::Assistant).count();
        Self { messages: all + messages.len() as u64, answers: answers + own as u64 }
    }

    pub(super) fn line(self) -> String {
        format!("{BEFORE}{} messages, {} answers]", self.messages, self.answers)
    }

    /// Parses the marker of a message; `None` if the message is not a summary.
    pub(super) fn read(message: &Message) -> Option<Self> {
        let Some(MessagePart::Text { text }) = message.parts.first().filter(|_| message.role == Role::User)
        else {
            return None;
        };
        let line = text.lines().next()?.strip_prefix(BEFORE)?.strip_suffix(" answers]")?;
        let (messages, answers) = line.split_once(" messages, ")?;
        Some(Self { messages: messages.parse().ok()?, answers: answers.parse().ok()? })
    }
}

/// Returns the number of responses a model has given in this conversation, including those replaced by a summary.
pub fn answers_so_far(messages: &[Message]) -> u64 {
    Marker::of(messages).answers
}
