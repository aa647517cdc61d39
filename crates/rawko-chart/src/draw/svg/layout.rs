//! `Layout`: all positions, independent of the algorithm. The arrows of a picture are listed here once, so that every
//! layout and the painter agree about them.

use rawko_core::NodeId;

use super::boxes::{LabelBox, StateText, label_box, plain_label, writing};
use crate::draw::picture::Picture;

pub(crate) type LayoutPoint = (f64, f64);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

impl Rect {
    pub(crate) fn right(&self) -> f64 {
        self.x + self.w
    }
    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.h
    }
    /// Returns true if `other` is inside or equal.
    pub(crate) fn holds(&self, other: Rect) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && self.right() >= other.right()
            && self.bottom() >= other.bottom()
    }
    pub(crate) fn center(&self) -> LayoutPoint {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }
}

/// An arrow: a transition to one of its targets, an initial arrow, or a history node's default.
#[derive(Clone, Debug)]
pub(crate) struct LayoutArrow {
    pub(crate) kind: ArrowKind,
    pub(crate) from: ArrowAnchor,
    pub(crate) to: NodeId,
    pub(crate) label: Option<LabelBox>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrowKind {
    /// Index of the edge in the picture.
    Transition(usize),
    Initial,
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrowAnchor {
    Node(NodeId),
    /// The initial dot inside this node.
    Dot(NodeId),
}

/// The input of a layout.
pub(crate) struct LayoutInput<'a> {
    pub(crate) picture: &'a Picture,
    pub(crate) writings: Vec<StateText>,
    pub(crate) arrows: Vec<LayoutArrow>,
    /// True if the root is drawn as a box, false if its children stand alone.
    pub(crate) framed: bool,
}

/// The result of a layout, in the drawing's own coordinates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// By node; the root has none unless it is framed.
    pub(crate) rects: Vec<Option<Rect>>,
    /// Centres of the initial dots, by their node.
    pub(crate) dots: Vec<Option<LayoutPoint>>,
    /// By arrow.
    pub(crate) routes: Vec<ArrowRoute>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ArrowRoute {
    pub(crate) points: Vec<LayoutPoint>,
    pub(crate) label: Option<Rect>,
}

impl Layout {
    pub(crate) fn empty(plan: &LayoutInput<'_>) -> Self {
        let count = plan.picture.nodes.len();
        Self {
            rects: vec![None; count],
            dots: vec![None; count],
            routes: vec![ArrowRoute::default(); plan.arrows.len()],
            width: 0.0,
            height: 0.0,
        }
    }

    /// Adds everything of `part`, moved to `x`, `y`.
    pub(crate) fn absorb(&mut self, part: &Layout, x: f64, y: f64) {
        for (own, other) in self.rects.iter_mut().zip(&part.rects) {
            *own = other.map(|r| Rect { x: r.x + x, y: r.y + y, ..r }).or(*own);
        }
        for (own, other) in self.dots.iter_mut().zip(&part.dots) {
            *own = other.map(|p| (p.0 + x, p.1 + y)).or(*own);
        }
        for (own, other) in self.routes.iter_mut().zip(&part.routes).filter(|(_, o)| !o.points.is_empty()) {
            own.points = other.points.iter().map(|p| (p.0 + x, p.1 + y)).collect();
            own.label = other.label.map(|r| Rect { x: r.x + x, y: r.y + y, ..r });
        }
    }

    /// Moves everything so that the drawing has a margin on all sides, and sets its size.
    pub(crate) fn trim(&mut self, margin: f64) {
        let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        for (x, y) in self.corners() {
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
        }
        if low.0 > high.0 {
            (low, high) = ((0.0, 0.0), (0.0, 0.0));
        }
        let mut moved = Layout {
            rects: vec![None; self.rects.len()],
            dots: vec![None; self.dots.len()],
            routes: vec![ArrowRoute::default(); self.routes.len()],
            width: high.0 - low.0 + 2.0 * margin,
            height: high.1 - low.1 + 2.0 * margin,
        };
        moved.absorb(self, margin - low.0, margin - low.1);
        *self = moved;
    }

    /// Whole tenths: the same bytes wherever floating point is rounded a little differently.
    pub(crate) fn round(&mut self) {
        let tenth = |value: &mut f64| *value = (*value * 10.0).round() / 10.0;
        let labels = self.routes.iter_mut().filter_map(|r| r.label.as_mut());
        for rect in self.rects.iter_mut().flatten().chain(labels) {
            [&mut rect.x, &mut rect.y, &mut rect.w, &mut rect.h].into_iter().for_each(tenth);
        }
        let points = self.routes.iter_mut().flat_map(|r| r.points.iter_mut());
        for (x, y) in self.dots.iter_mut().flatten().chain(points) {
            [x, y].into_iter().for_each(tenth);
        }
    }

    fn corners(&self) -> Vec<LayoutPoint> {
        let rects = self.rects.iter().flatten().chain(self.routes.iter().filter_map(|r| r.label.as_ref()));
        let mut points: Vec<LayoutPoint> =
            rects.flat_map(|r| [(r.x, r.y), (r.right(), r.bottom())]).collect();
        points.extend(
            self.dots.iter().flatten().flat_map(|p| [(p.0 - 6.0, p.1 - 6.0), (p.0 + 6.0, p.1 + 6.0)]),
        );
        points.extend(self.routes.iter().flat_map(|r| r.points.iter().copied()));
        points
    }
}

impl<'a> LayoutInput<'a> {
    pub(crate) fn of(picture: &'a Picture) -> Self {
        let writings = picture.nodes.iter().map(|n| writing(picture, n)).collect();
        Self { picture, writings, arrows: arrows(picture), framed: picture.root_is_drawn() }
    }

    pub(crate) fn has_dot(&self, id: NodeId) -> bool {
        self.arrows.iter().any(|a| a.from == ArrowAnchor::Dot(id))
    }
}

fn arrows(picture: &Picture) -> Vec<LayoutArrow> {
    let mut arrows = Vec::new();
    for node in &picture.nodes {
        let (kind, from) = if node.is_history() {
            (ArrowKind::Default, ArrowAnchor::Node(node.id))
        } else {
            (ArrowKind::Initial, ArrowAnchor::Dot(node.id))
        };
        let label = node.initial_label().map(|l| plain_label(&l));
        arrows.extend(node.initial.iter().map(|to| LayoutArrow {
            kind,
            from,
            to: *to,
            label: label.clone(),
        }));
    }
    for (at, edge) in picture.edges.iter().enumerate() {
        let label = label_box(&edge.label);
        arrows.extend(edge.targets.iter().map(|to| LayoutArrow {
            kind: ArrowKind::Transition(at),
            from: ArrowAnchor::Node(edge.source),
            to: *to,
            label: Some(label.clone()),
        }));
    }
    arrows
}
