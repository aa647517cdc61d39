//! Mermaid `stateDiagram-v2`. Mermaid has no history and no lines inside a composite state: history becomes a state
//! named H or H*, and the lines of a composite become a note beside it.

use rawko_core::{NodeId, NodeKind};

use super::color::readable_on;
use super::names::names;
use super::picture::{Picture, PictureArrow, PictureNode};

pub(crate) fn write(picture: &Picture) -> String {
    let mut out = MermaidWriter { picture, names: names(picture), text: String::new() };
    out.line(0, "stateDiagram-v2");
    let root = picture.root();
    if picture.root_is_drawn() {
        out.composite(root, 1);
        out.note(root, 1);
    } else {
        out.inside(root, 1);
    }
    // Mermaid moves a state into the block that names it, but leaves it in place when the top level does.
    out.arrows(1, |a| local(picture, a).is_none());
    out.colors();
    out.text
}

struct MermaidWriter<'a> {
    picture: &'a Picture,
    names: Vec<String>,
    text: String,
}

impl<'a> MermaidWriter<'a> {
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

    /// Writes one level in reading order: names, start, transitions, ends, then nested states.
    fn inside(&mut self, parent: &'a PictureNode, depth: usize) {
        let picture = self.picture;
        let children: Vec<&PictureNode> = parent.children.iter().map(|c| picture.node(*c)).collect();
        for child in children.iter().filter(|c| !c.is_composite()) {
            self.simple(child, depth);
        }
        self.initials(parent, depth);
        self.arrows(depth, |a| local(picture, a) == Some(parent.id));
        for child in children.iter().filter(|c| c.kind == NodeKind::Final) {
            let name = self.name(child.id);
            self.line(depth, &format!("{name} --> [*]"));
        }
        for child in children.iter().filter(|c| c.is_composite()) {
            self.line(0, "");
            self.composite(child, depth);
            self.note(child, depth);
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
    }

    fn regions(&mut self, node: &'a PictureNode, depth: usize) {
        let picture = self.picture;
        for (i, region) in picture.states(node.id).enumerate() {
            if i > 0 {
                self.line(depth, "--");
            }
            if region.is_composite() {
                self.composite(region, depth);
                self.note(region, depth);
            } else {
                self.simple(region, depth);
            }
            if i == 0 {
                self.loose(node, depth);
            }
        }
    }

    /// The history nodes of a parallel state belong to no region; they are placed in the first.
    fn loose(&mut self, node: &'a PictureNode, depth: usize) {
        let picture = self.picture;
        for child in node.children.iter().map(|c| picture.node(*c)).filter(|c| c.is_history()) {
            self.simple(child, depth);
        }
    }

    fn head(&self, node: &PictureNode) -> String {
        let name = self.name(node.id);
        let mut title = escape(&node.title);
        if !self.takes_note(node) {
            node.lines.iter().for_each(|line| title.push_str(&format!(" · {}", escape(&line.text))));
        }
        if title == name { format!("state {name}") } else { format!("state \"{title}\" as {name}") }
    }

    /// Mermaid accepts a note at a nested parallel state, but then fails to draw it: there the title contains the note.
    fn takes_note(&self, node: &PictureNode) -> bool {
        let mut outer = node.parent;
        while let Some(parent) = outer.filter(|_| node.kind == NodeKind::Parallel) {
            if self.picture.node(parent).kind == NodeKind::Parallel {
                return false;
            }
            outer = self.picture.node(parent).parent;
        }
        true
    }

    /// A state that an arrow names at its own level needs no line of its own.
    fn simple(&mut self, node: &PictureNode, depth: usize) {
        let name = self.name(node.id);
        let title = node.history_mark().map_or_else(|| escape(&node.title), str::to_owned);
        if title != name || !node.lines.is_empty() || !self.named(node) {
            self.line(depth, &format!("state \"{title}\" as {name}"));
        }
        self.lines(node, depth);
    }

    fn named(&self, node: &PictureNode) -> bool {
        let picture = self.picture;
        let Some(parent) = node.parent.map(|p| picture.node(p)) else { return false };
        let by_arrow =
            |a: PictureArrow| (a.from == node.id || a.to == node.id) && local(picture, &a).is_some();
        parent.kind != NodeKind::Parallel
            && (node.kind == NodeKind::Final
                || parent.initial.contains(&node.id)
                || picture.arrows().any(by_arrow))
    }

    fn lines(&mut self, node: &PictureNode, depth: usize) {
        let name = self.name(node.id);
        for line in &node.lines {
            self.line(depth, &format!("{name} : {}", escape(&line.text)));
        }
    }

    /// Writes the initial states; a start deep inside is shown at the child that contains it.
    fn initials(&mut self, node: &PictureNode, depth: usize) {
        let picture = self.picture;
        let label = node.initial_label().map_or_else(String::new, |l| format!(" : {}", escape(&l)));
        for target in &node.initial {
            let child = node.children.iter().find(|c| picture.contains(**c, *target)).unwrap_or(target);
            let name = self.name(*child);
            self.line(depth, &format!("[*] --> {name}{label}"));
        }
    }

    fn arrows(&mut self, depth: usize, wanted: impl Fn(&PictureArrow) -> bool) {
        let picture = self.picture;
        for arrow in picture.arrows().filter(|a| wanted(a)) {
            let (from, to) = (self.name(arrow.from), self.name(arrow.to));
            let label = arrow.label.map_or_else(String::new, |l| format!(" : {}", escape(&l)));
            self.line(depth, &format!("{from} --> {to}{label}"));
        }
    }

    fn note(&mut self, node: &PictureNode, depth: usize) {
        if node.lines.is_empty() || !self.takes_note(node) {
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

/// Returns the state whose block contains an arrow: the parent of both its ends. A parallel state has no place between
/// its regions.
fn local(picture: &Picture, arrow: &PictureArrow<'_>) -> Option<NodeId> {
    let parent = picture.node(arrow.from).parent?;
    let both = picture.node(arrow.to).parent == Some(parent);
    (both && picture.node(parent).kind != NodeKind::Parallel).then_some(parent)
}

/// Escapes text with Mermaid's own entity codes (`#58;`) where its lexer or its HTML labels would interpret it.
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

/// Returns true if the underscore at `at` is between letters or digits: elsewhere it is emphasis.
fn inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + 1..].chars().next();
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

/// `direction LR` is an instruction anywhere in a line, and `end note` ends a note.
fn keyword_at(lower: &str, at: usize) -> bool {
    let rest = &lower[at..];
    let direction = rest.strip_prefix("direction").map(str::trim_start);
    direction.is_some_and(|d| ["tb", "bt", "rl", "lr"].iter().any(|w| d.starts_with(w)))
        || rest.starts_with("end note")
}
