//! Counters: context keys that only grow and are only compared with constants stay the same above the largest of them.

use rawko_chart::Property;
use rawko_core::expr::{DataUse, DataUseKind, SubjectRoot};
use rawko_core::{Blueprint, Slot, Value};

use crate::analysis::{DataAnalysis, expressions};
use crate::fallible::has_limits;
use crate::parts::{ChartPart, PartKind};

/// Whole numbers below it are exact as floating point numbers.
const WHOLE_MAX: f64 = 9e15;

impl DataAnalysis {
    pub(crate) fn saturated(
        &mut self,
        parts: &[ChartPart<'_>],
        properties: &[Property],
        blueprint: &Blueprint,
    ) {
        let may_saturate = |slot: &Slot| !has_limits(blueprint, *slot) && !self.fallible.slots.contains(slot);
        for slot in self.relevant.iter().copied().filter(may_saturate).collect::<Vec<_>>() {
            if let Some(bound) = self.bound_of(slot, parts, properties) {
                self.saturated.insert(slot, bound);
            }
        }
    }

    /// Returns the largest constant that a counter is compared with, if it is nothing but a counter.
    fn bound_of(&self, slot: Slot, parts: &[ChartPart<'_>], properties: &[Property]) -> Option<i64> {
        let mut bound = 0;
        let mut counts = false;
        for part in parts {
            let matters = match part.kind {
                PartKind::Assign(to) => self.relevant.contains(&to),
                _ => part.steers(),
            };
            if part.expr.reads_whole_context() && matters {
                return None;
            }
            if let PartKind::Assign(to) = part.kind {
                if part.expr.increment_of().is_some_and(|(of, _)| of == slot) && to == slot {
                    counts = true;
                    continue;
                }
                // A copy of the counter that decides something else ends the equivalence.
                if part.expr.reads().contains(&slot) && self.relevant.contains(&to) {
                    return None;
                }
                if to == slot && part.expr.constant().is_none() {
                    return None;
                }
                continue;
            }
            if part.steers() {
                largest(part.expr.data_uses(part.is_condition()), slot, &mut bound)?;
            }
        }
        for expr in properties.iter().flat_map(expressions) {
            if expr.expr.reads_whole_context() {
                return None;
            }
            largest(expr.expr.data_uses(true), slot, &mut bound)?;
        }
        counts.then_some(bound)
    }
}

/// `None` if the slot is used in another way than compared with constants.
fn largest(uses: Vec<DataUse>, slot: Slot, bound: &mut i64) -> Option<()> {
    for usage in uses.into_iter().filter(|usage| usage.subject.root == SubjectRoot::Context(slot)) {
        match usage.kind {
            DataUseKind::Order(value) => *bound = (*bound).max(whole(&value)?),
            DataUseKind::Equal(value) => equal(&value, bound)?,
            DataUseKind::Member(values) => values.iter().try_for_each(|value| equal(value, bound))?,
            _ => return None,
        }
    }
    Some(())
}

/// A number is never equal to a value of another kind.
fn equal(value: &Value, bound: &mut i64) -> Option<()> {
    if !matches!(value, Value::Null | Value::Bool(_) | Value::Str(_)) {
        *bound = (*bound).max(whole(value)?);
    }
    Some(())
}

/// Returns the whole number at or above a number.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Float(number) if number.abs() < WHOLE_MAX => Some(number.ceil() as i64),
        _ => None,
    }
}
