//! What the tools of one turn give back, within bounds that hold for all of them together.

use rawko_core::Value;

use super::{DATA, RESULT_BYTES_MAX, Size, TURN_BYTES_MAX, TURN_IMAGE_BYTES_MAX, cut};

const RESULT_NOTE: &str = "one result is limited; ask for less at a time";
const TURN_NOTE: &str = "the results of one turn are limited together; ask for fewer things at a time";

/// What is left of a turn after the results that it has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::work) struct TurnRoom {
    bytes: usize,
    image_bytes: u64,
}

impl TurnRoom {
    /// `results` as the chart keeps them: tool results and images.
    pub(in crate::work) fn after(results: &Value) -> Self {
        let mut room = Self { bytes: TURN_BYTES_MAX, image_bytes: TURN_IMAGE_BYTES_MAX };
        for part in results.as_list().unwrap_or_default() {
            let stored = part.get("bytes").as_i64().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
            let inline = part.get("data").as_str().map_or(0, str::len);
            room.bytes = room.bytes.saturating_sub(part.get("content").as_str().map_or(0, str::len) + inline);
            room.image_bytes = room.image_bytes.saturating_sub(stored + inline as u64);
        }
        room
    }

    pub(in crate::work) fn text(self, content: String) -> String {
        if self.bytes < RESULT_BYTES_MAX {
            cut(content, self.bytes, TURN_NOTE)
        } else {
            cut(content, RESULT_BYTES_MAX, RESULT_NOTE)
        }
    }

    /// Takes room for an image, if there is some.
    pub(in crate::work) fn take_image(&mut self, bytes: usize) -> Result<(), String> {
        match self.image_bytes.checked_sub(bytes as u64) {
            Some(left) => {
                self.image_bytes = left;
                Ok(())
            }
            None => Err(format!(
                "the images of one turn may have {TURN_IMAGE_BYTES_MAX} bytes together; look at fewer or smaller ones at a time"
            )),
        }
    }
}

/// Structured facts that are too large are left out: the model has read the text.
pub(in crate::work) fn bounded_data(data: Value) -> Value {
    let size = Size::of(&data);
    if size.fits(DATA) { data } else { Value::map([("left_out", Value::from(size.excess(DATA)))]) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_has_room_until_it_has_none() {
        let results =
            |bytes: usize| Value::from_json(json!([{"type": "tool_result", "content": "x".repeat(bytes)}]));
        let table = [
            ("a small one", 0, 10, 10, None),
            ("one that is too long", 0, 300_000, RESULT_BYTES_MAX, Some(RESULT_NOTE)),
            ("little room left", TURN_BYTES_MAX - 1000, 5_000, 1000, Some(TURN_NOTE)),
            ("no room left", TURN_BYTES_MAX + 1, 5_000, 0, Some(TURN_NOTE)),
        ];
        for (case, used, bytes, kept, note) in table {
            let text = TurnRoom::after(&results(used)).text("Z".repeat(bytes));
            assert_eq!(text.matches('Z').count(), kept, "{case}");
            assert_eq!(note.is_some_and(|note| text.contains(note)), note.is_some(), "{case}");
        }
    }

    #[test]
    fn images_are_counted_where_they_are() {
        let results = Value::from_json(json!([
            {"type": "image_ref", "media_type": "image/png", "hash": "h", "bytes": TURN_IMAGE_BYTES_MAX - 100},
            {"type": "image", "media_type": "image/png", "data": "x".repeat(60)},
        ]));
        let mut room = TurnRoom::after(&results);
        assert!(room.take_image(41).is_err());
        assert!(room.take_image(40).is_ok());
        assert!(room.take_image(1).is_err());
    }

    #[test]
    fn facts_that_are_too_deep_are_left_out() {
        let nested = |depth: usize| (1..depth).fold(Value::list(vec![]), |inner, _| Value::list(vec![inner]));
        assert_eq!(bounded_data(nested(32)), nested(32));
        assert_eq!(
            bounded_data(nested(100)).get("left_out").as_str(),
            Some("lists and objects 100 levels deep, more than 32")
        );
    }
}
