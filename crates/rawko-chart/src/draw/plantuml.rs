//! PlantUML state diagrams: native history (`[H]`, `[H*]`), regions between `--`, lines inside states as descriptions.
//! Text is escaped against PlantUML's wiki markup and preprocessor.

use rawko_core::{NodeId, NodeKind};

use super::names::names;
use super::picture::{Picture, PictureNode};

pub(crate) fn write(picture: &Picture) -> String {
    let mut out = PlantumlWriter { picture, names: names(picture), text: String::new() };
    out.line(0, "@startuml");
    out.line(0, "hide empty description");
    let root = picture.root();
    if picture.root_is_drawn() {
        out.composite(root, 0);
    } else {
        out.inside(root, 0);
    }
    out.arrows();
    out.line(0, "@enduml");
    out.text
}

struct PlantumlWriter<'a> {
    picture: &'a Picture,
    names: Vec<String>,
    text: String,
}

impl<'a> PlantumlWriter<'a> {
    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn inside(&mut self, parent: &'a PictureNode, depth: usize) {
        let picture = self.picture;
        let child = |id: &NodeId| picture.node(*id).parent == Some(parent.id);
        // PlantUML places a state where it is first mentioned: a nested one is named after its block.
        for target in parent.initial.iter().filter(|t| child(t)) {
            self.initial(parent, *target, depth);
        }
        for child in parent.children.iter().map(|c| picture.node(*c)) {
            self.node(child, depth);
        }
        for target in parent.initial.iter().filter(|t| !child(t)) {
            self.initial(parent, *target, depth);
        }
    }

    fn node(&mut self, node: &'a PictureNode, depth: usize) {
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

    fn composite(&mut self, node: &'a PictureNode, depth: usize) {
        let head = self.head(node);
        self.line(depth, &format!("{head} {{"));
        match node.kind {
            NodeKind::Parallel => self.regions(node, depth + 1),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Final | NodeKind::History(_) => {
                self.inside(node, depth + 1)
            }
        }
        self.line(depth, "}");
        self.lines(node, depth);
    }

    fn regions(&mut self, node: &'a PictureNode, depth: usize) {
        let picture = self.picture;
        let apart = separable(picture, node);
        for (i, region) in picture.states(node.id).enumerate() {
            if i > 0 && apart {
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

    fn head(&self, node: &PictureNode) -> String {
        let mut head = format!("state \"{}\" as {}", escape(&node.title), self.names[node.id.index()]);
        if let Some(color) = &node.color {
            head.push_str(&format!(" {color}"));
        }
        let parent = node.parent.map(|p| self.picture.node(p));
        if parent.is_some_and(|p| p.kind == NodeKind::Parallel && !separable(self.picture, p)) {
            head.push_str(" ##[dashed]");
        }
        head
    }

    fn lines(&mut self, node: &PictureNode, depth: usize) {
        for line in &node.lines {
            let name = &self.names[node.id.index()];
            let line = format!("{name} : {}", escape(&line.text));
            self.line(depth, &line);
        }
    }

    fn initial(&mut self, node: &PictureNode, target: NodeId, depth: usize) {
        let label = node.initial_label().map_or_else(String::new, |l| format!(" : {}", escape(&l)));
        let target = self.reference(target, Some(node.id));
        self.line(depth, &format!("[*] --> {target}{label}"));
    }

    /// `[H]` has no name and appears where it is mentioned; every other history node is a state.
    fn history(&mut self, node: &PictureNode, depth: usize) {
        if let (Some(mark), false) = (node.history_mark(), self.built_in(node)) {
            let variant = mark.replace('H', "history");
            let line = format!("state \"{mark}\" as {} <<{variant}>>", self.names[node.id.index()]);
            self.line(depth, &line);
        }
    }

    fn arrows(&mut self) {
        let picture = self.picture;
        for arrow in picture.arrows() {
            let color = arrow.edge.and_then(|e| e.color.as_ref());
            let line = color.map_or_else(|| "-->".to_owned(), |c| format!("-[{c}]->"));
            let (from, to) = (self.reference(arrow.from, None), self.reference(arrow.to, None));
            let label = arrow.label.map_or_else(String::new, |l| format!(" : {}", escape(&l)));
            self.line(0, &format!("{from} {line} {to}{label}"));
        }
    }

    /// Returns true if `[H]` can represent it: PlantUML has one in each composite state, and Debian's version no
    /// `[H*]`.
    fn built_in(&self, node: &PictureNode) -> bool {
        let Some(parent) = node.parent.map(|p| self.picture.node(p)) else { return false };
        let first = parent.children.iter().find(|c| self.picture.node(**c).history_mark() == Some("H"));
        parent.kind != NodeKind::Parallel && first == Some(&node.id)
    }

    /// Returns the name of a state node inside `scope` (`None` is the top level).
    fn reference(&self, id: NodeId, scope: Option<NodeId>) -> String {
        let node = self.picture.node(id);
        let Some(parent) = node.parent.filter(|_| self.built_in(node)) else {
            return self.names[id.index()].clone();
        };
        let top = parent == NodeId::ROOT && !self.picture.root_is_drawn();
        if scope == Some(parent) || top {
            "[H]".to_owned()
        } else {
            format!("{}[H]", self.names[parent.index()])
        }
    }
}

/// PlantUML rejects arrows that cross or touch the border of a `--` region, and has no place for a history node between
/// regions; such regions are drawn as dashed states instead.
fn separable(picture: &Picture, parallel: &PictureNode) -> bool {
    if parallel.children.iter().any(|c| picture.node(*c).is_history()) {
        return false;
    }
    let region_of =
        |id: NodeId| picture.states(parallel.id).find(|r| picture.contains(r.id, id)).map(|r| r.id);
    let inside = |id: NodeId| region_of(id) != Some(id);
    picture.arrows().all(|a| region_of(a.from) == region_of(a.to) && inside(a.from) && inside(a.to))
}

/// Escapes characters that PlantUML reads as markup, escapes, comments or preprocessor calls.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' | '<' | '>' | '~' | '%' | '$' | '!' | '\'' | '`' | '|' | '@' | '#' | '^' | '&'
            | '{' | '}' => {
                out.push_str(&format!("<U+{:04X}>", c as u32));
            }
            // Doubled, these are markup: bold, italics, underline, strike, headings, links.
            '*' | '/' | '_' | '-' | '=' | '[' | ']' | '.' | ':' | ';' if out.ends_with(c) => {
                out.push_str(&format!("<U+{:04X}>", c as u32));
            }
            // At the start, these are lists, headings and rules.
            '*' | '-' | '=' | '.' | '_' | ';' | ':' if out.is_empty() => {
                out.push_str(&format!("<U+{:04X}>", c as u32));
            }
            _ => out.push(c),
        }
    }
    out
}
