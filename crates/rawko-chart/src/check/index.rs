//! `ChartIndex`: chart data shared by all analyses, computed once: subtree ranges, depths, a flat list of transitions with
//! their domains, and the states that can be entered and completed. Nothing here is worse than linear in chart × depth.

use std::cell::OnceCell;

use rawko_core::{Delay, InvokeSpec, NodeId, NodeKind, NodeSpec, TransitionSpec, TransitionTrigger};
use rustc_hash::FxHashMap;

use super::consequences::Strays;
use super::{guards, reach};
use crate::lowered::{InvokePlaces, LoweredChart, NodePlaces, TransitionPlaces};
use crate::source::Span;

pub(crate) struct ChartIndex<'a> {
    pub(crate) lowered: &'a LoweredChart,
    pub(crate) nodes: &'a [NodeSpec],
    /// The last descendant of each node in preorder; itself for a leaf.
    last: Vec<u32>,
    depth: Vec<u32>,
    /// Number of children of each node, without history nodes.
    regions_count: Vec<u32>,
    has_final: Vec<bool>,
    names: OnceCell<FxHashMap<&'a str, NodeId>>,
    /// All transitions, in document order.
    pub(crate) edges: Vec<TransitionEdge<'a>>,
    /// Index of each node's first transition in `edges`; one longer than `nodes`.
    first_edge: Vec<u32>,
    /// True if a state can ever be active (for history: if something targets it).
    pub(crate) reached: Vec<bool>,
    /// True if `done.state.<name>` can ever occur.
    pub(crate) completes: Vec<bool>,
}

/// A transition with the data that analyses need.
pub(crate) struct TransitionEdge<'a> {
    pub(crate) source: NodeId,
    /// Index among the transitions of its source.
    pub(crate) number: usize,
    pub(crate) spec: &'a TransitionSpec,
    /// The state that is not left; `None` for a targetless transition.
    pub(crate) domain: Option<NodeId>,
    /// No guard, or one that is always true.
    pub(crate) unguarded: bool,
}

impl TransitionEdge<'_> {
    pub(crate) fn targets(&self) -> &[NodeId] {
        self.spec.targets.as_deref().unwrap_or_default()
    }

    /// Returns true if it has targets of which none was found: it may lead anywhere.
    pub(crate) fn is_stray(&self) -> bool {
        self.spec.targets.as_ref().is_some_and(|targets| targets.is_empty())
    }

    pub(crate) fn is_always(&self) -> bool {
        matches!(self.spec.trigger, TransitionTrigger::Always)
    }

    /// Returns the event's name or pattern; `None` for eventless and delayed transitions.
    pub(crate) fn event(&self) -> Option<&str> {
        match &self.spec.trigger {
            TransitionTrigger::Event(name) => Some(name),
            TransitionTrigger::Always | TransitionTrigger::After(_) | TransitionTrigger::Item { .. } => None,
        }
    }
}

impl<'a> ChartIndex<'a> {
    pub(crate) fn new(lowered: &'a LoweredChart, strays: &Strays<'_>) -> Self {
        let nodes = &lowered.blueprint.nodes[..];
        let mut index = ChartIndex {
            lowered,
            nodes,
            last: last_descendants(nodes),
            depth: depths(nodes),
            regions_count: vec![0; nodes.len()],
            has_final: vec![false; nodes.len()],
            names: OnceCell::new(),
            edges: Vec::with_capacity(nodes.iter().map(|node| node.transitions.len()).sum()),
            first_edge: Vec::with_capacity(nodes.len() + 1),
            reached: Vec::new(),
            completes: Vec::new(),
        };
        index.count_children();
        index.list_edges();
        index.reached = reach::reached(&index, strays);
        index.completes = reach::completes(&index);
        index
    }

    fn count_children(&mut self) {
        for node in self.nodes {
            let Some(parent) = node.parent else { continue };
            self.regions_count[parent.index()] += u32::from(!matches!(node.kind, NodeKind::History(_)));
            self.has_final[parent.index()] |= node.kind == NodeKind::Final;
        }
    }

    fn list_edges(&mut self) {
        for (source, node) in self.nodes.iter().enumerate() {
            self.first_edge.push(self.edges.len() as u32);
            for (number, spec) in node.transitions.iter().enumerate() {
                let source = NodeId(source as u32);
                let domain = spec.targets.as_ref().map(|targets| self.domain(source, targets, spec.reenter));
                let unguarded = spec.guard.as_ref().is_none_or(guards::always_true);
                self.edges.push(TransitionEdge { source, number, spec, domain, unguarded });
            }
        }
        self.first_edge.push(self.edges.len() as u32);
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub(crate) fn node(&self, id: NodeId) -> &'a NodeSpec {
        &self.nodes[id.index()]
    }

    pub(crate) fn kind(&self, id: NodeId) -> NodeKind {
        self.nodes[id.index()].kind
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id.index()].parent
    }

    /// Returns the index of a node's first transition in `edges`.
    pub(crate) fn first_edge(&self, id: NodeId) -> usize {
        self.first_edge[id.index()] as usize
    }

    pub(crate) fn edges_of(&self, id: NodeId) -> &[TransitionEdge<'a>] {
        &self.edges[self.first_edge(id)..self.first_edge[id.index() + 1] as usize]
    }

    /// Returns the last descendant of a node in document order.
    pub(crate) fn last(&self, id: NodeId) -> NodeId {
        NodeId(self.last[id.index()])
    }

    /// Returns the transitions of a node and its descendants.
    pub(crate) fn edges_within(&self, id: NodeId) -> &[TransitionEdge<'a>] {
        &self.edges[self.first_edge(id)..self.first_edge[self.last(id).index() + 1] as usize]
    }

    /// Returns true if `node` is `above` or below it.
    pub(crate) fn within(&self, node: NodeId, above: NodeId) -> bool {
        above <= node && node.0 <= self.last[above.index()]
    }

    /// Returns the children in document order, including history nodes.
    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = self.last[id.index()];
        let mut next = id.0 + 1;
        std::iter::from_fn(move || {
            let child = (next <= end).then_some(NodeId(next))?;
            next = self.last[child.index()] + 1;
            Some(child)
        })
    }

    /// Returns the children of a parallel state that are active together.
    pub(crate) fn regions(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.children(id).filter(|child| !matches!(self.kind(*child), NodeKind::History(_)))
    }

    pub(crate) fn regions_count(&self, id: NodeId) -> usize {
        self.regions_count[id.index()] as usize
    }

    /// Returns true if one of the children is final.
    pub(crate) fn has_final(&self, id: NodeId) -> bool {
        self.has_final[id.index()]
    }

    /// Returns the states by the name in their done event.
    pub(crate) fn names(&self) -> &FxHashMap<&'a str, NodeId> {
        self.names.get_or_init(|| self.ids().map(|id| (self.name(id), id)).collect())
    }

    /// Returns the enclosing states, innermost first.
    pub(crate) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.parent(id), |node| self.parent(*node))
    }

    /// Returns the innermost state that is, or encloses, both.
    pub(crate) fn common(&self, mut a: NodeId, mut b: NodeId) -> NodeId {
        while a != b {
            let climb = if self.depth[a.index()] >= self.depth[b.index()] { &mut a } else { &mut b };
            *climb = self.parent(*climb).unwrap_or(NodeId::ROOT);
        }
        a
    }

    /// Returns true if two states can be active at the same time.
    pub(crate) fn coexist(&self, a: NodeId, b: NodeId) -> bool {
        self.within(a, b) || self.within(b, a) || self.kind(self.common(a, b)) == NodeKind::Parallel
    }

    /// Returns the domain of a transition: its source if every target is the source or inside it and it does not
    /// re-enter, else the innermost state that properly encloses source and targets. The root is never left.
    fn domain(&self, source: NodeId, targets: &[NodeId], reenter: bool) -> NodeId {
        // A history node represents states inside its parent.
        let landing = |target: NodeId| match self.kind(target) {
            NodeKind::History(_) => self.parent(target).unwrap_or(NodeId::ROOT),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => target,
        };
        if !reenter && targets.iter().all(|target| self.within(landing(*target), source)) {
            return source;
        }
        let mut domain = self.parent(source).unwrap_or(NodeId::ROOT);
        for target in targets {
            domain = self.common(domain, self.parent(*target).unwrap_or(NodeId::ROOT));
        }
        domain
    }

    /// Returns the dotted path of a state; the chart's id for the root.
    pub(crate) fn path(&self, id: NodeId) -> String {
        if id == NodeId::ROOT {
            return self.lowered.blueprint.id.clone();
        }
        let mut keys: Vec<&str> = self.ancestors(id).map(|node| &*self.node(node).key).collect();
        keys.pop();
        keys.reverse();
        keys.push(&self.node(id).key);
        keys.join(".")
    }

    /// Returns a short name for messages: the key if it is unique, else the path.
    pub(crate) fn name(&self, id: NodeId) -> &'a str {
        if id == NodeId::ROOT { &self.lowered.blueprint.id } else { &self.node(id).name }
    }

    pub(crate) fn places(&self, id: NodeId) -> Option<&'a NodePlaces> {
        self.lowered.places.nodes.get(id.index())
    }

    /// Returns the location of a state's key.
    pub(crate) fn key_span(&self, id: NodeId) -> Span {
        self.places(id).map(|places| places.key).unwrap_or_default()
    }

    pub(crate) fn edge_places(&self, edge: &TransitionEdge<'_>) -> Option<&'a TransitionPlaces> {
        self.places(edge.source)?.transitions.get(edge.number)
    }

    pub(crate) fn trigger_span(&self, edge: &TransitionEdge<'_>) -> Span {
        self.edge_places(edge).map(|places| places.trigger).unwrap_or_default()
    }

    /// Returns the location of the target, else of the trigger.
    pub(crate) fn target_span(&self, edge: &TransitionEdge<'_>) -> Span {
        self.edge_places(edge).map(|places| places.target.unwrap_or(places.trigger)).unwrap_or_default()
    }

    pub(crate) fn guard_span(&self, edge: &TransitionEdge<'_>) -> Span {
        self.edge_places(edge).map(|places| places.guard.unwrap_or(places.trigger)).unwrap_or_default()
    }

    pub(crate) fn invoke_places(&self, id: NodeId, number: usize) -> Option<&'a InvokePlaces> {
        self.places(id)?.more.as_ref()?.invokes.get(number)
    }

    /// Returns every invoke with its state and its index there.
    pub(crate) fn invokes(&self) -> impl Iterator<Item = (NodeId, usize, &'a InvokeSpec)> + '_ {
        self.ids().flat_map(|id| {
            self.node(id).invokes.iter().enumerate().map(move |(number, spec)| (id, number, spec))
        })
    }

    /// Returns the trigger of a transition for messages.
    pub(crate) fn trigger_text(&self, edge: &TransitionEdge<'_>) -> String {
        match &edge.spec.trigger {
            TransitionTrigger::Event(name) => format!("`{name}`"),
            TransitionTrigger::Always => "`always`".to_owned(),
            TransitionTrigger::Item { failed, .. } => {
                if *failed { "`onItemError`" } else { "`onItemDone`" }.to_owned()
            }
            TransitionTrigger::After(timer) => match self.node(edge.source).timers.get(*timer) {
                Some(Delay::Millis(millis)) => format!("`after {millis}`"),
                Some(Delay::Expr(_, text)) => format!("`after {text}`"),
                None => "`after`".to_owned(),
            },
        }
    }
}

fn last_descendants(nodes: &[NodeSpec]) -> Vec<u32> {
    let mut last: Vec<u32> = (0..nodes.len() as u32).collect();
    for (id, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            last[parent.index()] = last[parent.index()].max(last[id]);
        }
    }
    last
}

fn depths(nodes: &[NodeSpec]) -> Vec<u32> {
    let mut depth = Vec::with_capacity(nodes.len());
    for node in nodes {
        depth.push(node.parent.map_or(0, |parent| depth[parent.index()] + 1));
    }
    depth
}
