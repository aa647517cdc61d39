//! Mermaid `stateDiagram-v2`. Mermaid has no history and no lines inside a composite state: history becomes a state
//! called H or H*, and what stands inside a composite becomes a note beside it.

use rawko_core::{NodeId, NodeKind};

use super::color::readable_on;
use super::names::names;
use super::picture::{Edge, Node, Picture};

pub(crate) fn write(picture: &Picture) -> String {
    let mut out = Writer { picture, names: names(picture), text: String::new() };
    out.line(0, "stateDiagram-v2");
    let root = picture.root();
    if picture.root_is_drawn() {
        out.composite(root, 1);
        out.edges(None, 1);
        out.note(root, 1);
    } else {
        out.inside(root, 1);
    }
    out.colors();
    out.text
}

struct Writer<'a> {
    picture: &'a Picture,
    names: Vec<String>,
    text: String,
}

impl<'a> Writer<'a> {
    fn line(&mut self, depth: usize, line: &str) {
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(depth));
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn name(&self, id: NodeId) -> String {
        self.names[id.index()].clone()
    }

    /// Everything at one level, in the order people read it: names, start, transitions, ends, then what is nested.
    fn inside(&mut self, parent: &'a Node, depth: usize) {
        let picture = self.picture;
        let children: Vec<&Node> = parent.children.iter().map(|c| picture.node(*c)).collect();
        for child in children.iter().filter(|c| !c.is_composite()) {
            self.simple(child, depth);
        }
        for target in &parent.initial {
            self.initial(parent, *target, depth);
        }
        // Edges that cross a border come after the blocks: mermaid puts a state where it sees it first.
        self.edges_where(depth, |e, t| local(picture, parent, e, t));
        for child in &children {
            self.after(child, depth);
        }
        for child in children.iter().filter(|c| c.is_composite()) {
            self.line(0, "");
            self.composite(child, depth);
            self.note(child, depth);
        }
        self.edges(Some(parent.id), depth);
    }

    fn composite(&mut self, node: &'a Node, depth: usize) {
        let head = self.head(node);
        self.line(depth, &format!("{head} {{"));
        match node.kind {
            NodeKind::Parallel => self.regions(node, depth + 1),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Final | NodeKind::History(_) => self.inside(node, depth + 1),
        }
        self.line(depth, "}");
    }

    fn regions(&mut self, node: &'a Node, depth: usize) {
        let picture = self.picture;
        for (i, region) in picture.states(node.id).enumerate() {
            if i > 0 {
                self.line(depth, "--");
            }
            if region.is_composite() {
                self.composite(region, depth);
                self.note(region, depth);
            } else {
                let head = self.head(region);
                self.line(depth, &head);
                self.lines(region, depth);
            }
            if i == 0 {
                self.loose(node, depth);
            }
        }
    }

    /// The history nodes of a parallel state belong to no region; they stand in the first.
    fn loose(&mut self, node: &'a Node, depth: usize) {
        let picture = self.picture;
        for child in node.children.iter().map(|c| picture.node(*c)).filter(|c| c.is_history()) {
            self.simple(child, depth);
        }
    }

    fn head(&self, node: &Node) -> String {
        let name = self.name(node.id);
        let title = node.history_mark().map_or_else(|| escape(&node.title), str::to_owned);
        if title == name { format!("state {name}") } else { format!("state \"{title}\" as {name}") }
    }

    /// A state that is just named in a transition needs no line of its own.
    fn simple(&mut self, node: &Node, depth: usize) {
        let head = self.head(node);
        let plain = !head.contains('"');
        let named = self.picture.edges.iter().any(|e| e.source == node.id || e.targets.contains(&node.id));
        if !plain {
            self.line(depth, &head);
        } else if !node.lines.is_empty() {
            let (name, title) = (self.name(node.id), escape(&node.title));
            self.line(depth, &format!("state \"{title}\" as {name}"));
        } else if !named {
            self.line(depth, &head);
        }
        self.lines(node, depth);
    }

    fn lines(&mut self, node: &Node, depth: usize) {
        let name = self.name(node.id);
        for line in &node.lines {
            self.line(depth, &format!("{name} : {}", escape(&line.text)));
        }
    }

    fn initial(&mut self, parent: &Node, target: NodeId, depth: usize) {
        let actions = parent.initial_actions.join(", ");
        let label = if actions.is_empty() { String::new() } else { format!(" : {}", escape(&format!("/ {actions}"))) };
        let name = self.name(target);
        self.line(depth, &format!("[*] --> {name}{label}"));
    }

    /// What follows from the state's kind: a final state ends, a history node has its default.
    fn after(&mut self, node: &Node, depth: usize) {
        let name = self.name(node.id);
        match node.kind {
            NodeKind::Final => self.line(depth, &format!("{name} --> [*]")),
            NodeKind::History(_) => {
                for target in &node.initial {
                    let target = self.name(*target);
                    self.line(depth, &format!("{name} --> {target}"));
                }
            }
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel => {}
        }
    }

    /// Transitions at the level of `parent` that are not local to it; `None` is outside the root.
    fn edges(&mut self, parent: Option<NodeId>, depth: usize) {
        let picture = self.picture;
        self.edges_where(depth, |e, t| {
            level(picture, e.source, t) == parent && !parent.is_some_and(|p| local(picture, picture.node(p), e, t))
        });
    }

    fn edges_where(&mut self, depth: usize, wanted: impl Fn(&Edge, NodeId) -> bool) {
        let picture = self.picture;
        for edge in &picture.edges {
            for target in edge.targets.iter().filter(|t| wanted(edge, **t)) {
                let (from, to) = (self.name(edge.source), self.name(*target));
                self.line(depth, &format!("{from} --> {to} : {}", escape(&edge.label.shown())));
            }
        }
    }

    fn note(&mut self, node: &Node, depth: usize) {
        if node.lines.is_empty() {
            return;
        }
        let name = self.name(node.id);
        self.line(depth, &format!("note right of {name}"));
        for line in &node.lines {
            self.line(depth + 1, &escape(&line.text));
        }
        self.line(depth, "end note");
    }

    fn colors(&mut self) {
        let picture = self.picture;
        for node in picture.nodes.iter().filter(|n| n.id != NodeId::ROOT || picture.root_is_drawn()) {
            let Some(color) = &node.color else { continue };
            let name = self.name(node.id);
            let style = if node.is_composite() {
                format!("stroke:{color},stroke-width:2px")
            } else {
                format!("fill:{color},stroke:{color},color:{}", readable_on(color))
            };
            self.line(1, &format!("classDef color_{name} {style}"));
            self.line(1, &format!("class {name} color_{name}"));
        }
    }
}

/// Whether a transition runs between two children of `parent`.
fn local(picture: &Picture, parent: &Node, edge: &Edge, target: NodeId) -> bool {
    let child = |id: NodeId| picture.node(id).parent == Some(parent.id);
    child(edge.source) && child(target)
}

/// The level a transition is written at: mermaid refuses a composite state that is named inside itself, and a parallel
/// state has no place between its regions. `None` is outside the root.
fn level(picture: &Picture, source: NodeId, target: NodeId) -> Option<NodeId> {
    if source == NodeId::ROOT || target == NodeId::ROOT {
        return None;
    }
    let mut at = Some(picture.common(source, target));
    while let Some(id) = at.filter(|id| picture.node(*id).kind == NodeKind::Parallel) {
        at = picture.node(id).parent;
    }
    at
}

/// Mermaid's own entity codes (`#58;`) for whatever its lexer or its HTML labels would take for something else.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let lower = text.to_ascii_lowercase();
    for (at, c) in text.char_indices() {
        match c {
            ':' | ';' | '#' | '%' | '\\' | '{' | '}' | '`' => out.push_str(&format!("#{};", c as u32)),
            // Markdown and math in labels.
            '*' | '$' | '~' => out.push_str(&format!("#{};", c as u32)),
            '_' if !inside_word(text, at) => out.push_str("#95;"),
            '"' => out.push_str("#quot;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '[' if text[at..].starts_with("[[") => out.push_str("#91;"),
            _ if keyword_at(&lower, at) => out.push_str(&format!("#{};", c as u32)),
            _ => out.push(c),
        }
    }
    out
}

/// Whether the underscore at `at` stands between letters or digits: elsewhere it is emphasis.
fn inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + 1..].chars().next();
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

/// `direction LR` is an instruction wherever it stands in a line, and `end note` ends a note.
fn keyword_at(lower: &str, at: usize) -> bool {
    let rest = &lower[at..];
    let direction = rest.strip_prefix("direction").map(str::trim_start);
    direction.is_some_and(|d| ["tb", "bt", "rl", "lr"].iter().any(|w| d.starts_with(w))) || rest.starts_with("end note")
}
