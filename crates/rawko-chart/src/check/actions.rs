//! Walks every action of a chart with its source location, including nested ones. Shared by several analyses, which
//! need the assigned keys and the events sent to the chart itself.

use rawko_core::{ActionBlueprint, ActionKind, DataTemplate, NodeId, Slot, Value};

use super::index::ChartIndex;
use crate::lowered::ActionPlaces;
use crate::source::Span;

/// A key that an action assigns.
pub(crate) struct Assigned {
    pub(crate) node: NodeId,
    /// Index of the transition that owns the action; `None` for actions of entry and exit.
    pub(crate) transition: Option<usize>,
    pub(crate) slot: Slot,
    pub(crate) span: Span,
}

/// An event that an action sends to the chart's own instance.
pub(crate) struct RaisedEvent<'a> {
    pub(crate) event: &'a str,
    pub(crate) how: AssignmentKind,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AssignmentKind {
    Raised,
    SentToSelf,
}

/// The effects of a chart's actions, in document order.
#[derive(Default)]
pub(crate) struct ActionEffects<'a> {
    /// The transition whose actions are being collected.
    transition: Option<usize>,
    pub(crate) assigned: Vec<Assigned>,
    pub(crate) raised: Vec<RaisedEvent<'a>>,
}

impl<'a> ActionEffects<'a> {
    pub(crate) fn new(index: &ChartIndex<'a>) -> Self {
        let mut doings = ActionEffects::default();
        for id in index.ids() {
            doings.collect_node(index, id);
        }
        doings
    }

    fn collect_node(&mut self, index: &ChartIndex<'a>, id: NodeId) {
        let node = index.node(id);
        let places = index.places(id);
        let more = places.and_then(|places| places.more.as_deref());
        self.collect(id, &node.entry, more.map(|places| &places.entry[..]));
        self.collect(id, &node.exit, more.map(|places| &places.exit[..]));
        if let Some(initial) = &node.initial {
            self.collect(id, &initial.actions, more.map(|places| &places.initial_actions[..]));
        }
        for (number, transition) in node.transitions.iter().enumerate() {
            let places = places.and_then(|places| places.transitions.get(number));
            self.transition = Some(number);
            self.collect(id, &transition.actions, places.map(|places| &places.actions[..]));
        }
        self.transition = None;
    }

    fn collect(&mut self, node: NodeId, actions: &'a [ActionBlueprint], places: Option<&[ActionPlaces]>) {
        for (number, action) in actions.iter().enumerate() {
            self.collect_action(node, action, places.and_then(|places| places.get(number)));
        }
    }

    fn assigned(&mut self, node: NodeId, slot: Slot, span: Span) {
        self.assigned.push(Assigned { node, transition: self.transition, slot, span });
    }

    fn collect_action(&mut self, node: NodeId, action: &'a ActionBlueprint, places: Option<&ActionPlaces>) {
        let span = places.map(|places| places.used).unwrap_or_default();
        let nested = places.map(|places| &places.nested[..]);
        match &action.kind {
            ActionKind::Assign(updates) => {
                for (slot, _) in updates {
                    self.assigned(node, *slot, span);
                }
            }
            ActionKind::Raise { event, .. } => self.sent(event, AssignmentKind::Raised, span),
            ActionKind::Send { target, event, .. } => {
                if is_self(target) {
                    self.sent(event, AssignmentKind::SentToSelf, span);
                }
            }
            ActionKind::Choose { branches } => {
                let mut done = 0;
                for (_, actions) in branches {
                    self.collect(node, actions, nested.and_then(|nested| nested.get(done..)));
                    done += actions.len();
                }
            }
            ActionKind::Foreach(foreach) => {
                for slot in [foreach.item_slot, foreach.index_slot].into_iter().flatten() {
                    self.assigned(node, slot, span);
                }
                self.collect(node, &foreach.actions, nested);
            }
            ActionKind::Emit { .. }
            | ActionKind::Cancel { .. }
            | ActionKind::Call { .. }
            | ActionKind::Log { .. } => {}
        }
    }

    fn sent(&mut self, event: &'a DataTemplate, how: AssignmentKind, span: Span) {
        if let DataTemplate::Literal(Value::Str(event)) = event {
            self.raised.push(RaisedEvent { event, how, span });
        }
    }
}

/// Returns true for a send without a target, or to `self`.
fn is_self(target: &DataTemplate) -> bool {
    match target {
        DataTemplate::Literal(Value::Str(name)) => &**name == "self",
        DataTemplate::Literal(value) => value.is_null(),
        DataTemplate::Expr(_) | DataTemplate::List(_) | DataTemplate::Map(_) => false,
    }
}
