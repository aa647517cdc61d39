//! The conversation of an agent that is a program, within the bounds of a chart. The program has its own memory; the
//! newest part is what its caller needs.

use super::{CALL_INPUT, CONVERSATION, ContentSize, RESULT_BYTES_MAX, cut};
use crate::work::types::value;
use rawko_model::{Message, MessagePart, Role, ToolResult, ToolUse};

const NOTE: &str = "one part of a conversation is limited";
const LEFT_OUT: &str = "[the beginning of this conversation is left out: it is too long]";

pub(in crate::work) fn bounded_transcript(messages: Vec<Message>) -> Vec<Message> {
    let mut messages: Vec<Message> = messages.into_iter().map(bounded).collect();
    let mut size = ContentSize::default();
    let newest = messages.iter().rev().take_while(|message| {
        size = size.plus(ContentSize::of(&value(message)));
        size.fits(CONVERSATION)
    });
    let kept = newest.count();
    if kept == messages.len() {
        return messages;
    }
    messages.drain(..messages.len() - kept);
    // A result needs its call before it.
    let start = messages.iter().position(is_start).unwrap_or(messages.len());
    messages.drain(..start);
    messages.insert(0, Message::text(Role::User, LEFT_OUT));
    messages
}

fn is_start(message: &Message) -> bool {
    message.role == Role::User && !message.parts.iter().any(|part| matches!(part, MessagePart::ToolResult(_)))
}

fn bounded(message: Message) -> Message {
    let part = |part: MessagePart| match part {
        MessagePart::Text { text } => MessagePart::Text { text: cut(text, RESULT_BYTES_MAX, NOTE) },
        MessagePart::ToolResult(result) => MessagePart::ToolResult(ToolResult {
            content: cut(result.content, RESULT_BYTES_MAX, NOTE),
            ..result
        }),
        MessagePart::ToolUse(call) if !ContentSize::of(&call.input).fits(CALL_INPUT) => {
            let input = super::left_out(ContentSize::of(&call.input));
            MessagePart::ToolUse(ToolUse { input, ..call })
        }
        MessagePart::ToolUse(_)
        | MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::Reasoning(_) => part,
    };
    Message { parts: message.parts.into_iter().map(part).collect(), ..message }
}

#[cfg(test)]
mod tests {
    use rawko_core::Value;

    use super::*;

    fn turns(count: usize, bytes: usize) -> Vec<Message> {
        let call = |id: usize| ToolUse { id: id.to_string(), name: "Read".into(), input: Value::Null };
        let result =
            |id: usize| ToolResult { id: id.to_string(), content: "x".repeat(bytes), is_error: false };
        let turn = |id: usize| {
            [
                Message::text(Role::User, "go on"),
                Message { role: Role::Assistant, parts: vec![MessagePart::ToolUse(call(id))] },
                Message { role: Role::User, parts: vec![MessagePart::ToolResult(result(id))] },
            ]
        };
        (0..count).flat_map(turn).collect()
    }

    #[test]
    fn the_newest_part_is_kept() {
        for (count, bytes, is_whole) in [(3, 100, true), (100, 200_000, false), (2, 20 << 20, true)] {
            let bounded = bounded_transcript(turns(count, bytes));
            assert!(ContentSize::of(&value(&bounded)).fits(CONVERSATION.plus(ContentSize {
                bytes: 1000,
                nodes: 10,
                depth: 2
            })));
            assert_eq!(bounded.len() == 3 * count, is_whole, "{count} of {bytes}");
            assert!(is_start(&bounded[0]), "{count} of {bytes}");
            let last = bounded.last().unwrap();
            assert!(
                matches!(&last.parts[0], MessagePart::ToolResult(result) if result.id == (count - 1).to_string())
            );
            let calls = bounded.iter().flat_map(Message::tool_uses).count();
            let results = bounded.iter().flat_map(|message| &message.parts);
            assert_eq!(results.filter(|part| matches!(part, MessagePart::ToolResult(_))).count(), calls);
        }
    }
}
