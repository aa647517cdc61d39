//! Progress in loops: counters that only grow and lists that only get shorter, while each round tests them. A general
//! exploration does not know their values, so that its graph has loops that no run takes without end. Such a run would
//! advance the key again and again and find the test true again and again, which it cannot.

use std::sync::Arc;

use rawko_core::expr::{self, Expr, LoopBound, LoopDrift, LoopMeasure, OTHER_FIELDS};
use rawko_core::{
    ActionBlueprint, ActionKind, Blueprint, DataTemplate, NodeKind, NodeSpec, Slot, TransitionSpec, Value,
};

use crate::fallible::has_limits;
use crate::graph::{Edge, Graph, Label};
use crate::machine::{StepFact, StepFacts};
use crate::parts;

/// Bounds of one chart, one bit each.
const BOUNDS_MAX: usize = u64::BITS as usize;
/// Parts of a graph that are looked at; beyond it, loops count as endless.
const PARTS_MAX: usize = 500;

/// Whole numbers up to it are exact as floating point numbers.
const WHOLE_MAX: u64 = 1 << 53;

/// What a step does to the bounds of a chart, by their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProgressMarks {
    /// Surely advanced.
    pub(crate) advances: u64,
    /// Perhaps set back, or given another limit.
    pub(crate) resets: u64,
    /// Found true.
    tests: u64,
}

impl ProgressMarks {
    fn add(&mut self, other: ProgressMarks) {
        self.advances |= other.advances;
        self.resets |= other.resets;
        self.tests |= other.tests;
    }
}

/// The bounds of a chart, and what each of its parts does to them.
#[derive(Debug, Default)]
pub(crate) struct ProgressBounds {
    bounds: Vec<LoopBound>,
    /// Counters that an input may set, by the number of their bound.
    from_input: Vec<(usize, Arc<str>)>,
    /// By transition: if it is taken, and the tests that a false guard proves.
    transitions: Vec<(ProgressMarks, u64)>,
    /// By state: its entry and its exit.
    states: Vec<(ProgressMarks, ProgressMarks)>,
}

impl ProgressBounds {
    pub(crate) fn of(blueprint: &Blueprint) -> Self {
        let transitions = || blueprint.nodes.iter().flat_map(|node| &node.transitions);
        let mut bounds: Vec<LoopBound> = Vec::new();
        for guard in transitions().filter_map(|transition| transition.guard.as_ref()) {
            for bound in [true, false].into_iter().flat_map(|truth| guard.expr.loop_bounds(truth)) {
                if !bounds.contains(&bound) && is_usable(blueprint, &bound) {
                    bounds.push(bound);
                }
            }
        }
        bounds.retain(|bound| advances_anywhere(blueprint, bound));
        bounds.truncate(BOUNDS_MAX);
        if bounds.is_empty() {
            return Self::default();
        }
        let marks = MarkReader { blueprint, bounds: &bounds };
        let numbered = bounds.iter().enumerate();
        let from_input = numbered.filter_map(|(number, bound)| {
            let key = &blueprint.context[bound.slot.index()];
            (bound.measure == LoopMeasure::Counter && key.declared).then(|| (number, Arc::clone(&key.name)))
        });
        Self {
            from_input: from_input.collect(),
            transitions: transitions().map(|it| (marks.taken(it), marks.tested(it, false))).collect(),
            states: blueprint.nodes.iter().map(|node| (marks.entry(node), marks.of(&node.exit))).collect(),
            bounds,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Returns true if a proof may depend on a counter that an input may set.
    pub(crate) fn reads_input(&self) -> bool {
        !self.from_input.is_empty()
    }

    /// Returns the bounds that count nothing with this input: their counters begin with something else than a whole number,
    /// or it is not known.
    pub(crate) fn unusable_with(&self, input: &Value) -> u64 {
        let is_open = expr::is_unknown(input) || expr::has_unknown(input.get(OTHER_FIELDS));
        let is_whole =
            |value: &Value| matches!(value, Value::Int(number) if number.unsigned_abs() <= WHOLE_MAX);
        let given = |name: &str| input.as_map().and_then(|map| map.get(name));
        let unusable = self.from_input.iter().filter(|(_, name)| match given(name) {
            Some(value) => !is_whole(value),
            None => is_open,
        });
        unusable.fold(0, |bits, (number, _)| bits | 1 << *number)
    }

    /// Returns what a step did.
    pub(crate) fn of_step(&self, facts: &StepFacts, unusable: u64) -> ProgressMarks {
        let mut marks = ProgressMarks::default();
        for number in &facts.taken {
            marks.add(self.transitions[*number as usize].0);
        }
        for number in &facts.refused {
            marks.tests |= self.transitions[*number as usize].1;
        }
        for moment in &facts.moments {
            match moment {
                StepFact::Entered(node) => marks.add(self.states[node.index()].0),
                StepFact::Exited(node) => marks.add(self.states[node.index()].1),
                _ => {}
            }
        }
        marks.advances &= !unusable;
        marks
    }
}

/// Rules of a schema that refuse no context as a whole.
const RULES_OF_KEYS: [&str; 5] = ["type", "properties", "required", "title", "description"];

/// Returns true if each advance of a bound is one: the schema of the context does not refuse it, and a counter is a whole
/// number. A float that is large enough stays the same when one is added.
pub(crate) fn is_usable(blueprint: &Blueprint, bound: &LoopBound) -> bool {
    let schema = blueprint.context_schema.as_ref().map(|schema| schema.source());
    let has_joint_rules = schema.is_some_and(|schema| {
        let mut rules = schema.as_map().into_iter().flat_map(|rules| rules.keys());
        rules.any(|rule| !RULES_OF_KEYS.contains(&&**rule))
    });
    let Some(key) = blueprint.context.get(bound.slot.index()) else { return false };
    let rules = schema.map_or(Value::Null, |schema| schema.get("properties").get(&key.name).clone());
    let allows = |types: &[&str]| match rules.get("type") {
        Value::Null => true,
        Value::Str(name) => types.contains(&&**name),
        _ => false,
    };
    let fits = match bound.measure {
        LoopMeasure::Counter => {
            let is_above = match (&key.initial, rules.get("minimum")) {
                (Value::Int(_), Value::Null) => true,
                (Value::Int(initial), Value::Int(least)) => initial >= least,
                _ => false,
            };
            is_above && allows(&["integer", "number"]) && is_whole(blueprint, bound.slot)
        }
        LoopMeasure::Length => allows(&["array"]) && rules.get("minimum").is_null(),
    };
    !has_joint_rules && !has_limits(blueprint, bound.slot) && fits
}

/// Returns true if a context key has whole numbers only, as far as the chart itself sets it.
fn is_whole(blueprint: &Blueprint, slot: Slot) -> bool {
    let initial = &blueprint.context[slot.index()].initial;
    let mut is_whole = matches!(initial, Value::Int(number) if number.unsigned_abs() <= WHOLE_MAX);
    for node in &blueprint.nodes {
        parts::each_action_of(node, &mut |kind| match kind {
            ActionKind::Assign(updates) => {
                is_whole &= updates.iter().all(|(to, expr)| *to != slot || expr.keeps_whole(slot));
            }
            ActionKind::Foreach(foreach) => {
                is_whole &= ![foreach.item_slot, foreach.index_slot].contains(&Some(slot));
            }
            _ => {}
        });
    }
    is_whole
}

fn advances_anywhere(blueprint: &Blueprint, bound: &LoopBound) -> bool {
    let mut advances = false;
    for node in &blueprint.nodes {
        parts::each_action_of(node, &mut |kind| {
            let ActionKind::Assign(updates) = kind else { return };
            advances |= updates.iter().any(|(slot, expr)| {
                *slot == bound.slot && expr.loop_drift(*slot, bound.measure) == LoopDrift::Advances
            });
        });
    }
    advances
}

pub(crate) struct MarkReader<'b> {
    pub(crate) blueprint: &'b Blueprint,
    pub(crate) bounds: &'b [LoopBound],
}

impl MarkReader<'_> {
    fn taken(&self, transition: &TransitionSpec) -> ProgressMarks {
        let mut marks = self.of(&transition.actions);
        marks.tests = self.tested(transition, true);
        marks
    }

    /// Returns the bounds that hold where the guard of a transition has this truth value.
    fn tested(&self, transition: &TransitionSpec, truth: bool) -> u64 {
        let Some(guard) = &transition.guard else { return 0 };
        let held = guard.expr.loop_bounds(truth);
        self.bits(|bound| held.contains(bound))
    }

    /// Initial actions run with some entries only, and so do those of a history state below.
    pub(crate) fn entry(&self, node: &NodeSpec) -> ProgressMarks {
        let mut marks = self.of(&node.entry);
        let is_history = |child: &&NodeSpec| {
            matches!(child.kind, NodeKind::History(_))
                && child
                    .parent
                    .is_some_and(|parent| std::ptr::eq(&self.blueprint.nodes[parent.index()], node))
        };
        let histories = self.blueprint.nodes.iter().filter(is_history);
        for initial in histories.chain([node]).filter_map(|node| node.initial.as_ref()) {
            marks.resets |= self.of(&initial.actions).resets;
        }
        marks
    }

    pub(crate) fn of(&self, actions: &[ActionBlueprint]) -> ProgressMarks {
        let mut marks = ProgressMarks::default();
        self.add(actions, &mut true, &mut marks);
        marks
    }

    fn bits(&self, is_one: impl Fn(&LoopBound) -> bool) -> u64 {
        let numbered = self.bounds.iter().enumerate();
        numbered.filter(|(_, bound)| is_one(bound)).fold(0, |bits, (number, _)| bits | 1 << number)
    }

    /// Adds the actions of one block. An action that fails skips the rest of it: from there nothing is sure.
    fn add(&self, actions: &[ActionBlueprint], is_sure: &mut bool, marks: &mut ProgressMarks) {
        for action in actions {
            *is_sure &= !self.may_fail(&action.kind);
            match &action.kind {
                ActionKind::Assign(updates) => {
                    for (slot, expr) in updates {
                        self.assign(*slot, Some(expr), *is_sure, marks);
                    }
                }
                ActionKind::Choose { branches } => {
                    branches.iter().for_each(|(_, actions)| self.add(actions, &mut false, marks));
                    *is_sure &= branches.iter().all(|(_, actions)| !self.may_any_fail(actions));
                }
                ActionKind::Foreach(foreach) => {
                    for slot in [foreach.item_slot, foreach.index_slot].into_iter().flatten() {
                        self.assign(slot, None, false, marks);
                    }
                    self.add(&foreach.actions, &mut false, marks);
                    *is_sure &= !self.may_any_fail(&foreach.actions);
                }
                _ => {}
            }
        }
    }

    fn assign(&self, slot: Slot, expr: Option<&Expr>, is_sure: bool, marks: &mut ProgressMarks) {
        let drift = |measure: LoopMeasure| expr.map_or(LoopDrift::Any, |expr| expr.loop_drift(slot, measure));
        let advances =
            |bound: &LoopBound| bound.slot == slot && is_sure && drift(bound.measure) == LoopDrift::Advances;
        marks.advances |= self.bits(advances);
        marks.resets |= self.bits(|bound| {
            bound.limit == Some(slot) || (bound.slot == slot && drift(bound.measure) == LoopDrift::Any)
        });
    }

    fn may_any_fail(&self, actions: &[ActionBlueprint]) -> bool {
        actions.iter().any(|action| {
            self.may_fail(&action.kind)
                || match &action.kind {
                    ActionKind::Choose { branches } => {
                        branches.iter().any(|(_, actions)| self.may_any_fail(actions))
                    }
                    ActionKind::Foreach(foreach) => self.may_any_fail(&foreach.actions),
                    _ => false,
                }
        })
    }

    /// Returns true if the schema of the context may refuse the value.
    fn may_be_refused(&self, slot: Slot, expr: &Expr) -> bool {
        let Some(schema) = &self.blueprint.context_schema else { return false };
        let rules = schema.source().get("properties").get(&self.blueprint.context[slot.index()].name);
        let keeps = |measure| expr.loop_drift(slot, measure) != LoopDrift::Any;
        let is_harmless = keeps(LoopMeasure::Counter) || keeps(LoopMeasure::Length);
        has_limits(self.blueprint, slot) || (!rules.is_null() && !is_harmless)
    }

    /// Returns true if an action may fail with data of the right types: those that a general exploration lets fail.
    pub(crate) fn may_fail(&self, kind: &ActionKind) -> bool {
        let fails = |templates: &[&DataTemplate]| {
            let mut fails = false;
            for template in templates {
                parts::template_exprs(template, None, &mut |_, expr| fails |= expr.fails_by_value());
            }
            fails
        };
        match kind {
            ActionKind::Assign(updates) => {
                updates.iter().any(|(slot, expr)| expr.fails_by_value() || self.may_be_refused(*slot, expr))
            }
            ActionKind::Raise { event, data } | ActionKind::Emit { event, data } => fails(&[event, data]),
            ActionKind::Send { target, event, data, delay, id } => {
                // A computed delay may be negative.
                fails(&[target, event, data])
                    || delay.as_ref().is_some_and(|delay| parts::delay_expr(delay).is_some())
                    || id.as_ref().is_some_and(|id| fails(&[id]))
            }
            ActionKind::Cancel { id } => fails(&[id]),
            ActionKind::Call { params, .. } => fails(&[params]),
            ActionKind::Log { message } => fails(&[message]),
            ActionKind::Choose { branches } => {
                let mut guards = branches.iter().filter_map(|(guard, _)| guard.as_ref());
                guards.any(|guard| guard.expr.fails_by_value())
            }
            ActionKind::Foreach(foreach) => foreach.array.fails_by_value(),
        }
    }
}

/// Steps that a run in a part of the graph takes a limited number of times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProgressCut {
    advances: u64,
    tests: u64,
}

impl ProgressCut {
    /// Returns true for a step that is not taken again and again.
    pub(crate) fn has(&self, label: &Label) -> bool {
        label.progress.advances & self.advances != 0 || label.progress.tests & self.tests != 0
    }
}

/// Returns the parts of the graph in which a run may stay without end, each with the steps that it does not take there.
/// A run that advances a bound again and again without setting it back does not pass its test again and again.
pub(crate) fn endless_parts(graph: &Graph, may: impl Fn(&Edge) -> bool) -> Vec<(Vec<u32>, ProgressCut)> {
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let whole = graph.cycles(|_| true, &may);
    let mut open: Vec<(Vec<u32>, ProgressCut)> =
        whole.into_iter().map(|part| (part, ProgressCut::default())).collect();
    open.reverse();
    while let Some((part, cut)) = open.pop() {
        looked_at += 1;
        let has = |node: u32| part.binary_search(&node).is_ok();
        let is_inside = |edge: &Edge| may(edge) && has(edge.to) && !cut.has(graph.label(edge));
        let mut marks = ProgressMarks::default();
        for edge in part.iter().flat_map(|node| graph.edges_of(*node)).filter(|edge| is_inside(edge)) {
            marks.add(graph.label(edge).progress);
        }
        let usable = marks.advances & marks.tests & !marks.resets;
        if usable == 0 || looked_at > PARTS_MAX {
            found.push((part, cut));
            continue;
        }
        let bit = 1 << usable.trailing_zeros();
        let cuts = [
            ProgressCut { advances: cut.advances | bit, ..cut },
            ProgressCut { tests: cut.tests | bit, ..cut },
        ];
        for cut in cuts {
            let parts = graph.cycles(has, |edge| may(edge) && !cut.has(graph.label(edge)));
            open.extend(parts.into_iter().map(|part| (part, cut)));
        }
    }
    found
}
