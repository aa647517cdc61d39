//! `Lowered`: a blueprint beside the places its parts were written at. Analyses work on the one and point at the other.

use rawko_core::Blueprint;

use crate::source::Span;

/// A chart whose names are resolved, with a place for every part.
#[derive(Clone, Debug)]
pub struct Lowered {
    pub blueprint: Blueprint,
    pub places: Places,
}

/// Places, in the same order as the blueprint's parts.
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
    /// Where the rest is, for nodes that have any of it: most have none, and a chart has many nodes.
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
    /// Whether the author handles failure: `onError` here.
    pub on_error: bool,
}

/// Where an action was used (its name in a list, or its inline body) and where it is defined.
#[derive(Clone, Debug, Default)]
pub struct ActionPlaces {
    pub used: Span,
    pub defined: Span,
    /// For `choose` branches and `foreach`, the nested actions, flattened in order.
    pub nested: Vec<ActionPlaces>,
}
