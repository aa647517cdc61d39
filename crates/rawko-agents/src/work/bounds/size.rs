//! Size of a value, counted as expressions count it.

use rawko_core::Value;

/// Bytes that `rawko_core::expr::check_size` adds for each part of a value.
const BYTES_PER_NODE: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::work) struct ContentSize {
    pub(in crate::work) bytes: usize,
    pub(in crate::work) nodes: usize,
    /// Lists and maps inside each other.
    pub(in crate::work) depth: usize,
}

impl ContentSize {
    pub(in crate::work) fn of(value: &Value) -> Self {
        let mut size = ContentSize::default();
        size.add(value, 0);
        size
    }

    /// The size of a list without items.
    pub(in crate::work) const EMPTY_LIST: ContentSize =
        ContentSize { bytes: BYTES_PER_NODE, nodes: 1, depth: 1 };

    /// Adds an item to the size of a list.
    pub(in crate::work) fn add_item(&mut self, item: &Value) {
        self.add(item, 1);
    }

    pub(in crate::work) fn fits(self, within: ContentSize) -> bool {
        self.bytes <= within.bytes && self.nodes <= within.nodes && self.depth <= within.depth
    }

    pub(in crate::work) fn plus(self, other: ContentSize) -> ContentSize {
        let (bytes, nodes) = (self.bytes.saturating_add(other.bytes), self.nodes.saturating_add(other.nodes));
        ContentSize { bytes, nodes, depth: self.depth.max(other.depth) }
    }

    /// Which bound is exceeded, in words.
    pub(in crate::work) fn excess(self, within: ContentSize) -> String {
        if self.bytes > within.bytes {
            format!("{} bytes, more than {}", self.bytes, within.bytes)
        } else if self.depth > within.depth {
            format!("lists and objects {} levels deep, more than {}", self.depth, within.depth)
        } else {
            format!("{} values, more than {}", self.nodes, within.nodes)
        }
    }

    fn add(&mut self, value: &Value, depth: usize) {
        self.nodes += 1;
        self.bytes = self.bytes.saturating_add(BYTES_PER_NODE);
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
            Value::Str(text) => self.bytes = self.bytes.saturating_add(text.len()),
            Value::List(items) => {
                self.depth = self.depth.max(depth + 1);
                items.iter().for_each(|item| self.add(item, depth + 1));
            }
            Value::Map(entries) => {
                self.depth = self.depth.max(depth + 1);
                for (key, item) in entries.iter() {
                    self.bytes = self.bytes.saturating_add(key.len());
                    self.add(item, depth + 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work::bounds::{
        ANSWER, CALLS, CONVERSATION, REASONING_BYTES_MAX, REPORTS_BYTES_MAX, TEXT_BYTES_MAX, TURN_BYTES_MAX,
    };

    #[test]
    fn sizes_are_counted_as_expressions_count() {
        let of = |json: serde_json::Value| ContentSize::of(&Value::from_json(json));
        assert_eq!(of(json!(null)), ContentSize { bytes: 16, nodes: 1, depth: 0 });
        assert_eq!(of(json!("abc")), ContentSize { bytes: 19, nodes: 1, depth: 0 });
        assert_eq!(of(json!({"ab": [1, {}]})), ContentSize { bytes: 16 * 4 + 2, nodes: 4, depth: 3 });
        let mut list = ContentSize::EMPTY_LIST;
        assert_eq!(list, of(json!([])));
        list.add_item(&Value::from_json(json!({"ab": [1, {}]})));
        assert_eq!(list, of(json!([{"ab": [1, {}]}])));
    }

    /// The largest conversation that can come about, and the output of the agent around it, pass the limits of expressions.
    #[test]
    fn everything_together_fits_into_one_value() {
        use rawko_core::expr::limits::{FUEL_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX};
        let calls_and_results = CALLS.bytes
            + 2 * TEXT_BYTES_MAX
            + REASONING_BYTES_MAX
            + TURN_BYTES_MAX
            + REPORTS_BYTES_MAX
            + 128 * 1024;
        let output = CONVERSATION.bytes + calls_and_results + ANSWER.bytes + CALLS.bytes + TEXT_BYTES_MAX;
        assert!(output < VALUE_BYTES_MAX, "{output}");
        let nodes = CONVERSATION.nodes + 2 * CALLS.nodes + ANSWER.nodes + 10_000;
        assert!((nodes as u64) < FUEL_MAX, "{nodes}");
        assert!(CONVERSATION.depth.max(CALLS.depth + 8) < VALUE_DEPTH_MAX);
    }
}
