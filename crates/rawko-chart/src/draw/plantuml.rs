//! PlantUML state diagrams: real history (`[H]`, `[H*]`), regions between `--`, lines inside states as descriptions.
//! Text is written so that PlantUML's wiki markup and preprocessor leave it alone.

use rawko_core::{NodeId, NodeKind};

use super::names::names;
use super::picture::{Edge, Node, Picture};

pub(crate) fn write(picture: &Picture) -> String {
    let mut out = Writer { picture, names: names(picture), text: String::new() };
    out.line(0, "@startuml");
    out.line(0, "hide empty description");
    let root = picture.root();
    if picture.root_is_drawn() {
        out.composite(root, 0);
    } else {
        out.inside(root, 0);
    }
    out.edges();
    out.line(0, "@enduml");
    out.text
}

struct Writer<'a> {
    picture: &'a Picture,
    names: Vec<String>,
    text: String,
}

impl<'a> Writer<'a> {
    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn inside(&mut self, parent: &'a Node, depth: usize) {
        for target in &parent.initial {
            self.initial(parent, *target, depth);
        }
        let picture = self.picture;
        for child in parent.children.iter().map(|c| picture.node(*c)) {
            self.node(child, depth);
        }
    }

    fn node(&mut self, node: &'a Node, depth: usize) {
        if node.is_history() {
            return self.history(node, depth);
        }
        if node.is_composite() {
            return self.composite(node, depth);
        }
        let head = self.head(node);
        self.line(depth, &head);
        self.lines(node, depth);
        if node.kind == NodeKind::Final {
            let name = &self.names[node.id.index()];
            let line = format!("{name} --> [*]");
            self.line(depth, &line);
        }
    }

    fn composite(&mut self, node: &'a Node, depth: usize) {
        let head = self.head(node);
        self.line(depth, &format!("{head} {{"));
        match node.kind {
            NodeKind::Parallel => self.regions(node, depth + 1),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Final | NodeKind::History(_) => self.inside(node, depth + 1),
        }
        self.line(depth, "}");
        self.lines(node, depth);
    }

    fn regions(&mut self, node: &'a Node, depth: usize) {
        let picture = self.picture;
        for (i, region) in picture.regions(node.id).enumerate() {
            if i > 0 {
                self.line(depth, "--");
            }
            self.node(region, depth);
            if i == 0 {
                for child in node.children.iter().map(|c| picture.node(*c)).filter(|c| c.is_history()) {
                    self.history(child, depth);
                }
            }
        }
    }

    fn head(&self, node: &Node) -> String {
        let color = node.color.as_ref().map_or_else(String::new, |c| format!(" {c}"));
        format!("state \"{}\" as {}{color}", escape(&node.title), self.names[node.id.index()])
    }

    fn lines(&mut self, node: &Node, depth: usize) {
        for line in &node.lines {
            let name = &self.names[node.id.index()];
            let line = format!("{name} : {}", escape(&line.text));
            self.line(depth, &line);
        }
    }

    fn initial(&mut self, parent: &Node, target: NodeId, depth: usize) {
        let actions = parent.initial_actions.join(", ");
        let label = if actions.is_empty() { String::new() } else { format!(" : {}", escape(&format!("/ {actions}"))) };
        let target = self.reference(target, Some(parent.id));
        self.line(depth, &format!("[*] --> {target}{label}"));
    }

    /// A history node has no name of its own in PlantUML; a mention inside its parent makes it appear.
    fn history(&mut self, node: &Node, depth: usize) {
        let mark = self.reference(node.id, node.parent);
        for target in &node.initial {
            let target = self.reference(*target, node.parent);
            self.line(depth, &format!("{mark} --> {target}"));
        }
    }

    fn edges(&mut self) {
        let picture = self.picture;
        for edge in &picture.edges {
            for target in &edge.targets {
                self.edge(edge, *target);
            }
        }
    }

    fn edge(&mut self, edge: &Edge, target: NodeId) {
        let color = edge.color.as_ref().map_or_else(|| "-->".to_owned(), |c| format!("-[{c}]->"));
        let (from, to) = (self.reference(edge.source, None), self.reference(target, None));
        self.line(0, &format!("{from} {color} {to} : {}", escape(&edge.label.shown())));
    }

    /// How a state node is named from inside `scope` (`None`: from the top).
    fn reference(&self, id: NodeId, scope: Option<NodeId>) -> String {
        let node = self.picture.node(id);
        match (node.history_mark(), node.parent) {
            (None, _) | (_, None) => self.names[id.index()].clone(),
            (Some(mark), parent) if parent == scope => format!("[{mark}]"),
            (Some(mark), Some(NodeId::ROOT)) if !self.picture.root_is_drawn() => format!("[{mark}]"),
            (Some(mark), Some(parent)) => format!("{}[{mark}]", self.names[parent.index()]),
        }
    }
}

/// Characters that PlantUML reads as markup, escapes, comments or preprocessor calls become their code point.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' | '<' | '>' | '~' | '%' | '$' | '!' | '\'' | '`' | '|' | '@' | '#' | '^' | '&' | '{' | '}' => {
                out.push_str(&format!("<U+{:04X}>", c as u32));
            }
            // Doubled, these are markup: bold, italics, underline, strike, headings, links.
            '*' | '/' | '_' | '-' | '=' | '[' | ']' | '.' | ':' | ';' if out.ends_with(c) => {
                out.push_str(&format!("<U+{:04X}>", c as u32));
            }
            _ => out.push(c),
        }
    }
    out
}
