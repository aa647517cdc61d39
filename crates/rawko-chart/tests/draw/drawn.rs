//! Parses an SVG drawing: the positions of states, arrows and labels, and their problems.

use rawko_core::{Chart, NodeId, NodeKind};
use roxmltree::{Document, Node};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) path: String,
    pub(crate) rect: Rect,
    group: bool,
    region: bool,
}

#[derive(Debug)]
struct Arrow {
    source: String,
    target: String,
    first: (f64, f64),
    tip: (f64, f64),
    transition: String,
    route: Vec<(f64, f64)>,
}

#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) states: Vec<State>,
    arrows: Vec<Arrow>,
    /// The transition and its label's box.
    labels: Vec<(String, Rect)>,
    /// All mentioned transitions.
    transitions: Vec<u32>,
    view: Rect,
    points: Vec<(f64, f64)>,
}

impl Drawn {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let document = Document::parse(text).map_err(|e| e.to_string())?;
        let root = document.root_element();
        if root.attribute("role") != Some("img") || !root.children().any(|c| c.has_tag_name("title")) {
            return Err("no role or title".into());
        }
        let view: Vec<f64> =
            root.attribute("viewBox").unwrap().split(' ').map(|v| v.parse().unwrap()).collect();
        let mut drawn = Drawn {
            states: Vec::new(),
            arrows: Vec::new(),
            labels: Vec::new(),
            transitions: Vec::new(),
            view: Rect { x: view[0], y: view[1], w: view[2], h: view[3] },
            points: Vec::new(),
        };
        for node in root.descendants().filter(Node::is_element) {
            drawn.take(node);
        }
        Ok(drawn)
    }

    fn take(&mut self, node: Node<'_, '_>) {
        let classes = node.attribute("class").unwrap_or("");
        let is = |class: &str| classes.split(' ').any(|c| c == class);
        if let Some(rect) = rect(node) {
            self.points.extend([(rect.x, rect.y), (rect.x + rect.w, rect.y + rect.h)]);
        }
        if let Some(path) = node.attribute("d") {
            self.points.extend(points(path));
        }
        if let Some(id) = node.attribute("data-transition") {
            self.transitions.push(id.parse().unwrap());
        }
        if is("state") {
            let boxes: Vec<Rect> = node.children().filter_map(rect).collect();
            if let Some(rect) = boxes.iter().copied().reduce(join) {
                let path = node.attribute("data-node").unwrap().to_owned();
                self.states.push(State { path, rect, group: is("group"), region: is("region") });
            }
        }
        if is("route") {
            self.arrow(node);
        }
        if is("pill") {
            let of = node.ancestors().find_map(|a| a.attribute("data-transition")).unwrap_or("").to_owned();
            self.labels.push((of, rect(node).unwrap()));
        }
    }

    fn arrow(&mut self, route: Node<'_, '_>) {
        let group = route.parent().unwrap();
        let Some(source) = group.attribute("data-source") else { return };
        let head = group.children().find(|c| c.attribute("class") == Some("head")).unwrap();
        self.arrows.push(Arrow {
            source: source.to_owned(),
            target: group.attribute("data-target").unwrap().to_owned(),
            first: points(route.attribute("d").unwrap())[0],
            tip: points(head.attribute("d").unwrap())[0],
            transition: group.attribute("data-transition").unwrap().to_owned(),
            route: points(route.attribute("d").unwrap()),
        });
    }

    pub(crate) fn problems(&self, chart: &Chart) -> Vec<String> {
        let mut out = Vec::new();
        self.missing(chart, &mut out);
        self.outside(&mut out);
        self.nesting(chart, &mut out);
        self.labels_apart(&mut out);
        self.arrows_end_at_borders(&mut out);
        self.labels_on_their_arrows(&mut out);
        self.arrows_pass_no_state(chart, &mut out);
        out
    }

    fn missing(&self, chart: &Chart, out: &mut Vec<String>) {
        for id in chart.node_ids().filter(|id| *id != NodeId::ROOT) {
            let path = &*chart.node(id).path;
            if self.states.iter().filter(|s| s.path == path).count() != 1 {
                out.push(format!("state `{path}` is not drawn once"));
            }
        }
        for id in chart.transition_ids() {
            if !self.transitions.contains(&id.0) {
                out.push(format!("transition {} `{}` is not drawn", id.0, chart.transition(id).label));
            }
        }
    }

    fn outside(&self, out: &mut Vec<String>) {
        let view = self.view;
        for (x, y) in &self.points {
            if *x < 0.0 || *y < 0.0 || *x > view.w || *y > view.h {
                out.push(format!("({x}, {y}) is outside the picture"));
            }
        }
    }

    /// Checks that children are inside their parents and siblings apart.
    fn nesting(&self, chart: &Chart, out: &mut Vec<String>) {
        let of = |id: NodeId| self.states.iter().find(|s| s.path == *chart.node(id).path);
        for id in chart.node_ids() {
            let children: Vec<&State> = chart.node(id).children.iter().filter_map(|c| of(*c)).collect();
            for (i, child) in children.iter().enumerate() {
                if let Some(parent) = of(id).filter(|p| !holds(p.rect, child.rect)) {
                    out.push(format!("`{}` is not inside `{}`", child.path, parent.path));
                }
                for other in children[..i].iter().filter(|o| overlap(o.rect, child.rect)) {
                    out.push(format!("`{}` lies over `{}`", child.path, other.path));
                }
            }
        }
    }

    /// Checks that a label covers no leaf state, no title, and no other label.
    fn labels_apart(&self, out: &mut Vec<String>) {
        for (i, (of, label)) in self.labels.iter().enumerate() {
            for state in &self.states {
                let solid =
                    if state.group && !state.region { Rect { h: 26.0, ..state.rect } } else { state.rect };
                if !state.region && overlap(*label, solid) {
                    out.push(format!("the label of {of} lies over `{}`", state.path));
                }
            }
            for (other, rect) in &self.labels[..i] {
                if overlap(*label, *rect) {
                    out.push(format!("the labels of {of} and {other} overlap"));
                }
            }
        }
    }

    /// Checks that a label is on its arrow; beside it only if the arrow is a loop.
    fn labels_on_their_arrows(&self, out: &mut Vec<String>) {
        for (of, label) in &self.labels {
            let arrows = self.arrows.iter().filter(|a| a.transition == *of && a.source != a.target);
            let pieces: Vec<_> = arrows.flat_map(|a| a.route.windows(2)).collect();
            if !pieces.is_empty() && !pieces.iter().any(|p| touches(*label, p[0], p[1])) {
                out.push(format!("the label of {of} is not on its arrow"));
            }
        }
    }

    /// An arrow passes over no state but its ends. Those between positions of an author slope, and those from region to
    /// region go around everything: they may.
    fn arrows_pass_no_state(&self, chart: &Chart, out: &mut Vec<String>) {
        for arrow in self.arrows.iter().filter(|a| !slopes(a) && !is_across_regions(chart, a)) {
            let ends = [&arrow.source, &arrow.target];
            for state in self.states.iter().filter(|s| !s.group && !ends.contains(&&s.path)) {
                let Rect { x, y, w, h } = state.rect;
                let inner = Rect { x: x + 1.0, y: y + 1.0, w: w - 2.0, h: h - 2.0 };
                if arrow.route.windows(2).any(|p| overlap(piece(p[0], p[1]), inner)) {
                    out.push(format!("the arrow of {} passes over `{}`", arrow.transition, state.path));
                }
            }
        }
    }

    fn arrows_end_at_borders(&self, out: &mut Vec<String>) {
        let of = |path: &str| self.states.iter().find(|s| s.path == path);
        for arrow in &self.arrows {
            for (path, point) in [(&arrow.source, arrow.first), (&arrow.target, arrow.tip)] {
                if let Some(state) = of(path).filter(|s| !on_border(s.rect, point)) {
                    out.push(format!("{point:?} is not on the border of `{path}` {:?}", state.rect));
                }
            }
        }
    }
}

fn slopes(arrow: &Arrow) -> bool {
    // Corners are round.
    let corner = 10.0;
    arrow.route.windows(2).any(|p| (p[0].0 - p[1].0).abs() > corner && (p[0].1 - p[1].1).abs() > corner)
}

/// Returns true if the innermost state that contains both ends is parallel and is neither end.
fn is_across_regions(chart: &Chart, arrow: &Arrow) -> bool {
    let up = |path: &str| std::iter::successors(chart.find(path), |id| chart.node(*id).parent);
    let shared = up(&arrow.source).find(|id| up(&arrow.target).any(|other| other == *id));
    shared.is_some_and(|id| {
        let node = chart.node(id);
        node.kind == NodeKind::Parallel && *node.path != *arrow.source && *node.path != *arrow.target
    })
}

fn piece(a: (f64, f64), b: (f64, f64)) -> Rect {
    Rect { x: a.0.min(b.0), y: a.1.min(b.1), w: (a.0 - b.0).abs() + 1.0, h: (a.1 - b.1).abs() + 1.0 }
}

fn number(node: Node<'_, '_>, name: &str) -> Option<f64> {
    node.attribute(name)?.parse().ok()
}

fn rect(node: Node<'_, '_>) -> Option<Rect> {
    if node.has_tag_name("circle") {
        let (x, y, r) = (number(node, "cx")?, number(node, "cy")?, number(node, "r")?);
        return Some(Rect { x: x - r, y: y - r, w: 2.0 * r, h: 2.0 * r });
    }
    if !node.has_tag_name("rect") {
        return None;
    }
    let (x, y) = (number(node, "x").unwrap_or(0.0), number(node, "y").unwrap_or(0.0));
    Some(Rect { x, y, w: number(node, "width")?, h: number(node, "height")? })
}

/// Returns the end points of `M` and `L` commands; corners curve inside them.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    for part in path.split(['M', 'L']).filter(|p| !p.is_empty()) {
        let numbers: Vec<f64> =
            part.split([' ', 'Q', 'Z', 'V', 'H']).filter_map(|n| n.parse().ok()).collect();
        if let [x, y, ..] = numbers[..] {
            out.push((x, y));
        }
    }
    out
}

fn join(a: Rect, b: Rect) -> Rect {
    let (x, y) = (a.x.min(b.x), a.y.min(b.y));
    Rect { x, y, w: (a.x + a.w).max(b.x + b.w) - x, h: (a.y + a.h).max(b.y + b.h) - y }
}

fn overlap(a: Rect, b: Rect) -> bool {
    let slack = 0.5;
    a.x + slack < b.x + b.w && b.x + slack < a.x + a.w && a.y + slack < b.y + b.h && b.y + slack < a.y + a.h
}

fn holds(a: Rect, b: Rect) -> bool {
    let slack = 0.5;
    a.x - slack <= b.x
        && a.y - slack <= b.y
        && a.x + a.w + slack >= b.x + b.w
        && a.y + a.h + slack >= b.y + b.h
}

/// Returns true if the middle of the label is near the segment of a route (which may slope).
fn touches(label: Rect, a: (f64, f64), b: (f64, f64)) -> bool {
    let (x, y) = (label.x + label.w / 2.0, label.y + label.h / 2.0);
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let along = ((x - a.0) * dx + (y - a.1) * dy) / (dx * dx + dy * dy).max(0.01);
    let (nx, ny) = (a.0 + dx * along.clamp(0.0, 1.0), a.1 + dy * along.clamp(0.0, 1.0));
    (x - nx).hypot(y - ny) < label.h
}

fn on_border(rect: Rect, (x, y): (f64, f64)) -> bool {
    let slack = 1.0;
    let near = |a: f64, b: f64| (a - b).abs() <= slack;
    let within = x >= rect.x - slack
        && x <= rect.x + rect.w + slack
        && y >= rect.y - slack
        && y <= rect.y + rect.h + slack;
    let edge = near(x, rect.x) || near(x, rect.x + rect.w) || near(y, rect.y) || near(y, rect.y + rect.h);
    within && edge
}
