//! `Picture`: the drawable contents of a chart, extracted once. The formats share its texts (titles, labels, the lines
//! inside a state) and its tree queries, so that the four drawings of a chart agree.

use rawko_core::{
    Chart, Docs, EachSpec, HistoryVariant, JoinRule, NodeId, NodeInfo, NodeKind, TransitionId, TransitionInfo,
};

use super::color::color;

/// A chart for drawing. `nodes` and `edges` are indexed by `NodeId` and `TransitionId`.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    pub(crate) nodes: Vec<PictureNode>,
    pub(crate) edges: Vec<PictureEdge>,
}

/// A state node.
#[derive(Clone, Debug)]
pub(crate) struct PictureNode {
    pub(crate) id: NodeId,
    pub(crate) key: String,
    pub(crate) path: String,
    /// The author's label, else the key; for the root the chart's id.
    pub(crate) title: String,
    pub(crate) kind: NodeKind,
    pub(crate) parent: Option<NodeId>,
    pub(crate) children: Vec<NodeId>,
    pub(crate) initial: Vec<NodeId>,
    pub(crate) initial_actions: Vec<String>,
    /// The lines inside the state, in order: entry, exit, invokes, transitions without a target.
    pub(crate) lines: Vec<StateLine>,
    /// True if it runs an invoke once per item of a list: drawn as a stack.
    pub(crate) is_stacked: bool,
    pub(crate) description: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) color: Option<String>,
    pub(crate) position: Option<(f64, f64)>,
}

/// A line inside a state.
#[derive(Clone, Debug)]
pub(crate) struct StateLine {
    pub(crate) kind: LineKind,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Entry,
    Exit,
    Invoke,
    /// A transition without a target.
    Inner(TransitionId),
}

/// A transition with at least one target.
#[derive(Clone, Debug)]
pub(crate) struct PictureEdge {
    pub(crate) id: TransitionId,
    pub(crate) source: NodeId,
    pub(crate) targets: Vec<NodeId>,
    pub(crate) label: ArrowLabel,
    pub(crate) description: Option<String>,
    pub(crate) color: Option<String>,
}

/// An arrow between two states: a transition to one of its targets, or a history node's default.
#[derive(Clone, Debug)]
pub(crate) struct PictureArrow<'a> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) label: Option<String>,
    /// The transition, if it is one.
    pub(crate) edge: Option<&'a PictureEdge>,
}

/// The parts of `EVENT [guard] / actions`. An author's own label replaces all three.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrowLabel {
    pub(crate) trigger: String,
    pub(crate) guard: Option<String>,
    pub(crate) actions: Vec<String>,
    pub(crate) own: Option<String>,
}

impl ArrowLabel {
    /// Returns the whole label of the transition, ignoring the author's own label.
    pub(crate) fn full(&self) -> String {
        let mut text = self.trigger.clone();
        if let Some(guard) = &self.guard {
            text.push_str(&format!(" [{guard}]"));
        }
        if !self.actions.is_empty() {
            text.push_str(" / ");
            text.push_str(&self.actions.join(", "));
        }
        text
    }

    /// Returns the displayed label.
    pub(crate) fn shown(&self) -> String {
        self.own.clone().unwrap_or_else(|| self.full())
    }
}

impl Picture {
    pub(crate) fn of(chart: &Chart) -> Self {
        let mut nodes: Vec<PictureNode> = chart.node_ids().map(|id| node(id, chart)).collect();
        let mut edges = Vec::new();
        for id in chart.transition_ids() {
            let info = chart.transition(id);
            match &info.targets {
                Some(targets) if !targets.is_empty() => edges.push(edge(id, info, targets)),
                Some(_) | None => nodes[info.source.index()].lines.push(inner(id, info)),
            }
        }
        Self {
            id: one_line(chart.id()),
            version: one_line(chart.version()),
            description: chart.description().map(one_line),
            nodes,
            edges,
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> &PictureNode {
        &self.nodes[id.index()]
    }

    pub(crate) fn root(&self) -> &PictureNode {
        &self.nodes[0]
    }

    /// Returns true if the root needs a box: it has lines or transitions, or its children are regions.
    pub(crate) fn root_is_drawn(&self) -> bool {
        let root = self.root();
        root.kind == NodeKind::Parallel
            || !root.lines.is_empty()
            || self.edges.iter().any(|e| e.source == root.id || e.targets.contains(&root.id))
    }

    /// Returns all arrows but the initial ones: the defaults of history nodes, then transitions in document order.
    pub(crate) fn arrows(&self) -> impl Iterator<Item = PictureArrow<'_>> {
        let defaults = self.nodes.iter().filter(|s| s.is_history()).flat_map(|s| {
            s.initial.iter().map(|to| PictureArrow {
                from: s.id,
                to: *to,
                label: s.initial_label(),
                edge: None,
            })
        });
        let transitions = self.edges.iter().flat_map(|e| {
            let label = Some(e.label.shown());
            e.targets.iter().map(move |to| PictureArrow {
                from: e.source,
                to: *to,
                label: label.clone(),
                edge: Some(e),
            })
        });
        defaults.chain(transitions)
    }

    /// Returns true if `inside` is `outside` or below it.
    pub(crate) fn contains(&self, outside: NodeId, inside: NodeId) -> bool {
        let mut at = Some(inside);
        while let Some(id) = at {
            if id == outside {
                return true;
            }
            at = self.node(id).parent;
        }
        false
    }

    /// Returns true for a child of a parallel state that runs beside its siblings.
    pub(crate) fn is_region(&self, id: NodeId) -> bool {
        let node = self.node(id);
        !node.is_history() && node.parent.is_some_and(|p| self.node(p).kind == NodeKind::Parallel)
    }

    /// Returns the children without history nodes.
    pub(crate) fn states(&self, id: NodeId) -> impl Iterator<Item = &PictureNode> {
        self.node(id).children.iter().map(|c| self.node(*c)).filter(|n| !n.is_history())
    }
}

impl PictureNode {
    pub(crate) fn is_history(&self) -> bool {
        matches!(self.kind, NodeKind::History(_))
    }

    /// Returns true if it is drawn around other states.
    pub(crate) fn is_composite(&self) -> bool {
        match self.kind {
            NodeKind::Compound | NodeKind::Parallel => !self.children.is_empty(),
            NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => false,
        }
    }

    /// Returns the label of the arrow to the node's initial state.
    pub(crate) fn initial_label(&self) -> Option<String> {
        (!self.initial_actions.is_empty()).then(|| format!("/ {}", self.initial_actions.join(", ")))
    }

    /// Returns `H` or `H*` for history nodes.
    pub(crate) fn history_mark(&self) -> Option<&'static str> {
        match self.kind {
            NodeKind::History(HistoryVariant::Shallow) => Some("H"),
            NodeKind::History(HistoryVariant::Deep) => Some("H*"),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => None,
        }
    }
}

fn node(id: NodeId, chart: &Chart) -> PictureNode {
    let info = chart.node(id);
    let key = if id == NodeId::ROOT { one_line(chart.id()) } else { one_line(&info.key) };
    PictureNode {
        id,
        title: label_of(&info.docs).unwrap_or_else(|| key.clone()),
        key,
        path: one_line(&info.path),
        kind: info.kind,
        parent: info.parent,
        children: info.children.to_vec(),
        initial: info.initial.to_vec(),
        initial_actions: info.initial_actions.iter().map(|a| one_line(a)).collect(),
        lines: lines(info, id, chart),
        is_stacked: (0..info.invokes.len()).any(|invoke| chart.each(id, invoke).is_some()),
        description: info.docs.description.as_deref().map(one_line),
        tags: info.docs.tags.iter().map(|t| one_line(t)).collect(),
        color: info.docs.color.as_deref().and_then(color),
        position: info.docs.position,
    }
}

fn lines(info: &NodeInfo, node: NodeId, chart: &Chart) -> Vec<StateLine> {
    let mut lines = Vec::new();
    let mut add = |kind, text: String| lines.push(StateLine { kind, text });
    if !info.entry.is_empty() {
        add(LineKind::Entry, format!("entry / {}", joined(&info.entry)));
    }
    if !info.exit.is_empty() {
        add(LineKind::Exit, format!("exit / {}", joined(&info.exit)));
    }
    for (number, (id, src)) in info.invokes.iter().enumerate() {
        // An id that the author did not choose is the state's own path, which adds nothing beside the source.
        let named = !id.is_empty() && **id != *info.path && !id.starts_with(&format!("{}.", info.path));
        let text = if named {
            format!("invoke {} ({})", one_line(src), one_line(id))
        } else {
            format!("invoke {}", one_line(src))
        };
        let text = if chart.is_isolated(node, number) { format!("{text} in a worktree") } else { text };
        let text = match chart.each(node, number) {
            Some(each) => format!("{text} × each {}", one_line(&each_words(each))),
            None => text,
        };
        add(LineKind::Invoke, text);
    }
    lines
}

/// Returns the list of an `each`, the number of items that run at the same time, and the join unless it is `all`.
fn each_words(each: &EachSpec) -> String {
    let join = match each.join {
        JoinRule::All => String::new(),
        JoinRule::Any => ", any".to_owned(),
        JoinRule::Settled => ", settled".to_owned(),
        JoinRule::AtLeast(least) => format!(", at least {least}"),
    };
    format!("{} ({} at once{join})", each.list.text(), each.max_concurrent)
}

fn edge(id: TransitionId, info: &TransitionInfo, targets: &[NodeId]) -> PictureEdge {
    PictureEdge {
        id,
        source: info.source,
        targets: targets.to_vec(),
        label: label(info),
        description: info.docs.description.as_deref().map(one_line),
        color: info.docs.color.as_deref().and_then(color),
    }
}

fn inner(id: TransitionId, info: &TransitionInfo) -> StateLine {
    StateLine { kind: LineKind::Inner(id), text: label(info).shown() }
}

fn label(info: &TransitionInfo) -> ArrowLabel {
    ArrowLabel {
        trigger: one_line(&info.label),
        guard: info.guard.as_deref().map(one_line),
        actions: info.actions.iter().map(|a| one_line(a)).collect(),
        own: label_of(&info.docs),
    }
}

fn label_of(docs: &Docs) -> Option<String> {
    docs.label.as_deref().map(one_line).filter(|l| !l.is_empty())
}

fn joined(actions: &[std::sync::Arc<str>]) -> String {
    actions.iter().map(|a| one_line(a)).collect::<Vec<_>>().join(", ")
}

/// Labels are one line: replaces line breaks and control characters with single spaces.
fn one_line(text: &str) -> String {
    let spaced: String =
        text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    spaced.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}
