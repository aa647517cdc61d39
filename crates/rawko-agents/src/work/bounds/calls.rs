//! The tool calls of one completion, within bounds. A call that is too large is not run; it is answered with the reason,
//! so that the model can ask for less.

use super::{
    CALL_INPUT, CALLS, CALLS_MAX, ContentSize, ID_BYTES_MAX, NAME_BYTES_MAX, REASONING_BYTES_MAX,
    TEXT_BYTES_MAX, cut, left_out,
};
use crate::work::types::PendingCall;
use rawko_model::{Message, MessagePart, Reasoning, ToolUse};

/// Parts of one message: all calls that are kept, and texts between them.
const PARTS_MAX: usize = 4 * CALLS_MAX;
/// Characters of a call kept for diagnosing a failed run.
const SHOWN_CHARS: usize = 300;

/// A message whose parts fit into a conversation, and its calls as the chart keeps them.
pub(in crate::work) struct BoundedCalls {
    pub(in crate::work) message: Message,
    pub(in crate::work) calls: Vec<PendingCall>,
}

/// `own_name` gives a call the name that it goes by here.
pub(in crate::work) fn bounded_calls(
    message: Message,
    own_name: impl Fn(ToolUse) -> ToolUse,
) -> BoundedCalls {
    let asked = message.tool_uses().count();
    let mut bounding = MessageBounds {
        asked,
        used: ContentSize::default(),
        text_left: TEXT_BYTES_MAX,
        reasoning_left: REASONING_BYTES_MAX,
        calls: Vec::new(),
        own_name,
    };
    let parts = message.parts.into_iter().filter_map(|part| bounding.part(part)).take(PARTS_MAX).collect();
    BoundedCalls { message: Message { role: message.role, parts }, calls: bounding.calls }
}

struct MessageBounds<F> {
    /// Calls in the whole message.
    asked: usize,
    used: ContentSize,
    text_left: usize,
    reasoning_left: usize,
    calls: Vec<PendingCall>,
    own_name: F,
}

impl<F: Fn(ToolUse) -> ToolUse> MessageBounds<F> {
    fn part(&mut self, part: MessagePart) -> Option<MessagePart> {
        match part {
            MessagePart::Text { .. } if self.text_left == 0 => None,
            MessagePart::Text { text } => {
                let room = self.text_left;
                self.text_left = room.saturating_sub(text.len());
                Some(MessagePart::Text { text: cut(text, room, "the text of one answer is limited") })
            }
            MessagePart::ToolUse(call) if self.calls.len() < CALLS_MAX => {
                Some(MessagePart::ToolUse(self.call(call)))
            }
            // Dropped; the last kept call reports the number.
            MessagePart::ToolUse(_) => None,
            MessagePart::Reasoning(reasoning) => self.reasoning(reasoning).map(MessagePart::Reasoning),
            MessagePart::Image { .. } | MessagePart::ImageRef { .. } | MessagePart::ToolResult(_) => {
                Some(part)
            }
        }
    }

    /// Signed reasoning is kept whole or not at all: a part of it has no valid signature.
    fn reasoning(&mut self, reasoning: Reasoning) -> Option<Reasoning> {
        let bytes = reasoning.text.len() + reasoning.signature.as_ref().map_or(0, String::len);
        let room = self.reasoning_left;
        self.reasoning_left = room.saturating_sub(bytes);
        match reasoning.signature {
            _ if bytes <= room => Some(reasoning),
            None if room > 0 => {
                Some(Reasoning { text: cut(reasoning.text, room, "reasoning is limited"), ..reasoning })
            }
            Some(_) | None => None,
        }
    }

    fn call(&mut self, call: ToolUse) -> ToolUse {
        let rejected = self.rejection(&call);
        let size = ContentSize::of(&call.input);
        let input = if rejected.is_some() {
            left_out(size)
        } else {
            self.used = self.used.plus(size);
            call.input
        };
        let id = short_id(call.id);
        let name = call.name[..call.name.floor_char_boundary(NAME_BYTES_MAX)].to_owned();
        let kept = ToolUse { id, name, input };
        self.calls.push(entry((self.own_name)(kept.clone()), rejected, size));
        kept
    }

    fn rejection(&self, call: &ToolUse) -> Option<String> {
        let size = ContentSize::of(&call.input);
        if call.name.len() > NAME_BYTES_MAX {
            return Some(format!(
                "the name of the tool has {} bytes; there is no such tool",
                call.name.len()
            ));
        }
        if !size.fits(CALL_INPUT) {
            let excess = size.excess(CALL_INPUT);
            return Some(format!("its input has {excess}. Do it in several smaller calls"));
        }
        if !self.used.plus(size).fits(CALLS) {
            let excess = self.used.plus(size).excess(CALLS);
            return Some(format!(
                "the inputs of all calls of one answer have {excess}. Ask for fewer at a time"
            ));
        }
        let is_last = self.calls.len() + 1 == CALLS_MAX && self.asked > CALLS_MAX;
        is_last.then(|| {
            let asked = self.asked;
            format!(
                "one answer asked for {asked} calls; only the first {} were run. Ask again for the rest",
                CALLS_MAX - 1
            )
        })
    }
}

/// A result finds its call by the id, so two ids must not become the same.
fn short_id(id: String) -> String {
    if id.len() <= ID_BYTES_MAX {
        id
    } else {
        format!("call_{}", &blake3::hash(id.as_bytes()).to_hex()[..32])
    }
}

/// A call as the chart keeps it. What it shows of the input is worked out here: as an expression it would have to write
/// out all of it.
fn entry(call: ToolUse, rejected: Option<String>, size: ContentSize) -> PendingCall {
    let input = call.input.to_json().to_string();
    let command = call.input.get("command").as_str();
    let shown = command.map_or_else(|| format!("{} {input}", call.name), str::to_owned);
    let shown: String = shown.chars().take(SHOWN_CHARS).collect();
    let input_size = if rejected.is_some() { size.bytes } else { input.chars().count() };
    let ToolUse { id, name, input } = call;
    let (shown, size) = (Some(shown), Some(input_size as u64));
    PendingCall { id, name, input, rejected, shown, size, together: None }
}

#[cfg(test)]
mod tests {
    use rawko_core::Value;
    use serde_json::json;

    use super::*;
    use rawko_model::Role;

    fn asked(calls: impl IntoIterator<Item = (String, String, Value)>) -> BoundedCalls {
        let part = |(id, name, input)| MessagePart::ToolUse(ToolUse { id, name, input });
        let parts = calls.into_iter().map(part).collect();
        bounded_calls(Message { role: Role::Assistant, parts }, |call| call)
    }

    fn nested(depth: usize) -> Value {
        (1..depth).fold(Value::map([("leaf", Value::Int(1))]), |inner, _| Value::map([("a", inner)]))
    }

    #[test]
    fn what_is_too_large_is_left_out_and_the_reason_is_told() {
        let text = |bytes: usize| Value::map([("content", Value::from("x".repeat(bytes)))]);
        let list = |length: i64| Value::map([("list", Value::list((0..length).map(Value::Int).collect()))]);
        let table = [
            ("small", "Write", text(1), None),
            ("1 MB", "Write", text(1_000_000), None),
            ("2 MiB", "Write", text(2 << 20), Some("2097191 bytes, more than 1048576")),
            ("17 MiB", "Write", text(17 << 20), Some("17825831 bytes, more than 1048576")),
            ("64 deep", "mcp__x__y", nested(64), None),
            ("65 deep", "mcp__x__y", nested(65), Some("65 levels deep, more than 64")),
            ("96 deep", "mcp__x__y", nested(96), Some("96 levels deep, more than 64")),
            ("10,000 values", "mcp__x__y", list(10_000), None),
            ("50,000 values", "mcp__x__y", list(50_000), Some("50002 values, more than 20000")),
        ];
        for (case, name, input, expected) in table {
            let bounded = asked([("1".into(), name.into(), input.clone())]);
            let call = &bounded.calls[0];
            let rejected = call.rejected.as_deref();
            assert_eq!(rejected.is_some(), expected.is_some(), "{case}: {rejected:?}");
            assert!(
                rejected.unwrap_or_default().contains(expected.unwrap_or_default()),
                "{case}: {rejected:?}"
            );
            assert_eq!(call.input == input, expected.is_none(), "{case}");
            assert!(call.shown.as_deref().unwrap().chars().count() <= SHOWN_CHARS, "{case}");
            let in_message = bounded.message.tool_uses().next().unwrap();
            assert_eq!(in_message.input, call.input, "{case}");
        }
    }

    #[test]
    fn all_calls_together_have_a_bound() {
        let input = Value::map([("content", Value::from("x".repeat(600_000)))]);
        let bounded = asked((0..3).map(|number| (number.to_string(), "Write".into(), input.clone())));
        let rejected = |at: usize| bounded.calls[at].rejected.clone();
        assert_eq!((rejected(0), rejected(1)), (None, None));
        assert!(rejected(2).unwrap().contains("all calls of one answer"), "{:?}", rejected(2));
    }

    #[test]
    fn more_calls_than_are_run_are_told_of_once() {
        let call =
            |number: usize| (number.to_string(), "Read".into(), Value::from_json(json!({"path": "a"})));
        let bounded = asked((0..1000).map(call));
        assert_eq!(bounded.calls.len(), CALLS_MAX);
        assert_eq!(bounded.message.tool_uses().count(), CALLS_MAX);
        let rejected: Vec<&String> = bounded.calls.iter().filter_map(|call| call.rejected.as_ref()).collect();
        assert_eq!(rejected.len(), 1);
        assert!(rejected[0].contains("asked for 1000 calls"), "{rejected:?}");
        assert!(asked((0..CALLS_MAX).map(call)).calls.iter().all(|call| call.rejected.is_none()));
    }

    #[test]
    fn the_text_of_an_answer_has_a_bound() {
        let text = |bytes: usize| MessagePart::Text { text: "x".repeat(bytes) };
        let call = |id: usize| {
            MessagePart::ToolUse(ToolUse { id: id.to_string(), name: "Read".into(), input: Value::Null })
        };
        let table = [
            ("one that is long", vec![text(17 << 20)]),
            ("many that are long", (0..10_000).flat_map(|id| [text(1000), call(id)]).collect()),
            ("many that are short", (0..100_000).flat_map(|id| [text(1), call(id)]).collect()),
        ];
        for (case, parts) in table {
            let bounded = bounded_calls(Message { role: Role::Assistant, parts }, |call| call);
            let size = ContentSize::of(&crate::work::types::value(&bounded.message));
            assert!(size.fits(ContentSize { bytes: 2 << 20, nodes: 10_000, depth: 80 }), "{case}: {size:?}");
            assert_eq!(bounded.message.tool_uses().count(), bounded.calls.len(), "{case}");
        }
    }

    #[test]
    fn reasoning_has_a_bound_and_a_signature_none_but_whole() {
        let thought = |bytes: usize, signature: Option<&str>| {
            let signature = signature.map(str::to_owned);
            MessagePart::Reasoning(Reasoning { text: "x".repeat(bytes), signature, ..Reasoning::default() })
        };
        let sizes = |parts: Vec<MessagePart>| -> Vec<usize> {
            let bounded = bounded_calls(Message { role: Role::Assistant, parts }, |call| call);
            let of = |part: &MessagePart| {
                if let MessagePart::Reasoning(it) = part { Some(it.text.len()) } else { None }
            };
            bounded.message.parts.iter().filter_map(of).collect()
        };
        let large = 1 << 20;
        assert_eq!(sizes(vec![thought(10, None), thought(20, Some("s"))]), [10, 20]);
        assert_eq!(sizes(vec![thought(large, Some("s"))]), [0; 0]);
        let cut = sizes(vec![thought(large, None), thought(1, None)]);
        assert!(cut.len() == 1 && cut[0] < REASONING_BYTES_MAX + 100, "{cut:?}");
    }

    #[test]
    fn names_and_ids_are_short() {
        let bounded = asked([("i".repeat(1 << 20), "n".repeat(1 << 20), Value::Null)]);
        let call = &bounded.calls[0];
        assert!(call.id.len() <= ID_BYTES_MAX);
        assert!(call.name.len() <= NAME_BYTES_MAX);
        assert!(call.rejected.as_deref().unwrap().contains("no such tool"));
        assert_eq!(bounded.message.tool_uses().next().unwrap().id, call.id);
    }
}
