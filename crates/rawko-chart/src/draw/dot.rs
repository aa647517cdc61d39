//! Graphviz DOT: composite states are clusters, `compound=true` lets transitions end at their borders. A cluster is not
//! a node, so a transition from or to one is attached to a node inside and clipped at the border.

use rawko_core::{NodeId, NodeKind};

use super::color::readable_on;
use super::names::names;
use super::picture::{Picture, PictureArrow, PictureNode};

pub(crate) fn write(picture: &Picture) -> String {
    let mut out = DotWriter { picture, names: names(picture), text: String::new() };
    out.line(0, &format!("digraph \"{}\" {{", quote(&picture.id)));
    out.line(1, "compound=true; rankdir=TB; nodesep=0.4; ranksep=0.5; fontname=\"Helvetica\"; fontsize=12;");
    out.line(
        1,
        "node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=12];",
    );
    out.line(1, "edge [fontname=\"Helvetica\", fontsize=10, arrowsize=0.7];");
    let root = picture.root();
    if picture.root_is_drawn() {
        out.cluster(root, 1);
    } else {
        out.inside(root, 1);
    }
    for arrow in picture.arrows() {
        out.arrow(&arrow);
    }
    out.line(0, "}");
    out.text
}

struct DotWriter<'a> {
    picture: &'a Picture,
    names: Vec<String>,
    text: String,
}

impl<'a> DotWriter<'a> {
    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn name(&self, id: NodeId) -> &str {
        &self.names[id.index()]
    }

    fn inside(&mut self, parent: &'a PictureNode, depth: usize) {
        if !parent.initial.is_empty() {
            let dot = format!(
                "\"{}.initial\" [shape=circle, style=filled, fillcolor=black, label=\"\", width=0.13];",
                self.name(parent.id)
            );
            self.line(depth, &dot);
        }
        let picture = self.picture;
        for child in parent.children.iter().map(|c| picture.node(*c)) {
            if child.is_composite() {
                self.cluster(child, depth);
            } else {
                let node = self.node(child);
                self.line(depth, &node);
            }
        }
        for target in &parent.initial {
            self.initial(parent, *target, depth);
        }
    }

    fn cluster(&mut self, node: &'a PictureNode, depth: usize) {
        let name = self.name(node.id).to_owned();
        self.line(depth, &format!("subgraph \"cluster_{name}\" {{"));
        let style = if self.picture.is_region(node.id) { "rounded,dashed" } else { "rounded" };
        let color = node.color.as_deref().unwrap_or("#666666");
        self.line(depth + 1, &format!("label={}; style=\"{style}\"; color=\"{color}\";", table(node, "")));
        self.inside(node, depth + 1);
        if self.anchor(node.id).name == format!("{name}.anchor") {
            self.line(depth + 1, &format!("\"{name}.anchor\" [shape=point, style=invis];"));
        }
        if self
            .picture
            .edges
            .iter()
            .any(|e| e.source == node.id && e.targets.iter().any(|t| self.picture.contains(node.id, *t)))
        {
            self.line(depth + 1, &format!("\"{name}.self\" [shape=point, width=0.06];"));
        }
        self.line(depth, "}");
    }

    fn node(&self, node: &PictureNode) -> String {
        let name = self.name(node.id);
        if let Some(mark) = node.history_mark() {
            return format!(
                "\"{name}\" [shape=circle, width=0.3, fixedsize=true, label=\"{mark}\", fontsize=10];"
            );
        }
        let mut attributes = format!("label={}", table(node, node.color.as_deref().map_or("", readable_on)));
        if let Some(color) = &node.color {
            attributes.push_str(&format!(", fillcolor=\"{color}\""));
        }
        if node.kind == NodeKind::Final {
            attributes.push_str(", peripheries=2");
        }
        format!("\"{name}\" [{attributes}];")
    }

    fn initial(&mut self, parent: &PictureNode, target: NodeId, depth: usize) {
        let from = format!("{}.initial", self.name(parent.id));
        let mut attributes = Vec::new();
        if let Some(label) = parent.initial_label() {
            attributes.push(format!("label=\"{}\"", quote(&label)));
        }
        if self.picture.node(target).is_composite() {
            attributes.push(format!("lhead=\"cluster_{}\"", self.name(target)));
        }
        let to = self.anchor(target).name;
        self.line(depth, &format!("\"{from}\" -> \"{to}\" [{}];", attributes.join(", ")));
    }

    fn arrow(&mut self, arrow: &PictureArrow<'_>) {
        let picture = self.picture;
        let (source, target) = (picture.node(arrow.from), picture.node(arrow.to));
        // From a cluster to a node inside there is no border to leave: the arrow starts at a separate point.
        let inward = source.is_composite() && picture.contains(source.id, target.id);
        let own = Anchor { name: format!("{}.self", self.name(source.id)), inside: source.id };
        let from = if inward { own.clone() } else { self.tail(source.id) };
        let to = if inward && source.id == target.id { own } else { self.anchor(target.id) };
        let mut attributes = label_of(arrow);
        // A cluster's border clips the arrow only if the other end is outside: otherwise Graphviz warns.
        let back = target.id < source.id && !picture.contains(target.id, source.id);
        let (at_source, at_target) = if back { ("lhead", "ltail") } else { ("ltail", "lhead") };
        if source.is_composite() && !picture.contains(source.id, to.inside) {
            attributes.push(format!("{at_source}=\"cluster_{}\"", self.name(source.id)));
        }
        if target.is_composite() && !picture.contains(target.id, from.inside) {
            attributes.push(format!("{at_target}=\"cluster_{}\"", self.name(target.id)));
        }
        // A back edge is written in reverse, so that it does not pull its target below.
        let (first, second) = if back { (to, from) } else { (from, to) };
        if back {
            attributes.push("dir=back".to_owned());
        }
        self.line(1, &format!("\"{}\" -> \"{}\" [{}];", first.name, second.name, attributes.join(", ")));
    }

    /// Returns the node where an arrow leaves a cluster: one that is likely at its bottom, so that the successor comes
    /// below.
    fn tail(&self, id: NodeId) -> Anchor {
        let inside: Vec<NodeId> = self.picture.states(id).map(|s| s.id).collect();
        let last = match self.picture.node(id).kind {
            NodeKind::Parallel => inside.get(inside.len() / 2),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Final | NodeKind::History(_) => inside.last(),
        };
        last.map_or_else(|| self.anchor(id), |last| self.tail(*last))
    }

    /// Returns the node where an arrow enters: the state itself, or a cluster's initial dot, or its first region's.
    fn anchor(&self, id: NodeId) -> Anchor {
        let node = self.picture.node(id);
        if !node.is_composite() {
            return Anchor { name: self.name(id).to_owned(), inside: id };
        }
        if !node.initial.is_empty() {
            return Anchor { name: format!("{}.initial", self.name(id)), inside: id };
        }
        match self.picture.states(id).next() {
            Some(region) => self.anchor(region.id),
            None => Anchor { name: format!("{}.anchor", self.name(id)), inside: id },
        }
    }
}

/// A Graphviz node that represents a state, and the innermost state that contains it.
#[derive(Clone, Debug)]
struct Anchor {
    name: String,
    inside: NodeId,
}

fn label_of(arrow: &PictureArrow<'_>) -> Vec<String> {
    let mut attributes: Vec<String> = arrow.label.iter().map(|l| format!("label=\"{}\"", quote(l))).collect();
    match arrow.edge {
        Some(edge) => attributes.extend(edge.color.iter().map(|c| format!("color=\"{c}\""))),
        None => attributes.push("style=dashed".to_owned()),
    }
    attributes
}

/// Formats title and lines as an HTML-like label, with a rule between them.
fn table(node: &PictureNode, color: &str) -> String {
    let (open, close) =
        if color.is_empty() { (String::new(), "") } else { (format!("<font color=\"{color}\">"), "</font>") };
    let title = format!("{open}<b>{}</b>{close}", markup(&node.title));
    if node.lines.is_empty() {
        return format!("<{title}>");
    }
    let lines: Vec<String> = node
        .lines
        .iter()
        .map(|l| {
            format!("{open}<font point-size=\"10\">{}</font>{close}<br align=\"left\"/>", markup(&l.text))
        })
        .collect();
    let rows = format!("<tr><td>{title}</td></tr><hr/><tr><td balign=\"left\">{}</td></tr>", lines.join(""));
    format!("<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"3\">{rows}</table>>")
}

fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Graphviz interprets backslash escapes even here.
            '\\' => out.push_str("&#92;"),
            _ => out.push(c),
        }
    }
    if out.is_empty() { " ".to_owned() } else { out }
}

/// Escapes a quoted string: backslashes are escapes, and `&` would start an entity.
fn quote(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}
