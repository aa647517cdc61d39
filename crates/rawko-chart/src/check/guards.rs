//! What can be said about guards without running anything.

use rawko_core::expr::Expr;
use rawko_core::{Guard, Slot, Value};

use super::index::Index;

pub(crate) fn constant(_expr: &Expr) -> Option<Value> {
    None
}

pub(crate) fn always_true(guard: &Guard) -> bool {
    constant(&guard.expr) == Some(Value::Bool(true))
}

/// The context keys that guards which can all hold together read; `None` when they cannot, or when they read more.
pub(crate) fn joint_reads(_guards: &[&Guard]) -> Option<Vec<Slot>> {
    None
}

/// Whether the guard holds when a count has reached a limit.
pub(crate) fn reaches_limit(_index: &Index<'_>, _guard: &Guard) -> bool {
    false
}

pub(crate) fn analyse(_index: &Index<'_>, _findings: &mut Vec<crate::finding::Finding>) {}
