//! `ListSizes`: the sizes of long lists, for expressions that add to a list at every step. A list that is appended to is
//! measured as a whole, because data built from data can double; with its size before, only the new items are measured.

use std::sync::{Arc, Mutex, PoisonError};

use crate::value::Value;

/// Lists of at least this length are remembered.
const LONG_LEN: usize = 64;
/// Number of lists that are remembered; an instance rarely has more than one that is long and grows.
const LISTS_MAX: usize = 4;

/// The number of values in a value, the bytes that limits count, and the lists and maps inside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeasuredSize {
    pub(super) nodes: u64,
    pub(super) bytes: usize,
    pub(super) height: usize,
}

/// Sizes of the long lists that were measured last. Shared by the steps of one instance; it never changes a result.
#[derive(Debug, Default)]
pub struct ListSizes {
    known: Mutex<Vec<MeasuredList>>,
}

#[derive(Debug)]
struct MeasuredList {
    /// Kept, so that no other list can be at its address.
    items: Arc<Vec<Value>>,
    size: MeasuredSize,
}

impl ListSizes {
    /// Returns the size of a long list, from the size of the list that it begins with. `measure` returns the size of the
    /// list `with` only the given items, or `None` above the limits.
    pub(super) fn of(
        &self,
        items: &Arc<Vec<Value>>,
        measure: impl FnOnce(MeasuredSize, &[Value]) -> Option<MeasuredSize>,
    ) -> Option<MeasuredSize> {
        if items.len() < LONG_LEN {
            return None;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.iter().find(|list| Arc::ptr_eq(&list.items, items)) {
            return Some(same.size);
        }
        let beginning = known.iter().position(|list| begins_with(items, &list.items));
        let (from, before) = match beginning {
            Some(at) => (known[at].items.len(), known[at].size),
            None => (0, EMPTY),
        };
        let size = measure(before, &items[from..])?;
        match beginning {
            Some(at) => drop(known.remove(at)),
            None if known.len() == LISTS_MAX => drop(known.remove(0)),
            None => {}
        }
        known.push(MeasuredList { items: Arc::clone(items), size });
        Some(size)
    }
}

/// A list without items; `measure` adds the list itself.
const EMPTY: MeasuredSize = MeasuredSize { nodes: 0, bytes: 0, height: 0 };

fn begins_with(items: &[Value], beginning: &[Value]) -> bool {
    items.len() >= beginning.len() && beginning.iter().zip(items).all(|(known, item)| is_shared(known, item))
}

/// Returns true if two values are the same one. Contents are not compared: that would cost as much as measuring them.
fn is_shared(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Str(a), Value::Str(b)) => Arc::ptr_eq(a, b),
        (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
        (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
        (
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::List(_)
            | Value::Map(_),
            _,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::limits::{FUEL_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX};
    use crate::expr::measure::measure;

    /// Checks that a value has the same size or the same fault with known sizes.
    fn check(value: &Value, nodes_max: u64, sizes: &ListSizes) -> bool {
        let text = |sizes| {
            measure(value, nodes_max, sizes).map_err(|fault| crate::expr::EvalError::from(fault).message)
        };
        let expected = text(None);
        assert_eq!(text(Some(sizes)), expected);
        assert_eq!(text(Some(sizes)), expected, "a second time");
        expected.is_ok()
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Int(1), |value, _| Value::list(vec![value]))
    }

    fn inside(value: Value, levels: usize) -> Value {
        (0..levels).fold(value, |value, _| Value::map([("in", value)]))
    }

    #[test]
    fn a_list_that_grows_is_measured_where_it_grew() {
        let sizes = ListSizes::default();
        let mut items: Vec<Value> = Vec::new();
        for number in 0..200 {
            items.push(inside(Value::from("x".repeat(number)), number % 5));
            let list = Value::list(items.clone());
            assert!(check(&list, FUEL_MAX, &sizes));
            assert!(check(&inside(list, 3), FUEL_MAX, &sizes));
        }
        assert_eq!(sizes.known.lock().unwrap().len(), 1);
        let Value::List(list) = Value::list(items) else { unreachable!() };
        let size = sizes.of(&list, |_, items| {
            assert!(items.is_empty());
            None
        });
        assert_eq!(size, None, "the same items in another list: nothing is left to measure");
        for first in 0..9 {
            let others = (0..100).map(|number| inside(Value::Int(first), number % 3)).collect();
            assert!(check(&Value::list(others), FUEL_MAX, &sizes));
        }
        assert_eq!(sizes.known.lock().unwrap().len(), LISTS_MAX);
    }

    #[test]
    fn limits_hold_as_without_known_sizes() {
        let sizes = ListSizes::default();
        let list = |count: usize, item: Value| Value::list(vec![item; count]);
        let plain = list(100, Value::Int(1));
        assert!(check(&plain, 101, &sizes) && !check(&plain, 100, &sizes));
        let deep = list(100, nested(9));
        assert!(check(&inside(deep.clone(), VALUE_DEPTH_MAX - 10), FUEL_MAX, &sizes));
        assert!(!check(&inside(deep, VALUE_DEPTH_MAX - 9), FUEL_MAX, &sizes));
        let large = list(64, Value::from("x".repeat(VALUE_BYTES_MAX / 100)));
        assert!(check(&large, FUEL_MAX, &sizes));
        assert!(!check(&Value::list(vec![large.clone(), large.clone()]), FUEL_MAX, &sizes));
        let Value::List(items) = &large else { unreachable!() };
        let twice = Value::list(items.iter().chain(items.iter()).cloned().collect());
        assert!(!check(&twice, FUEL_MAX, &sizes), "grown above the limit");
        assert!(check(&large, FUEL_MAX, &sizes), "and measured as before");
    }
}
