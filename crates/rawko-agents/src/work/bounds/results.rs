//! Tool results within bounds that hold for one turn together. The chart keeps the count between two calls.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use super::{
    ContentSize, DATA, INLINE_IMAGE_BYTES_MAX, RESULT_BYTES_MAX, TURN_BYTES_MAX, TURN_IMAGE_BYTES_MAX, cut,
};

const RESULT_NOTE: &str = "one result is limited; ask for less at a time";
const TURN_NOTE: &str = "the results of one turn are limited together; ask for fewer things at a time";

/// Bytes that the tools of one turn have given back so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::work) struct TurnUse {
    bytes: usize,
    image_bytes: u64,
}

impl TurnUse {
    /// Cuts a text to the remaining budget and counts it.
    pub(in crate::work) fn text(&mut self, content: String) -> String {
        let left = TURN_BYTES_MAX.saturating_sub(self.bytes);
        let content = if left < RESULT_BYTES_MAX {
            cut(content, left, TURN_NOTE)
        } else {
            cut(content, RESULT_BYTES_MAX, RESULT_NOTE)
        };
        self.bytes = self.bytes.saturating_add(content.len());
        content
    }

    /// Counts an image, or returns the reason that there is no room for it. One that stays in the conversation takes room
    /// for text, too.
    pub(in crate::work) fn image(&mut self, bytes: usize) -> Result<(), String> {
        let image_bytes = self.image_bytes.saturating_add(bytes as u64);
        let text_bytes = if bytes <= INLINE_IMAGE_BYTES_MAX { bytes } else { 0 };
        let text_bytes = self.bytes.saturating_add(text_bytes);
        if image_bytes > TURN_IMAGE_BYTES_MAX || text_bytes > TURN_BYTES_MAX {
            return Err(format!(
                "the images of one turn may have {TURN_IMAGE_BYTES_MAX} bytes together; look at fewer or smaller ones at a time"
            ));
        }
        (self.image_bytes, self.bytes) = (image_bytes, text_bytes);
        Ok(())
    }
}

/// Structured facts that are too large are left out: the model has read the text.
pub(in crate::work) fn bounded_data(data: Value) -> Value {
    let size = ContentSize::of(&data);
    if size.fits(DATA) { data } else { Value::map([("left_out", Value::from(size.excess(DATA)))]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_room_until_it_has_none() {
        let table = [
            ("a small one", 0, 10, 10, None),
            ("one that is too long", 0, 300_000, RESULT_BYTES_MAX, Some(RESULT_NOTE)),
            ("little room left", TURN_BYTES_MAX - 1000, 5_000, 1000, Some(TURN_NOTE)),
            ("no room left", TURN_BYTES_MAX + 1, 5_000, 0, Some(TURN_NOTE)),
        ];
        for (case, bytes_before, bytes, kept, note) in table {
            let mut turn = TurnUse { bytes: bytes_before, image_bytes: 0 };
            let text = turn.text("Z".repeat(bytes));
            assert_eq!(text.matches('Z').count(), kept, "{case}");
            assert_eq!(
                text.lines().nth(1).is_some_and(|line| line.contains(note.unwrap_or(" "))),
                note.is_some(),
                "{case}"
            );
            assert_eq!(turn.bytes, bytes_before + text.len(), "{case}");
        }
    }

    #[test]
    fn images_are_counted_where_they_are() {
        let large = INLINE_IMAGE_BYTES_MAX + 1;
        let mut turn =
            TurnUse { bytes: TURN_BYTES_MAX - 50, image_bytes: TURN_IMAGE_BYTES_MAX - large as u64 - 40 };
        assert!(turn.image(51).is_err(), "no room beside the texts");
        assert!(turn.image(large + 41).is_err(), "no room beside the images");
        assert!(turn.image(large).is_ok(), "a large one is stored apart");
        assert!(turn.image(40).is_ok());
        assert!(turn.image(1).is_err());
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
