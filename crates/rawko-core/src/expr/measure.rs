//! How large a value is when written out in full. Values share their parts, so that memory says nothing about it.

use super::EvalError;
use super::env::{Env, Outcome, fault};
use super::limits::{ELEMENTS_MAX, FUEL_MAX, TEXT_BYTES_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX};
use crate::value::Value;

const BYTES_PER_NODE: usize = 16;

/// Checks a list or map that was put together from others, outside of an expression, against the bounds that
/// expressions keep. Whoever builds data for a chart to keep (event data, outputs) should ask.
pub fn check_size(value: &Value) -> Result<(), EvalError> {
    measure(value, FUEL_MAX).map(|_| ()).map_err(EvalError::from)
}

/// A list or map an expression made: passes it on if it is within bounds.
#[inline]
pub(crate) fn built(env: &Env<'_>, value: Value) -> Outcome<Value> {
    if matches!(value, Value::List(_) | Value::Map(_)) {
        env.charge(measure(&value, env.fuel())?)?;
    }
    Ok(value)
}

/// A string an expression made.
pub(crate) fn built_text(env: &Env<'_>, text: String) -> Outcome<Value> {
    check_text(text.len())?;
    env.charge_bytes(text.len())?;
    Ok(Value::Str(text.into()))
}

/// To be asked before a string of this length is allocated.
pub(crate) fn check_text(bytes: usize) -> Outcome<()> {
    if bytes > TEXT_BYTES_MAX {
        fault(format!("a string longer than {TEXT_BYTES_MAX} bytes"))
    } else {
        Ok(())
    }
}

/// To be asked before a list or map of this size is allocated.
pub(crate) fn check_elements(count: usize) -> Outcome<()> {
    if count > ELEMENTS_MAX {
        fault(format!("more than {ELEMENTS_MAX} elements in a list or map"))
    } else {
        Ok(())
    }
}

/// The number of nodes of a value, shared ones counted each time; looks at no more than `nodes_max`.
pub(crate) fn measure(value: &Value, nodes_max: u64) -> Outcome<usize> {
    let mut size = Size { nodes: 0, bytes: 0, nodes_max };
    size.add(value, 0)?;
    Ok(size.nodes as usize)
}

struct Size {
    nodes: u64,
    bytes: usize,
    nodes_max: u64,
}

impl Size {
    fn add(&mut self, value: &Value, depth: usize) -> Outcome<()> {
        self.count(1, BYTES_PER_NODE)?;
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(()),
            Value::Str(text) => self.count(0, text.len()),
            Value::List(items) => {
                check_depth(depth)?;
                items.iter().try_for_each(|item| self.add(item, depth + 1))
            }
            Value::Map(map) => {
                check_depth(depth)?;
                map.iter().try_for_each(|(key, item)| {
                    self.count(0, key.len())?;
                    self.add(item, depth + 1)
                })
            }
        }
    }

    #[inline]
    fn count(&mut self, nodes: u64, bytes: usize) -> Outcome<()> {
        self.nodes += nodes;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.nodes > self.nodes_max {
            return fault("this value has more parts than one expression may handle");
        }
        if self.bytes > VALUE_BYTES_MAX {
            return fault(format!("a value larger than {VALUE_BYTES_MAX} bytes"));
        }
        Ok(())
    }
}

fn check_depth(depth: usize) -> Outcome<()> {
    if depth >= VALUE_DEPTH_MAX {
        return fault(format!("lists and maps deeper than {VALUE_DEPTH_MAX} levels"));
    }
    Ok(())
}
