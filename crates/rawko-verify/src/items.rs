//! `ItemBound`: how many items an unknown list is tried with. What a chart does with each item may be counted, so that a
//! comparison with a constant decides how many make a difference.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_chart::Property;
use rawko_core::expr::{DataUse, DataUseKind, Expr, SubjectRoot};
use rawko_core::{
    ActionBlueprint, ActionKind, Blueprint, DataTemplate, Foreach, JoinRule, NodeId, Slot, TransitionTrigger,
    Value,
};

use crate::analysis::expressions;
use crate::parts::{self, ChartPart, PartKind};

/// Items that are always tried, and those that are tried at most.
const ITEMS_LEAST: usize = 2;
const ITEMS_MAX: usize = 4;

/// Items of lists of unknown length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemBound {
    pub(crate) most: usize,
    /// A longer list may make a difference that is not tried.
    pub(crate) is_open: bool,
}

impl Default for ItemBound {
    fn default() -> Self {
        Self { most: ITEMS_LEAST, is_open: false }
    }
}

impl ItemBound {
    pub(crate) fn of(
        blueprint: &Blueprint,
        (parts, relevant): (&[ChartPart<'_>], &BTreeSet<Slot>),
        properties: &[Property],
    ) -> Self {
        let blocks = item_blocks(blueprint);
        let results = result_names(blueprint);
        let is_result = |part: &ChartPart<'_>| matches!(part.trigger, Some(TransitionTrigger::Event(name)) if results.contains(name));
        let counting = counting(&blocks, parts, is_result);
        let mut needed = Some(ITEMS_LEAST);
        let mut need = |count: Option<i64>| {
            let count = count.and_then(|count| usize::try_from(count).ok());
            needed = needed.zip(count).map(|(known, count)| known.max(count));
        };
        let is_counted = |usage: &DataUse, is_result: bool| match usage.subject.root {
            SubjectRoot::Context(slot) => counting.contains(&slot),
            SubjectRoot::EventData => is_result,
            SubjectRoot::Input | SubjectRoot::EventType => false,
        };
        let conditions = parts.iter().filter(|part| part.is_condition());
        let conditions = conditions.map(|part| (part.expr, is_result(part)));
        let own = properties.iter().flat_map(expressions).map(|expr| (&expr.expr, false));
        for (expr, is_result) in conditions.chain(own) {
            let uses = expr.data_uses(true).into_iter();
            uses.filter(|usage| is_counted(usage, is_result)).for_each(|usage| need(needed_by(&usage.kind)));
        }
        for invoke in blueprint.nodes.iter().flat_map(|node| &node.invokes) {
            if let Some(JoinRule::AtLeast(count)) = invoke.each.as_ref().map(|each| each.join) {
                need(Some(i64::from(count)));
            }
        }
        if blocks.iter().any(|block| block.is_open(blueprint, relevant)) {
            need(None);
        }
        let most = needed.unwrap_or(ITEMS_LEAST);
        Self { most: most.min(ITEMS_MAX), is_open: needed.is_none() || most > ITEMS_MAX }
    }
}

/// Actions that run for each item of a list.
struct ItemBlock<'b> {
    actions: &'b [ActionBlueprint],
    /// The `foreach`, or else the state whose `each` it is.
    foreach: Option<&'b Foreach>,
    state: NodeId,
    /// Keys that the actions assign.
    assigned: BTreeSet<Slot>,
}

fn item_blocks(blueprint: &Blueprint) -> Vec<ItemBlock<'_>> {
    let mut blocks = Vec::new();
    for (number, node) in (0u32..).zip(&blueprint.nodes) {
        let state = NodeId(number);
        parts::each_action_of(node, &mut |kind| {
            if let ActionKind::Foreach(foreach) = kind {
                blocks.push(ItemBlock::new(&foreach.actions, Some(&**foreach), state));
            }
        });
        let of_items =
            node.transitions.iter().filter(|it| matches!(it.trigger, TransitionTrigger::Item { .. }));
        blocks.extend(of_items.map(|transition| ItemBlock::new(&transition.actions, None, state)));
    }
    blocks
}

/// Returns the events with the results of all items of a list.
fn result_names(blueprint: &Blueprint) -> BTreeSet<Arc<str>> {
    let invokes = blueprint.nodes.iter().flat_map(|node| &node.invokes);
    let with_items = invokes.filter(|invoke| invoke.each.is_some());
    with_items.map(|invoke| format!("done.invoke.{}", invoke.id).into()).collect()
}

/// Returns the items that make a difference to a comparison of what they are counted by; `None` if any number may.
fn needed_by(kind: &DataUseKind) -> Option<i64> {
    let above = |value: &Value| match value {
        Value::Int(number) => number.saturating_add(1),
        Value::Float(number) => number.ceil() as i64 + 1,
        _ => 0,
    };
    let count = match kind {
        DataUseKind::Length(length) => length.saturating_add(1),
        DataUseKind::Equal(value) | DataUseKind::Order(value) => above(value),
        DataUseKind::Member(values) => values.iter().map(above).max().unwrap_or_default(),
        // Perhaps compared with something that is not known here.
        DataUseKind::Number => return None,
        DataUseKind::Truth | DataUseKind::Text | DataUseKind::Flow | DataUseKind::Opaque => 0,
    };
    Some(count.max(0))
}

/// Returns the keys that are computed from themselves for each item or hold its results, and those computed from them.
fn counting(
    blocks: &[ItemBlock<'_>],
    parts: &[ChartPart<'_>],
    is_result: impl Fn(&ChartPart<'_>) -> bool,
) -> BTreeSet<Slot> {
    let mut counting = BTreeSet::new();
    for part in parts.iter().filter(|part| is_result(part)) {
        let is_data = |usage: &DataUse| usage.subject.root == SubjectRoot::EventData;
        if let PartKind::Assign(slot) = part.kind
            && part.expr.data_uses(false).iter().any(is_data)
        {
            counting.insert(slot);
        }
    }
    for block in blocks {
        parts::each_action_among(block.actions, &mut |kind| {
            let ActionKind::Assign(updates) = kind else { return };
            let own = updates.iter().filter(|(slot, expr)| expr.reads().contains(slot));
            counting.extend(own.map(|(slot, _)| *slot));
        });
    }
    loop {
        let before = counting.len();
        for part in parts {
            if let PartKind::Assign(slot) = part.kind
                && part.expr.reads().iter().any(|from| counting.contains(from))
            {
                counting.insert(slot);
            }
        }
        if counting.len() == before {
            return counting;
        }
    }
}

impl<'b> ItemBlock<'b> {
    fn new(actions: &'b [ActionBlueprint], foreach: Option<&'b Foreach>, state: NodeId) -> Self {
        let mut assigned = BTreeSet::new();
        parts::each_action_among(actions, &mut |kind| {
            if let ActionKind::Assign(updates) = kind {
                assigned.extend(updates.iter().map(|(slot, _)| *slot));
            }
        });
        Self { actions, foreach, state, assigned }
    }

    /// Returns true if any number of items may make a difference: they send events to the chart itself, their index is
    /// read, or a key passes through values that comparisons with numbers do not count.
    fn is_open(&self, blueprint: &Blueprint, relevant: &BTreeSet<Slot>) -> bool {
        let reads_index = |expr: &Expr| match self.foreach {
            Some(foreach) => expr.reads_local(foreach.local + 1),
            None => expr.text().contains("index"),
        };
        let index = self.foreach.and_then(|foreach| foreach.index_slot);
        let mut is_open = index.is_some_and(|slot| relevant.contains(&slot));
        parts::each_action_among(self.actions, &mut |kind| {
            is_open |= match kind {
                ActionKind::Raise { event, .. } => !self.ends_with(blueprint, event),
                ActionKind::Send { target: DataTemplate::Literal(target), event, .. } => {
                    target.as_str() == Some("self") && !self.ends_with(blueprint, event)
                }
                ActionKind::Assign(updates) => updates.iter().any(|(slot, expr)| {
                    relevant.contains(slot)
                        && !self.is_counted(blueprint, *slot, expr)
                        && (reads_index(expr) || self.reads_earlier(*slot, expr))
                }),
                ActionKind::Choose { branches } => {
                    let mut guards = branches.iter().filter_map(|(guard, _)| guard.as_ref());
                    guards.any(|guard| reads_index(&guard.expr))
                }
                _ => false,
            };
        });
        is_open
    }

    /// Returns true for `n + 1` and `append(list, …)`, which comparisons count.
    fn is_counted(&self, blueprint: &Blueprint, slot: Slot, expr: &Expr) -> bool {
        let list = format!("append(context.{},", blueprint.context[slot.index()].name);
        expr.increment_of().is_some_and(|(of, _)| of == slot) || expr.text().starts_with(&list)
    }

    /// Returns true if a value depends on what earlier items left, other than as `flag or …` or as a sum with unknown data,
    /// which is unknown from the first item on.
    fn reads_earlier(&self, slot: Slot, expr: &Expr) -> bool {
        let mut earlier = expr.reads();
        earlier.retain(|read| self.assigned.contains(read));
        let is_own = earlier.iter().all(|read| *read == slot);
        let has_data = match self.foreach {
            Some(foreach) => expr.reads_local(foreach.local),
            None => {
                let uses = expr.data_uses(false);
                uses.iter().any(|usage| usage.subject.root == SubjectRoot::EventData)
            }
        };
        let is_simple = !expr.text().contains(" ? ");
        let is_flag = [" or ", " and "].iter().any(|word| expr.text().contains(word));
        let is_same_for_all = is_own && is_simple && (has_data || is_flag);
        !earlier.is_empty() && !is_same_for_all
    }

    /// Returns true if an event that an item sends ends the `each`, wherever it is handled: no second one counts.
    fn ends_with(&self, blueprint: &Blueprint, event: &DataTemplate) -> bool {
        let DataTemplate::Literal(Value::Str(name)) = event else { return false };
        if self.foreach.is_some() {
            return false;
        }
        let line = |node: NodeId| {
            std::iter::successors(Some(node), |at| {
                blueprint.nodes.get(at.index()).and_then(|node| node.parent)
            })
        };
        let is_within = |node: NodeId, outer: NodeId| line(node).any(|at| at == outer);
        (0u32..).zip(&blueprint.nodes).all(|(number, node)| {
            let mut handlers = node.transitions.iter().filter(|transition| match &transition.trigger {
                TransitionTrigger::Event(pattern) => crate::data::matches(pattern, name),
                _ => false,
            });
            handlers.all(|transition| {
                let targets = transition.targets.as_deref().unwrap_or_default();
                let leaves = targets.iter().all(|target| !is_within(*target, self.state));
                is_within(self.state, NodeId(number)) && !targets.is_empty() && leaves
            })
        })
    }
}
