//! The serialised size of values. Values share their parts, so memory use is no measure of it.

use super::EvalError;
use super::env::{Env, EvalResult, fault};
use super::limits::{ELEMENTS_MAX, FUEL_MAX, TEXT_BYTES_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX};
use super::sizes::{ListSizes, MeasuredSize};
use crate::value::Value;

const BYTES_PER_NODE: usize = 16;

/// Checks a list or map that was built outside of an expression against the limits of expressions. Call this for data
/// that a chart will store (event data, outputs).
pub fn check_size(value: &Value) -> Result<(), EvalError> {
    check_size_with(value, None)
}

/// [`check_size`] with the sizes of long lists that were measured before.
pub fn check_size_with(value: &Value, sizes: Option<&ListSizes>) -> Result<(), EvalError> {
    measure(value, FUEL_MAX, sizes).map(|_| ()).map_err(EvalError::from)
}

/// Returns a list or map created by an expression if it is within limits.
#[inline]
pub(crate) fn built(env: &Env<'_>, value: Value) -> EvalResult<Value> {
    if matches!(value, Value::List(_) | Value::Map(_)) {
        env.charge(measure(&value, env.fuel(), env.scope.sizes)?)?;
    }
    Ok(value)
}

/// Returns a string created by an expression if it is within limits.
pub(crate) fn built_text(env: &Env<'_>, text: String) -> EvalResult<Value> {
    check_text(text.len())?;
    env.charge_bytes(text.len())?;
    Ok(Value::Str(text.into()))
}

/// Call this before allocating a string of this length.
pub(crate) fn check_text(bytes: usize) -> EvalResult<()> {
    if bytes > TEXT_BYTES_MAX {
        fault(format!("the string is longer than {TEXT_BYTES_MAX} bytes"))
    } else {
        Ok(())
    }
}

/// Call this before allocating a list or map of this size.
pub(crate) fn check_elements(count: usize) -> EvalResult<()> {
    if count > ELEMENTS_MAX {
        fault(format!("the list or map has more than {ELEMENTS_MAX} elements"))
    } else {
        Ok(())
    }
}

/// Returns the number of nodes of a value, shared ones counted each time; visits at most `nodes_max`.
pub(crate) fn measure(value: &Value, nodes_max: u64, sizes: Option<&ListSizes>) -> EvalResult<usize> {
    let mut size = ValueSize { nodes: 0, bytes: 0, nodes_max, height: 0, sizes };
    size.add(value, 0)?;
    Ok(size.nodes as usize)
}

struct ValueSize<'s> {
    nodes: u64,
    bytes: usize,
    nodes_max: u64,
    /// Lists and maps inside each other.
    height: usize,
    sizes: Option<&'s ListSizes>,
}

impl ValueSize<'_> {
    fn add(&mut self, value: &Value, depth: usize) -> EvalResult<()> {
        if self.add_known(value, depth) {
            return Ok(());
        }
        self.count(1, BYTES_PER_NODE)?;
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(()),
            Value::Str(text) => self.count(0, text.len()),
            Value::List(items) => {
                self.enter(depth)?;
                items.iter().try_for_each(|item| self.add(item, depth + 1))
            }
            Value::Map(map) => {
                self.enter(depth)?;
                map.iter().try_for_each(|(key, item)| {
                    self.count(0, key.len())?;
                    self.add(item, depth + 1)
                })
            }
        }
    }

    /// Adds a long list by its known size. Returns false if that is above a limit, so that it fails as any other value.
    fn add_known(&mut self, value: &Value, depth: usize) -> bool {
        let (Some(sizes), Value::List(items)) = (self.sizes, value) else { return false };
        let Some(size) = sizes.of(items, with_items) else { return false };
        let nodes = self.nodes.saturating_add(size.nodes);
        let bytes = self.bytes.saturating_add(size.bytes);
        let fits =
            nodes <= self.nodes_max && bytes <= VALUE_BYTES_MAX && depth + size.height <= VALUE_DEPTH_MAX;
        if fits {
            (self.nodes, self.bytes) = (nodes, bytes);
            self.height = self.height.max(depth + size.height);
        }
        fits
    }

    fn enter(&mut self, depth: usize) -> EvalResult<()> {
        self.height = self.height.max(depth + 1);
        check_depth(depth)
    }

    #[inline]
    fn count(&mut self, nodes: u64, bytes: usize) -> EvalResult<()> {
        self.nodes += nodes;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.nodes > self.nodes_max {
            return fault("the value is too large for one expression");
        }
        if self.bytes > VALUE_BYTES_MAX {
            return fault(format!("the value is larger than {VALUE_BYTES_MAX} bytes"));
        }
        Ok(())
    }
}

/// Returns the size of a list that continues one of this size with these items; `None` above the limits.
fn with_items(before: MeasuredSize, items: &[Value]) -> Option<MeasuredSize> {
    let (nodes, bytes, height) = (before.nodes, before.bytes, before.height);
    let mut size = ValueSize { nodes, bytes, nodes_max: FUEL_MAX, height, sizes: None };
    if height == 0 {
        size.count(1, BYTES_PER_NODE).ok()?;
        size.enter(0).ok()?;
    }
    items.iter().try_for_each(|item| size.add(item, 1)).ok()?;
    Some(MeasuredSize { nodes: size.nodes, bytes: size.bytes, height: size.height })
}

fn check_depth(depth: usize) -> EvalResult<()> {
    if depth >= VALUE_DEPTH_MAX {
        return fault(format!("lists and maps are nested deeper than {VALUE_DEPTH_MAX} levels"));
    }
    Ok(())
}
