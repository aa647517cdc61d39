//! `Picture`: what every format draws, taken out of a chart once. The formats share its words (titles, labels, the
//! lines inside a state) and its tree questions, so that the four drawings of a chart say the same thing.

use rawko_core::{Chart, Docs, HistoryVariant, NodeId, NodeInfo, NodeKind, TransitionId, TransitionInfo};

/// A chart as a drawing sees it. `nodes` and `edges` are indexed by `NodeId` and `TransitionId`.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
}

/// A state node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
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
    /// What stands inside the state, in order: entry, exit, invokes, transitions without a target.
    pub(crate) lines: Vec<Line>,
    pub(crate) description: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) color: Option<String>,
    pub(crate) position: Option<(f64, f64)>,
}

/// A line inside a state.
#[derive(Clone, Debug)]
pub(crate) struct Line {
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
pub(crate) struct Edge {
    pub(crate) id: TransitionId,
    pub(crate) source: NodeId,
    pub(crate) targets: Vec<NodeId>,
    pub(crate) label: Label,
    pub(crate) description: Option<String>,
    pub(crate) color: Option<String>,
}

/// The parts of `EVENT [guard] / actions`. An author's own label replaces all three.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label {
    pub(crate) trigger: String,
    pub(crate) guard: Option<String>,
    pub(crate) actions: Vec<String>,
    pub(crate) own: Option<String>,
}

impl Label {
    /// The whole label as the transition does it, whatever the author calls it.
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

    /// What a drawing writes.
    pub(crate) fn shown(&self) -> String {
        self.own.clone().unwrap_or_else(|| self.full())
    }
}

impl Picture {
    pub(crate) fn of(chart: &Chart) -> Self {
        let mut nodes: Vec<Node> = chart.node_ids().map(|id| node(id, chart)).collect();
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

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn root(&self) -> &Node {
        &self.nodes[0]
    }

    /// Whether the root needs a box of its own: something hangs on it, or its children are regions.
    pub(crate) fn root_is_drawn(&self) -> bool {
        let root = self.root();
        root.kind == NodeKind::Parallel
            || !root.lines.is_empty()
            || self.edges.iter().any(|e| e.source == root.id || e.targets.contains(&root.id))
    }

    /// Whether `inside` is below `outside` (or the same).
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

    /// The innermost state node that holds both, neither of the two themselves unless it holds the other.
    pub(crate) fn common(&self, a: NodeId, b: NodeId) -> NodeId {
        let mut at = self.node(a).parent.unwrap_or(NodeId::ROOT);
        while !self.contains(at, b) || at == b {
            match self.node(at).parent {
                Some(up) => at = up,
                None => return NodeId::ROOT,
            }
        }
        at
    }

    /// Whether it is a child of a parallel state that runs beside its siblings.
    pub(crate) fn is_region(&self, id: NodeId) -> bool {
        let node = self.node(id);
        !node.is_history() && node.parent.is_some_and(|p| self.node(p).kind == NodeKind::Parallel)
    }

    /// The children that are states: history nodes left out.
    pub(crate) fn states(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        self.node(id).children.iter().map(|c| self.node(*c)).filter(|n| !n.is_history())
    }
}

impl Node {
    pub(crate) fn is_history(&self) -> bool {
        matches!(self.kind, NodeKind::History(_))
    }

    /// Whether it is drawn around others.
    pub(crate) fn is_composite(&self) -> bool {
        match self.kind {
            NodeKind::Compound | NodeKind::Parallel => !self.children.is_empty(),
            NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => false,
        }
    }

    /// `H` or `H*` for history nodes.
    pub(crate) fn history_mark(&self) -> Option<&'static str> {
        match self.kind {
            NodeKind::History(HistoryVariant::Shallow) => Some("H"),
            NodeKind::History(HistoryVariant::Deep) => Some("H*"),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => None,
        }
    }
}

fn node(id: NodeId, chart: &Chart) -> Node {
    let info = chart.node(id);
    let key = if id == NodeId::ROOT { one_line(chart.id()) } else { one_line(&info.key) };
    Node {
        id,
        title: label_of(&info.docs).unwrap_or_else(|| key.clone()),
        key,
        path: one_line(&info.path),
        kind: info.kind,
        parent: info.parent,
        children: info.children.clone(),
        initial: info.initial.clone(),
        initial_actions: info.initial_actions.iter().map(|a| one_line(a)).collect(),
        lines: lines(info),
        description: info.docs.description.as_deref().map(one_line),
        tags: info.docs.tags.iter().map(|t| one_line(t)).collect(),
        color: info.docs.color.as_deref().and_then(color),
        position: info.docs.position,
    }
}

fn lines(info: &NodeInfo) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |kind, text: String| lines.push(Line { kind, text });
    if !info.entry.is_empty() {
        add(LineKind::Entry, format!("entry / {}", joined(&info.entry)));
    }
    if !info.exit.is_empty() {
        add(LineKind::Exit, format!("exit / {}", joined(&info.exit)));
    }
    for (id, src) in &info.invokes {
        // An id the author did not choose is the state's own path: it says nothing beside the source.
        let named = !id.is_empty() && **id != *info.path && !id.starts_with(&format!("{}.", info.path));
        let text = if named { format!("invoke {} ({})", one_line(src), one_line(id)) } else { format!("invoke {}", one_line(src)) };
        add(LineKind::Invoke, text);
    }
    lines
}

fn edge(id: TransitionId, info: &TransitionInfo, targets: &[NodeId]) -> Edge {
    Edge {
        id,
        source: info.source,
        targets: targets.to_vec(),
        label: label(info),
        description: info.docs.description.as_deref().map(one_line),
        color: info.docs.color.as_deref().and_then(color),
    }
}

fn inner(id: TransitionId, info: &TransitionInfo) -> Line {
    Line { kind: LineKind::Inner(id), text: label(info).shown() }
}

fn label(info: &TransitionInfo) -> Label {
    Label {
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

/// Labels are one line: line breaks and control characters of the author's text become single spaces.
fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    spaced.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A colour every format understands: `#rgb`, `#rrggbb` or a plain name; anything else is not drawn.
fn color(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix('#') {
        let full = match hex.len() {
            3 => hex.chars().flat_map(|c| [c, c]).collect::<String>(),
            6 => hex.to_owned(),
            _ => return None,
        };
        return full.chars().all(|c| c.is_ascii_hexdigit()).then(|| format!("#{}", full.to_ascii_lowercase()));
    }
    named_color(&text.to_ascii_lowercase()).map(str::to_owned)
}

/// The names people use; the tools disagree about the longer lists, so each becomes its number.
fn named_color(name: &str) -> Option<&'static str> {
    const NAMES: &[(&str, &str)] = &[
        ("black", "#000000"),
        ("blue", "#0000ff"),
        ("brown", "#a52a2a"),
        ("coral", "#ff7f50"),
        ("crimson", "#dc143c"),
        ("cyan", "#00ffff"),
        ("gold", "#ffd700"),
        ("gray", "#808080"),
        ("green", "#008000"),
        ("grey", "#808080"),
        ("indigo", "#4b0082"),
        ("lightblue", "#add8e6"),
        ("lightgray", "#d3d3d3"),
        ("lightgreen", "#90ee90"),
        ("lightgrey", "#d3d3d3"),
        ("lime", "#00ff00"),
        ("magenta", "#ff00ff"),
        ("maroon", "#800000"),
        ("navy", "#000080"),
        ("olive", "#808000"),
        ("orange", "#ffa500"),
        ("orchid", "#da70d6"),
        ("pink", "#ffc0cb"),
        ("plum", "#dda0dd"),
        ("purple", "#800080"),
        ("red", "#ff0000"),
        ("salmon", "#fa8072"),
        ("silver", "#c0c0c0"),
        ("skyblue", "#87ceeb"),
        ("steelblue", "#4682b4"),
        ("tan", "#d2b48c"),
        ("teal", "#008080"),
        ("tomato", "#ff6347"),
        ("turquoise", "#40e0d0"),
        ("violet", "#ee82ee"),
        ("white", "#ffffff"),
        ("yellow", "#ffff00"),
    ];
    NAMES.iter().find(|(n, _)| *n == name).map(|(_, hex)| *hex)
}
