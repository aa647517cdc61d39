//! `FallibleExpressions`: expressions that fail with data that representative values leave out (a divisor that is zero for one
//! value only, a text where most are numbers). A failed action skips the rest of its block, so that failing is a
//! behaviour of its own, and both outcomes are explored.

use std::collections::BTreeSet;

use rawko_core::expr::{DataUse, DataUseKind, SubjectRoot};
use rawko_core::{Blueprint, Slot};

use crate::analysis::{DataAnalysis, tainted};
use crate::parts::{ChartPart, PartKind};

/// Their texts.
#[derive(Debug, Default)]
pub(crate) struct FallibleExpressions {
    /// Those that read data from outside.
    pub(crate) any: BTreeSet<String>,
    /// Those that fail although their operands have the right types, also without such data.
    pub(crate) by_value: BTreeSet<String>,
    /// Context keys that decide whether an expression fails.
    pub(crate) slots: BTreeSet<Slot>,
}

impl FallibleExpressions {
    pub(crate) fn of(analysis: &DataAnalysis, parts: &[ChartPart<'_>], blueprint: &Blueprint) -> Self {
        let outside = tainted(parts, &analysis.enumerated);
        let is_outside = |part: &ChartPart<'_>, usage: &DataUse| match usage.subject.root {
            SubjectRoot::EventData => !analysis.enumerated.covers(part, usage),
            SubjectRoot::Context(slot) => outside.contains(&slot),
            SubjectRoot::Input | SubjectRoot::EventType => false,
        };
        let mut found = Self::default();
        for part in parts.iter().filter(|part| part.expr.subject().is_none()) {
            let uses = part.expr.data_uses(part.is_condition());
            let mut computed = uses.iter().filter(|usage| is_outside(part, usage)).map(|usage| &usage.kind);
            let is_read = computed.clone().next().is_some();
            if part.expr.fails_by_value() && matters(analysis, part) {
                found.by_value.insert(part.expr.text().to_owned());
                if is_read {
                    found.any.insert(part.expr.text().to_owned());
                }
            }
            let is_open = |kind: &DataUseKind| match kind {
                // Null is among the values that stand for a number.
                DataUseKind::Number => analysis.sees_faults,
                DataUseKind::Text | DataUseKind::Opaque => analysis.sees_faults || part.skips,
                _ => false,
            };
            if computed.any(is_open) && matters(analysis, part) {
                found.any.insert(part.expr.text().to_owned());
            }
        }
        found.slots(analysis, parts, blueprint);
        found
    }

    fn slots(&mut self, analysis: &DataAnalysis, parts: &[ChartPart<'_>], blueprint: &Blueprint) {
        for part in parts.iter().filter(|part| part.skips || analysis.sees_faults) {
            let is_refused = match part.kind {
                PartKind::Assign(to) => has_limits(blueprint, to),
                _ => false,
            };
            if is_refused || part.expr.fails_by_value() {
                self.slots.extend(part.expr.reads());
                continue;
            }
            if part.expr.subject().is_some() {
                continue;
            }
            let uses = part.expr.data_uses(part.is_condition()).into_iter();
            self.slots.extend(uses.filter_map(|usage| match usage.subject.root {
                SubjectRoot::Context(slot)
                    if is_typed(&usage.kind) && !has_one_type(slot, parts, blueprint) =>
                {
                    Some(slot)
                }
                _ => None,
            }));
        }
        // And the keys that those are computed from.
        loop {
            let before = self.slots.len();
            for part in parts {
                if matches!(part.kind, PartKind::Assign(to) if self.slots.contains(&to)) {
                    self.slots.extend(part.expr.reads());
                }
            }
            if self.slots.len() == before {
                return;
            }
        }
    }
}

/// Returns true if a value of another type fails.
fn is_typed(kind: &DataUseKind) -> bool {
    match kind {
        DataUseKind::Truth | DataUseKind::Order(_) | DataUseKind::Length(_) => true,
        DataUseKind::Number | DataUseKind::Text | DataUseKind::Opaque => true,
        DataUseKind::Equal(_) | DataUseKind::Member(_) | DataUseKind::Flow => false,
    }
}

/// Returns true if all values of a context key surely have the type of the first one.
fn has_one_type(slot: Slot, parts: &[ChartPart<'_>], blueprint: &Blueprint) -> bool {
    let first = &blueprint.context[slot.index()].initial;
    let mut assigned = parts.iter().filter(|part| matches!(part.kind, PartKind::Assign(to) if to == slot));
    !first.is_null() && assigned.all(|part| part.expr.keeps_type(slot, first.type_name()))
}

/// Rules of a schema that refuse nothing of a counter.
const RULES_WITHOUT_LIMITS: [&str; 5] = ["type", "title", "description", "default", "minimum"];

/// Returns true if the schema of the context refuses some values of a key for more than their type.
pub(crate) fn has_limits(blueprint: &Blueprint, slot: Slot) -> bool {
    let Some(schema) = &blueprint.context_schema else { return false };
    let Some(key) = blueprint.context.get(slot.index()) else { return false };
    let rules = schema.source().get("properties").get(&key.name).as_map();
    rules.is_some_and(|rules| rules.keys().any(|rule| !RULES_WITHOUT_LIMITS.contains(&&**rule)))
}

/// Returns true if it makes a difference that an expression fails. A guard that fails is false otherwise.
fn matters(analysis: &DataAnalysis, part: &ChartPart<'_>) -> bool {
    analysis.sees_faults
        || match part.kind {
            PartKind::Guard => false,
            PartKind::Assign(slot) => part.skips || analysis.relevant.contains(&slot),
            PartKind::Control | PartKind::List | PartKind::Data(_) | PartKind::Passed => part.skips,
        }
}
