//! `LoweredChart`: a blueprint with the source locations of its parts. Analyses use the one and point at the other.

use rawko_core::Blueprint;

use crate::source::Span;

/// A chart with resolved names and a location for every part.
#[derive(Clone, Debug)]
pub struct LoweredChart {
    /// The chart with resolved names.
    pub blueprint: Blueprint,
    /// Locations of the blueprint's parts.
    pub places: Places,
}

/// Source locations, in the same order as the blueprint's parts.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// One for each node of the blueprint; the root is the first.
    pub nodes: Vec<NodePlaces>,
    /// One for each context key (the first assign, for keys that are only assigned).
    pub context: Vec<Span>,
}

/// Locations of a state node.
#[derive(Clone, Debug, Default)]
pub struct NodePlaces {
    /// The key (a region's `id` value); for the root the chart's `id`.
    pub key: Span,
    /// Everything below the key.
    pub body: Span,
    /// One for each transition, in the blueprint's order.
    pub transitions: Vec<TransitionPlaces>,
    /// The other locations, for nodes that have any: most have none, and a chart has many nodes.
    pub more: Option<Box<MorePlaces>>,
}

/// Locations of a state node's invokes and actions.
#[derive(Clone, Debug, Default)]
pub struct MorePlaces {
    /// One for each invoke.
    pub invokes: Vec<InvokePlaces>,
    /// One for each action of `entry`.
    pub entry: Vec<ActionPlaces>,
    /// One for each action of `exit`.
    pub exit: Vec<ActionPlaces>,
    /// One for each action of the initial transition.
    pub initial_actions: Vec<ActionPlaces>,
}

impl MorePlaces {
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        let is_empty = self.invokes.is_empty()
            && self.entry.is_empty()
            && self.exit.is_empty()
            && self.initial_actions.is_empty();
        (!is_empty).then(|| Box::new(self))
    }
}

/// Locations of a transition.
#[derive(Clone, Debug, Default)]
pub struct TransitionPlaces {
    /// The event's name, the delay, or the words `always`, `onDone` ….
    pub trigger: Span,
    /// The transition's map, or its target if it is written as text.
    pub body: Span,
    /// The condition; `None` if the transition has none.
    pub guard: Option<Span>,
    /// The target; `None` if the transition has none.
    pub target: Option<Span>,
    /// One for each action.
    pub actions: Vec<ActionPlaces>,
}

/// Locations of an invoke.
#[derive(Clone, Debug, Default)]
pub struct InvokePlaces {
    /// The invoke's map.
    pub body: Span,
    /// The value of `src`; `body` if it is missing.
    pub src: Span,
    /// True if `onError` is present.
    pub on_error: bool,
    /// The list of an `each`.
    pub each: Option<Span>,
    /// True if `max_concurrent` is present.
    pub max_concurrent: bool,
}

/// Location of an action's use (its name in a list, or its inline body) and of its definition.
#[derive(Clone, Debug, Default)]
pub struct ActionPlaces {
    /// The name in the list of actions, or the inline body.
    pub used: Span,
    /// The named action's definition; the same as `used` for an inline one.
    pub defined: Span,
    /// For `choose` branches and `foreach`, the nested actions, flattened in order.
    pub nested: Vec<ActionPlaces>,
}
