//! Every expression of a chart in one list, with its role: steering control flow, writing context, or only
//! passed on.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_core::expr::Expr;
use rawko_core::{
    ActionBlueprint, ActionKind, Blueprint, DataTemplate, Delay, NodeId, NodeSpec, ServiceClass, Slot,
    TransitionTrigger,
};

use crate::model::{class_of, may_be_chart};

/// One expression and its role.
#[derive(Debug)]
pub(crate) struct ChartPart<'b> {
    pub(crate) expr: &'b Expr,
    pub(crate) kind: PartKind,
    /// The trigger of the transition it belongs to; `None` for entry, exit and invokes.
    pub(crate) trigger: Option<&'b TransitionTrigger>,
    /// Something is not done if it fails: its own action, or the rest of the block.
    pub(crate) skips: bool,
}

#[derive(Debug)]
pub(crate) enum PartKind {
    Guard,
    /// A delay or a name: decides what happens, without being a condition.
    Control,
    /// The list of a `foreach` or an `each`: its length decides what happens.
    List,
    Assign(Slot),
    /// Data of an event that the chart itself takes, below this key.
    Data(Option<Arc<str>>),
    /// Data that leaves the chart.
    Passed,
}

impl ChartPart<'_> {
    pub(crate) fn is_condition(&self) -> bool {
        matches!(self.kind, PartKind::Guard)
    }

    /// Returns true if the value stays in the chart.
    pub(crate) fn matters(&self) -> bool {
        self.steers() || matches!(self.kind, PartKind::Assign(_))
    }

    /// Returns true if the value decides what the chart does next.
    pub(crate) fn steers(&self) -> bool {
        matches!(self.kind, PartKind::Guard | PartKind::Control | PartKind::List | PartKind::Data(_))
    }
}

/// Whether a chart is verified, or invoked by one that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChartRole {
    Root,
    Child,
}

pub(crate) fn of(blueprint: &Blueprint, role: ChartRole) -> Vec<ChartPart<'_>> {
    let has_internal_events = has_internal_events(blueprint);
    let mut collector = Collector { parts: Vec::new(), trigger: None, skips: false, has_internal_events };
    for node in &blueprint.nodes {
        collector.trigger = None;
        collector.actions(&node.entry);
        collector.actions(&node.exit);
        node.initial.iter().for_each(|initial| collector.actions(&initial.actions));
        for delay in &node.timers {
            delay_expr(delay).into_iter().for_each(|expr| collector.add(expr, PartKind::Control));
        }
        for invoke in &node.invokes {
            invoke.each.iter().for_each(|each| collector.add(&each.list, PartKind::List));
            collector.template(&invoke.src, |_| PartKind::Control);
            // The input of a chart decides what it does; that of a question may have its deadline and its form.
            match (class_of(invoke), &invoke.input) {
                (Some(ServiceClass::Human), DataTemplate::Map(entries)) => {
                    for (key, value) in entries {
                        let steers = STEERING.contains(&&**key);
                        collector
                            .template(value, |_| if steers { PartKind::Control } else { PartKind::Passed });
                    }
                }
                (Some(ServiceClass::Chart | ServiceClass::Human), input) => {
                    collector.template(input, |_| PartKind::Control);
                }
                (None, input) if may_be_chart(invoke) => collector.template(input, |_| PartKind::Control),
                (_, input) => collector.template(input, |_| PartKind::Passed),
            }
            let timeout = invoke.timeout.as_ref().and_then(delay_expr);
            timeout.into_iter().for_each(|expr| collector.add(expr, PartKind::Control));
        }
        if let Some(output) = &node.output {
            // The output of the whole instance matters to a parent only.
            let is_result = node.parent == Some(NodeId::ROOT);
            let leaves = is_result && role == ChartRole::Root;
            collector.template(output, |key| if leaves { PartKind::Passed } else { PartKind::Data(key) });
        }
        for transition in &node.transitions {
            collector.trigger = Some(&transition.trigger);
            transition.guard.iter().for_each(|guard| collector.add(&guard.expr, PartKind::Guard));
            collector.actions(&transition.actions);
        }
    }
    collector.parts
}

/// Keys of a question that decide which answers are possible, and until when.
const STEERING: [&str; 4] = ["expires", "form", "schema", "fields"];

struct Collector<'b> {
    parts: Vec<ChartPart<'b>>,
    trigger: Option<&'b TransitionTrigger>,
    skips: bool,
    /// The chart declares events that do not come from outside.
    has_internal_events: bool,
}

fn is_computed(template: &DataTemplate) -> bool {
    matches!(template, DataTemplate::Expr(expr) if expr.constant().is_none())
}

fn has_internal_events(blueprint: &Blueprint) -> bool {
    blueprint.events.iter().flatten().any(|event| event.internal)
}

impl<'b> Collector<'b> {
    fn add(&mut self, expr: &'b Expr, kind: PartKind) {
        self.parts.push(ChartPart { expr, kind, trigger: self.trigger, skips: self.skips });
    }

    fn template(
        &mut self,
        template: &'b rawko_core::DataTemplate,
        kind: impl Fn(Option<Arc<str>>) -> PartKind,
    ) {
        template_exprs(template, None, &mut |key, expr| self.add(expr, kind(key)));
    }

    /// Returns true for events to a computed target. One that is the instance itself gets an event from outside, and
    /// those are tried anyway.
    fn leaves(&self, target: &DataTemplate) -> bool {
        !self.has_internal_events && is_computed(target)
    }

    /// Returns true if an action changes nothing here.
    fn is_passed_on(&self, kind: &ActionKind) -> bool {
        match kind {
            ActionKind::Send { target, .. } => self.leaves(target),
            ActionKind::Emit { .. } | ActionKind::Log { .. } => true,
            ActionKind::Assign(_)
            | ActionKind::Raise { .. }
            | ActionKind::Cancel { .. }
            | ActionKind::Call { .. }
            | ActionKind::Choose { .. }
            | ActionKind::Foreach(_) => false,
        }
    }

    fn actions(&mut self, actions: &'b [ActionBlueprint]) {
        let is_within = self.skips;
        for (number, action) in actions.iter().enumerate() {
            // An assignment that fails keeps the old value.
            let is_harmless = matches!(
                action.kind,
                ActionKind::Assign(_) | ActionKind::Emit { .. } | ActionKind::Log { .. }
            );
            self.skips = is_within || number + 1 < actions.len() || !is_harmless;
            match &action.kind {
                ActionKind::Assign(updates) => {
                    updates.iter().for_each(|(slot, expr)| self.add(expr, PartKind::Assign(*slot)));
                }
                ActionKind::Raise { event, data } => {
                    self.template(event, |_| PartKind::Control);
                    self.template(data, PartKind::Data);
                }
                ActionKind::Send { target, event, data, .. } if self.leaves(target) => {
                    for template in [target, event, data] {
                        self.template(template, |_| PartKind::Passed);
                    }
                }
                ActionKind::Send { target, event, data, delay, id } => {
                    self.template(target, |_| PartKind::Control);
                    self.template(event, |_| PartKind::Control);
                    self.template(data, PartKind::Data);
                    delay.iter().filter_map(delay_expr).for_each(|expr| self.add(expr, PartKind::Control));
                    id.iter().for_each(|id| self.template(id, |_| PartKind::Control));
                }
                ActionKind::Cancel { id } => self.template(id, |_| PartKind::Control),
                ActionKind::Emit { event, data } => {
                    self.template(event, |_| PartKind::Passed);
                    self.template(data, |_| PartKind::Passed);
                }
                ActionKind::Call { params, .. } => self.template(params, |_| PartKind::Passed),
                ActionKind::Log { message } => self.template(message, |_| PartKind::Passed),
                ActionKind::Choose { branches } => {
                    for (guard, actions) in branches {
                        guard.iter().for_each(|guard| self.add(&guard.expr, PartKind::Guard));
                        self.actions(actions);
                    }
                }
                ActionKind::Foreach(foreach) => {
                    let slots = [foreach.item_slot, foreach.index_slot];
                    let is_passed_on = foreach.actions.iter().all(|action| self.is_passed_on(&action.kind));
                    let is_list = !is_passed_on || slots.iter().any(Option::is_some);
                    self.add(&foreach.array, if is_list { PartKind::List } else { PartKind::Passed });
                    slots
                        .into_iter()
                        .flatten()
                        .for_each(|slot| self.add(&foreach.array, PartKind::Assign(slot)));
                    self.actions(&foreach.actions);
                }
            }
        }
        self.skips = is_within;
    }
}

/// Returns the delays of `send` actions.
pub(crate) fn delays_of_sends(blueprint: &Blueprint) -> Vec<&Delay> {
    let mut delays = Vec::new();
    each_action(blueprint, &mut |kind| {
        if let ActionKind::Send { delay: Some(delay), .. } = kind {
            delays.push(delay);
        }
    });
    delays
}

/// Returns the computed names of events and ids in actions: which of them occur is not known without the data.
pub(crate) fn computed_names(blueprint: &Blueprint) -> Vec<String> {
    let mut names = Vec::new();
    let are_others_outside = !has_internal_events(blueprint);
    each_action(blueprint, &mut |kind| {
        let templates = match kind {
            ActionKind::Send { target, .. } if are_others_outside && is_computed(target) => Vec::new(),
            ActionKind::Raise { event, .. } => vec![event],
            ActionKind::Send { event, target, .. } => vec![event, target],
            ActionKind::Cancel { id } => vec![id],
            _ => Vec::new(),
        };
        let computed = templates.into_iter().filter_map(|template| match template {
            DataTemplate::Expr(expr) if expr.constant().is_none() => Some(expr.text().to_owned()),
            _ => None,
        });
        names.extend(computed);
    });
    names
}

/// Returns the names of events that a chart raises or sends with computed data; `None` if a name is computed.
pub(crate) fn computed_events(blueprint: &Blueprint) -> Option<BTreeSet<Arc<str>>> {
    fn is_constant(template: &DataTemplate) -> bool {
        match template {
            DataTemplate::Literal(_) => true,
            DataTemplate::Expr(expr) => expr.constant().is_some(),
            DataTemplate::List(items) => items.iter().all(is_constant),
            DataTemplate::Map(entries) => entries.iter().all(|(_, value)| is_constant(value)),
        }
    }
    let mut names = Some(BTreeSet::new());
    each_action(blueprint, &mut |kind| {
        let (ActionKind::Raise { event, data } | ActionKind::Send { event, data, .. }) = kind else { return };
        match (event, &mut names) {
            (DataTemplate::Literal(rawko_core::Value::Str(name)), Some(names)) => {
                if !is_constant(data) {
                    names.insert(Arc::clone(name));
                }
            }
            _ => names = None,
        }
    });
    names
}

/// Returns true if an action calls a handler.
pub(crate) fn has_calls(blueprint: &Blueprint) -> bool {
    let mut has_calls = false;
    each_action(blueprint, &mut |kind| has_calls |= matches!(kind, ActionKind::Call { .. }));
    has_calls
}

fn each_action<'b>(blueprint: &'b Blueprint, visit: &mut dyn FnMut(&'b ActionKind)) {
    blueprint.nodes.iter().for_each(|node| each_action_of(node, visit));
}

/// Visits the actions of one state and of its transitions.
pub(crate) fn each_action_of<'b>(node: &'b NodeSpec, visit: &mut dyn FnMut(&'b ActionKind)) {
    each_action_among(&node.entry, visit);
    each_action_among(&node.exit, visit);
    node.initial.iter().for_each(|initial| each_action_among(&initial.actions, visit));
    node.transitions.iter().for_each(|transition| each_action_among(&transition.actions, visit));
}

/// Visits the actions of one block, and those within them.
pub(crate) fn each_action_among<'b>(actions: &'b [ActionBlueprint], visit: &mut dyn FnMut(&'b ActionKind)) {
    for action in actions {
        visit(&action.kind);
        match &action.kind {
            ActionKind::Choose { branches } => {
                branches.iter().for_each(|(_, actions)| each_action_among(actions, visit));
            }
            ActionKind::Foreach(foreach) => each_action_among(&foreach.actions, visit),
            _ => {}
        }
    }
}

pub(crate) fn delay_expr(delay: &Delay) -> Option<&Expr> {
    match delay {
        Delay::Millis(_) => None,
        Delay::Expr(expr, _) => Some(expr),
    }
}

/// Visits the expressions of a template with the key each stands under.
pub(crate) fn template_exprs<'t>(
    template: &'t DataTemplate,
    key: Option<&Arc<str>>,
    visit: &mut impl FnMut(Option<Arc<str>>, &'t Expr),
) {
    match template {
        DataTemplate::Literal(_) => {}
        DataTemplate::Expr(expr) => visit(key.cloned(), expr),
        DataTemplate::List(items) => items.iter().for_each(|item| template_exprs(item, key, visit)),
        DataTemplate::Map(entries) => {
            entries.iter().for_each(|(key, value)| template_exprs(value, Some(key), visit));
        }
    }
}

/// Returns the literal names of events that a chart sends to its parent; an empty one for a computed name.
pub(crate) fn sent_to_parent(blueprint: &Blueprint) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    each_action(blueprint, &mut |kind| {
        let ActionKind::Send { target, event, .. } = kind else { return };
        let is_parent = match target {
            DataTemplate::Literal(target) => target.as_str() == Some("parent"),
            _ => true,
        };
        if is_parent {
            names.push(match event {
                DataTemplate::Literal(rawko_core::Value::Str(name)) => Arc::clone(name),
                _ => "".into(),
            });
        }
    });
    names
}

/// Returns true if a transition takes events by a pattern.
pub(crate) fn has_pattern(blueprint: &Blueprint) -> bool {
    let mut transitions = blueprint.nodes.iter().flat_map(|node| &node.transitions);
    transitions.any(|it| matches!(&it.trigger, TransitionTrigger::Event(pattern) if pattern.ends_with('*')))
}
