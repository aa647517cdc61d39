//! `Lowered`: a blueprint with the source locations of its parts. Analyses use the one and point at the other.

use rawko_core::Blueprint;

use crate::source::Span;

/// A chart with resolved names and a location for every part.
#[derive(Clone, Debug)]
pub struct Lowered {
    pub blueprint: Blueprint,
    pub places: Places,
}

/// Source locations, in the same order as the blueprint's parts.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub nodes: Vec<NodePlaces>,
    /// One for each context key (the first assign, for keys that are only assigned).
    pub context: Vec<Span>,
}

#[derive(Clone, Debug, Default)]
pub struct NodePlaces {
    /// The key (a region's `id` value); for the root the chart's `id`.
    pub key: Span,
    /// Everything below the key.
    pub body: Span,
    pub transitions: Vec<TransitionPlaces>,
    /// The other locations, for nodes that have any: most have none, and a chart has many nodes.
    pub more: Option<Box<MorePlaces>>,
}

#[derive(Clone, Debug, Default)]
pub struct MorePlaces {
    pub invokes: Vec<InvokePlaces>,
    pub entry: Vec<ActionPlaces>,
    pub exit: Vec<ActionPlaces>,
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

#[derive(Clone, Debug, Default)]
pub struct TransitionPlaces {
    /// The event's name, the delay, or the words `always`, `onDone` ….
    pub trigger: Span,
    pub body: Span,
    pub guard: Option<Span>,
    pub target: Option<Span>,
    pub actions: Vec<ActionPlaces>,
}

#[derive(Clone, Debug, Default)]
pub struct InvokePlaces {
    pub body: Span,
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
    pub used: Span,
    pub defined: Span,
    /// For `choose` branches and `foreach`, the nested actions, flattened in order.
    pub nested: Vec<ActionPlaces>,
}
