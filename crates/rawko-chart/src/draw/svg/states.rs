//! States: boxes with a title bar and lines, history circles, initial dots, and the dashed lines between regions.

use std::fmt::Write;

use rawko_core::{NodeId, NodeKind};

use super::boxes::{LINE, PAD, RING, TITLE_LINE, WrappedLine};
use super::geometry::n;
use super::layout::{Layout, LayoutInput, Rect};
use super::straight::crosses;
use super::text::{TITLE, escape, width};
use super::{Spot, SvgOptions};
use crate::draw::color::readable_on;
use crate::draw::picture::{LineKind, PictureNode};

pub(crate) struct States<'a> {
    pub(crate) plan: &'a LayoutInput<'a>,
    pub(crate) layout: &'a Layout,
    pub(crate) options: &'a SvgOptions<'a>,
    pub(crate) names: &'a [String],
}

impl States<'_> {
    /// Draws composite states, outermost first: nested ones lie on top.
    pub(crate) fn groups(&self, out: &mut String) {
        for node in self.plan.picture.nodes.iter().filter(|s| s.is_composite()) {
            if let Some(rect) = self.layout.rects[node.id.index()] {
                self.group(out, node, rect);
            }
        }
        for dot in self.layout.dots.iter().flatten() {
            let _ =
                writeln!(out, "<circle class=\"dot\" cx=\"{}\" cy=\"{}\" r=\"5.5\"/>", n(dot.0), n(dot.1));
        }
    }

    /// Draws the text of composite states above the arrows that pass their title bars.
    pub(crate) fn headers(&self, out: &mut String) {
        for node in self.plan.picture.nodes.iter().filter(|s| s.is_composite()) {
            let Some(rect) = self.layout.rects[node.id.index()] else { continue };
            let class = if self.plan.picture.is_region(node.id) { "header region" } else { "header" };
            let _ = write!(out, "<g class=\"{class}\" data-node=\"{}\">", escape(&node.path));
            self.words(out, node, rect);
            out.push_str("</g>\n");
        }
    }

    pub(crate) fn leaves(&self, out: &mut String) {
        for node in self.plan.picture.nodes.iter().filter(|s| !s.is_composite()) {
            let Some(rect) = self.layout.rects[node.id.index()] else { continue };
            match node.kind {
                NodeKind::History(_) => self.history(out, node, rect),
                NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => {
                    self.leaf(out, node, rect)
                }
            }
        }
    }

    fn group(&self, out: &mut String, node: &PictureNode, rect: Rect) {
        let region = self.plan.picture.is_region(node.id);
        self.begin(out, node, if region { "group region" } else { "group" });
        if region {
            self.region(out, node, rect);
        } else {
            frame(out, rect, 9.0, node.color.as_deref().map(|c| format!("stroke:{c}")));
            self.bar(out, node, rect, true);
        }
        out.push_str("</g>\n");
        if node.kind == NodeKind::Parallel {
            self.gaps(out, node, rect);
        }
    }

    /// A region is separated by the dashed lines beside it; if an arrow ends at it, it gets a border.
    fn region(&self, out: &mut String, node: &PictureNode, rect: Rect) {
        let touched =
            self.plan.picture.edges.iter().any(|e| e.source == node.id || e.targets.contains(&node.id));
        let class = if touched || self.columns(node.parent).is_none() { "gap" } else { "area" };
        let _ = write!(out, "<rect class=\"{class}\" {} rx=\"7\"/>", place(rect));
    }

    /// Returns the regions' rectangles from left to right, if they are side by side.
    fn columns(&self, parent: Option<NodeId>) -> Option<Vec<Rect>> {
        let regions = self.plan.picture.states(parent?);
        let mut rects: Vec<Rect> = regions.filter_map(|r| self.layout.rects[r.id.index()]).collect();
        rects.sort_by(|a, b| a.x.total_cmp(&b.x));
        rects.windows(2).all(|w| w[0].right() <= w[1].x).then_some(rects)
    }

    fn gaps(&self, out: &mut String, node: &PictureNode, rect: Rect) {
        let Some(columns) = self.columns(Some(node.id)) else { return };
        let top = rect.y + self.plan.writings[node.id.index()].height;
        for pair in columns.windows(2) {
            let x = n((pair[0].right() + pair[1].x) / 2.0);
            let _ = writeln!(out, "<path class=\"gap\" d=\"M{x} {}V{}\"/>", n(top), n(rect.bottom()));
        }
    }

    /// A final state has a second border around the box.
    fn leaf(&self, out: &mut String, node: &PictureNode, rect: Rect) {
        self.begin(out, node, if node.kind == NodeKind::Final { "final" } else { "leaf" });
        let mut rect = rect;
        if node.kind == NodeKind::Final {
            let style = node.color.as_ref().map_or_else(String::new, |c| format!(" style=\"stroke:{c}\""));
            let _ = write!(out, "<rect class=\"ring\" {} rx=\"9\"{style}/>", place(rect));
            rect =
                Rect { x: rect.x + RING, y: rect.y + RING, w: rect.w - 2.0 * RING, h: rect.h - 2.0 * RING };
        }
        if node.is_stacked {
            rect = Rect { w: rect.w - 2.0 * RING, h: rect.h - 2.0 * RING, ..rect };
            for behind in [2.0 * RING, RING] {
                let back = Rect { x: rect.x + behind, y: rect.y + behind, ..rect };
                let _ = write!(out, "<rect class=\"ring stack\" {} rx=\"7\"/>", place(back));
            }
        }
        let paint = |c: &str| {
            if node.lines.is_empty() { format!("fill:{c};stroke:{c}") } else { format!("stroke:{c}") }
        };
        frame(out, rect, 7.0, node.color.as_deref().map(paint));
        if !node.lines.is_empty() {
            self.bar(out, node, rect, false);
        }
        self.words(out, node, rect);
        out.push_str("</g>\n");
    }

    fn history(&self, out: &mut String, node: &PictureNode, rect: Rect) {
        self.begin(out, node, "history");
        let (x, y) = rect.center();
        let _ =
            write!(out, "<circle class=\"box\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", n(x), n(y), n(rect.w / 2.0));
        let mark = node.history_mark().unwrap_or("H");
        let _ = writeln!(out, "<text class=\"mark\" x=\"{}\" y=\"{}\">{mark}</text></g>", n(x), n(y + 4.3));
    }

    fn begin(&self, out: &mut String, node: &PictureNode, class: &str) {
        let mut classes = format!("state {class}");
        if self.options.active.contains(&node.id) {
            classes.push_str(" active");
        }
        if self.options.uncovered_nodes.contains(&node.id) {
            classes.push_str(" uncovered");
        }
        let marks = self.options.marks(Spot::Node(node.id));
        if !marks.is_empty() {
            classes.push_str(" finding");
        }
        let (name, path) = (&self.names[node.id.index()], escape(&node.path));
        let _ = write!(out, "<g id=\"state-{name}\" class=\"{classes}\" data-node=\"{path}\"{marks}>");
        let _ = write!(out, "<title>{}</title>", escape(&tooltip(node)));
    }

    /// Draws the title bar, and a rule under it.
    fn bar(&self, out: &mut String, node: &PictureNode, rect: Rect, group: bool) {
        let high = self.plan.writings[node.id.index()].bar;
        let (x, y, r) = (rect.x + 0.6, rect.y + 0.6, if group { 8.4 } else { 6.4 });
        let (right, bottom) = (rect.right() - 0.6, rect.y + high);
        let style = node.color.as_ref().map_or_else(String::new, |c| format!(" style=\"fill:{c}\""));
        let _ = write!(
            out,
            "<path class=\"bar\" d=\"M{} {}V{}Q{} {} {} {}H{}Q{} {} {} {}V{}Z\"{style}/>",
            n(x),
            n(bottom),
            n(y + r),
            n(x),
            n(y),
            n(x + r),
            n(y),
            n(right - r),
            n(right),
            n(y),
            n(right),
            n(y + r),
            n(bottom)
        );
        let _ = write!(out, "<path class=\"rule\" d=\"M{} {}H{}\"/>", n(rect.x), n(bottom), n(rect.right()));
    }

    fn words(&self, out: &mut String, node: &PictureNode, rect: Rect) {
        let writing = &self.plan.writings[node.id.index()];
        let side = self.title_side(node, rect);
        let x = n(side.x(rect));
        let tall = writing.title.len() as f64 * TITLE_LINE;
        let mut y = rect.y + (writing.bar - tall) / 2.0 + 13.0;
        let barred = node.is_composite() || !node.lines.is_empty() || node.color.is_some();
        let style = match node.color.as_deref().filter(|_| barred && !self.plan.picture.is_region(node.id)) {
            Some(color) if node.is_composite() => {
                format!(" style=\"fill:{};stroke:{color}\"", readable_on(color))
            }
            Some(color) => format!(" style=\"fill:{}\"", readable_on(color)),
            None => String::new(),
        };
        for row in &writing.title {
            let _ = write!(
                out,
                "<text class=\"{}\" x=\"{x}\" y=\"{}\"{style}>{}</text>",
                side.class(),
                n(y),
                escape(row)
            );
            y += TITLE_LINE;
        }
        let mut y = rect.y + writing.bar + 16.0;
        for line in &writing.lines {
            self.detail(out, line, rect, &mut y);
        }
    }

    /// Places a composite's title where no arrow passes, preferably at the left.
    fn title_side(&self, node: &PictureNode, rect: Rect) -> TitlePosition {
        if !node.is_composite() {
            return TitlePosition::Middle;
        }
        let writing = &self.plan.writings[node.id.index()];
        let wide = writing.title.iter().map(|t| width(t, TITLE)).fold(0.0, f64::max);
        let free = |side: &TitlePosition| {
            let x = match side {
                TitlePosition::Left => rect.x + PAD,
                TitlePosition::Middle => rect.center().0 - wide / 2.0,
                TitlePosition::Right => rect.right() - PAD - wide,
            };
            let area = Rect { x: x - 3.0, y: rect.y + 2.0, w: wide + 6.0, h: writing.bar - 2.0 };
            let segments = self.layout.routes.iter().flat_map(|r| r.points.windows(2));
            segments.into_iter().all(|s| !crosses(s[0], s[1], area))
        };
        [TitlePosition::Left, TitlePosition::Middle, TitlePosition::Right]
            .into_iter()
            .find(free)
            .unwrap_or(TitlePosition::Left)
    }

    fn detail(&self, out: &mut String, line: &WrappedLine, rect: Rect, y: &mut f64) {
        let mut class = "detail".to_owned();
        let mut data = String::new();
        match line.kind {
            LineKind::Entry => class.push_str(" entry"),
            LineKind::Exit => class.push_str(" exit"),
            LineKind::Invoke => class.push_str(" invoke"),
            LineKind::Inner(id) => {
                class.push_str(" inner");
                if self.options.uncovered.contains(&id) {
                    class.push_str(" uncovered");
                }
                data = format!(" data-transition=\"{}\"", id.0);
            }
        }
        let _ = write!(out, "<g class=\"line\"{data}><title>{}</title>", escape(&line.full));
        for row in &line.rows {
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
                n(rect.x + PAD),
                n(*y),
                escape(row)
            );
            *y += LINE;
        }
        out.push_str("</g>");
    }
}

fn tooltip(node: &PictureNode) -> String {
    let mut text = if node.path.is_empty() { node.title.clone() } else { node.path.clone() };
    if let Some(about) = &node.description {
        text.push_str(&format!(": {about}"));
    }
    if !node.tags.is_empty() {
        text.push_str(&format!(" [{}]", node.tags.join(", ")));
    }
    text
}

/// Position of a title in its bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TitlePosition {
    Left,
    Middle,
    Right,
}

impl TitlePosition {
    fn x(self, rect: Rect) -> f64 {
        match self {
            TitlePosition::Left => rect.x + PAD,
            TitlePosition::Middle => rect.center().0,
            TitlePosition::Right => rect.right() - PAD,
        }
    }

    fn class(self) -> &'static str {
        match self {
            TitlePosition::Left => "title left",
            TitlePosition::Middle => "title",
            TitlePosition::Right => "title right",
        }
    }
}

fn frame(out: &mut String, rect: Rect, round: f64, style: Option<String>) {
    let style = style.map_or_else(String::new, |s| format!(" style=\"{s}\""));
    let _ = write!(out, "<rect class=\"box\" {} rx=\"{}\"{style}/>", place(rect), n(round));
}

fn place(rect: Rect) -> String {
    format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", n(rect.x), n(rect.y), n(rect.w), n(rect.h))
}
