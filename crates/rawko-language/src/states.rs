//! The states of a chart for an editor: the list of symbols, the definition of a name, and all places that use it.

use rawko_chart::{Registry, SourceFile, Span, StateReference, StateReferences};
use rawko_core::{NodeId, NodeKind};

/// A state in the outline of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSymbol {
    /// The key of the state, or the id of the chart.
    pub name: String,
    /// `atomic`, `final`, `parallel` …; `chart` for the root.
    pub detail: &'static str,
    /// The key.
    pub key: Span,
    /// Everything that belongs to it.
    pub whole: Span,
    /// Its child states.
    pub children: Vec<StateSymbol>,
}

/// A readable chart with all names of its states.
#[derive(Debug)]
pub struct ChartStates {
    pub(crate) source: SourceFile,
    pub(crate) found: StateReferences,
    /// Location of each key, without quotes.
    pub(crate) keys: Vec<Span>,
}

impl ChartStates {
    /// Reads a text; `None` if it is not a readable chart.
    pub fn of(source: &SourceFile, registry: &Registry) -> Option<ChartStates> {
        let found = StateReferences::of(source, registry)?;
        let nodes = found.lowered.blueprint.nodes.iter().zip(&found.lowered.places.nodes);
        let keys = nodes.map(|(node, places)| unquoted(&source.text, places.key, &node.key)).collect();
        Some(ChartStates { source: source.clone(), found, keys })
    }

    /// Returns the state whose key or name is at a byte offset, and the location of that name.
    pub fn state_at(&self, offset: usize) -> Option<(NodeId, Span)> {
        let holds = |span: &Span| span.start as usize <= offset && offset <= span.end as usize;
        let by_name = self.found.references.iter().find(|it| holds(&it.span)).map(|it| (it.node, it.span));
        let keys = || (1..).zip(self.keys.iter().skip(1));
        by_name.or_else(|| keys().find(|(_, span)| holds(span)).map(|(number, span)| (NodeId(number), *span)))
    }

    /// Returns the location of the key of a state.
    pub fn definition(&self, state: NodeId) -> Option<Span> {
        self.keys.get(state.index()).copied()
    }

    /// Returns all names of a state in the text, without its key.
    pub fn references(&self, state: NodeId) -> impl Iterator<Item = &StateReference> {
        self.found.references.iter().filter(move |it| it.node == state)
    }

    /// Returns the `src` of the invoke at a byte offset, such as `statechart:order@^1` or `agent:developer`.
    pub fn src_at(&self, offset: usize) -> Option<(&str, Span)> {
        let nodes = self.found.lowered.places.nodes.iter();
        let places = nodes.filter_map(|node| node.more.as_deref()).flat_map(|more| &more.invokes);
        let at = |span: &Span| span.start as usize <= offset && offset <= span.end as usize;
        let span = places.map(|invoke| invoke.src).find(at)?;
        Some((self.source.text.get(span.range())?.trim_matches(['"', '\'']), span))
    }

    /// Returns the location of the chart's id.
    pub fn chart_id(&self) -> Span {
        self.keys.first().copied().unwrap_or_default()
    }

    /// Returns the chart with its states.
    pub fn symbols(&self) -> Option<StateSymbol> {
        (!self.keys.is_empty()).then(|| self.symbol(0))
    }

    /// Recursion is bounded by the depth of the text.
    fn symbol(&self, number: usize) -> StateSymbol {
        let blueprint = &self.found.lowered.blueprint;
        let (node, places) = (&blueprint.nodes[number], &self.found.lowered.places.nodes[number]);
        let below = |child: &usize| blueprint.nodes[*child].parent == Some(NodeId(number as u32));
        let children =
            (number + 1..blueprint.nodes.len()).filter(below).map(|child| self.symbol(child)).collect();
        let key = self.keys[number];
        let whole = Span { start: key.start.min(places.body.start), end: key.end.max(places.body.end) };
        let name = if number == 0 { blueprint.id.clone() } else { node.key.to_string() };
        let detail = if number == 0 { "chart" } else { kind_word(node.kind) };
        StateSymbol { name, detail, key, whole, children }
    }
}

fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Atomic => "atomic",
        NodeKind::Compound => "compound",
        NodeKind::Parallel => "parallel",
        NodeKind::Final => "final",
        NodeKind::History(_) => "history",
    }
}

/// Returns a location without the quotes around it.
fn unquoted(text: &str, span: Span, key: &str) -> Span {
    let raw = text.get(span.range()).unwrap_or_default();
    match raw.find(key).filter(|_| !key.is_empty()) {
        Some(at) => Span::new(span.start as usize + at, span.start as usize + at + key.len()),
        None => span,
    }
}
