//! Routes for arrows no layout algorithm has routed: a straight line where nothing is in the way, else a detour through
//! a lane of its own at the right of the drawing. Used where an author fixed the positions, between regions, and for very large charts.

use super::geometry::distance;
use super::layout::{
    ArrowAnchor, ArrowKind, ArrowRoute, Layout, LayoutArrow, LayoutInput, LayoutPoint, Rect,
};

const LANE_GAP: f64 = 14.0;

/// Routes every arrow without a route.
pub(crate) fn route_rest(plan: &LayoutInput<'_>, layout: &mut Layout) {
    layout.routes.resize(plan.arrows.len(), ArrowRoute::default());
    let mut left_over = Vec::new();
    for (at, arrow) in plan.arrows.iter().enumerate() {
        let Some((from, to)) = ends(layout, arrow).filter(|_| layout.routes[at].points.is_empty()) else {
            continue;
        };
        match direct(plan, layout, at, from, to) {
            Some(route) => layout.routes[at] = route,
            None => left_over.push(at),
        }
    }
    let mut lane = right_edge(layout) + LANE_GAP;
    let mut slots = Slots::of(plan, &left_over);
    for at in left_over {
        let arrow = &plan.arrows[at];
        let Some((from, to)) = ends(layout, arrow) else { continue };
        let (y1, y2) = (slots.next(arrow.from, from), slots.next(ArrowAnchor::Node(arrow.to), to));
        layout.routes[at] = detour(arrow, (from.right(), y1), (to.right(), y2), &mut lane);
    }
}

/// Arrows that leave or enter a state at its right side share that side.
struct Slots {
    wanted: Vec<ArrowAnchor>,
    given: Vec<ArrowAnchor>,
}

impl Slots {
    fn of(plan: &LayoutInput<'_>, arrows: &[usize]) -> Self {
        let both = |at: &usize| [plan.arrows[*at].from, ArrowAnchor::Node(plan.arrows[*at].to)];
        Self { wanted: arrows.iter().flat_map(both).collect(), given: Vec::new() }
    }

    fn next(&mut self, end: ArrowAnchor, rect: Rect) -> f64 {
        self.given.push(end);
        let count = |ends: &[ArrowAnchor]| ends.iter().filter(|e| **e == end).count() as f64;
        rect.y + rect.h * count(&self.given) / (count(&self.wanted) + 1.0)
    }
}

fn right_edge(layout: &Layout) -> f64 {
    let boxes = layout.rects.iter().flatten().map(Rect::right);
    let labels = layout.routes.iter().filter_map(|r| r.label).map(|l| l.right());
    boxes.chain(labels).fold(0.0, f64::max)
}

fn ends(layout: &Layout, arrow: &LayoutArrow) -> Option<(Rect, Rect)> {
    let from = match arrow.from {
        ArrowAnchor::Node(id) => layout.rects[id.index()]?,
        ArrowAnchor::Dot(id) => {
            layout.dots[id.index()].map(|(x, y)| Rect { x: x - 5.0, y: y - 5.0, w: 10.0, h: 10.0 })?
        }
    };
    Some((from, layout.rects[arrow.to.index()]?))
}

/// Returns the straight line between the two borders, if it and its label are free.
fn direct(plan: &LayoutInput<'_>, layout: &Layout, at: usize, from: Rect, to: Rect) -> Option<ArrowRoute> {
    let arrow = &plan.arrows[at];
    if from == to || from.holds(to) || to.holds(from) {
        return None;
    }
    let side = if opposite(plan, at) { offset(from.center(), to.center(), 9.0) } else { (0.0, 0.0) };
    let a = (from.center().0 + side.0, from.center().1 + side.1);
    let b = (to.center().0 + side.0, to.center().1 + side.1);
    let points = vec![border(from, a, b)?, border(to, b, a)?];
    let long_enough = arrow.label.as_ref().is_none_or(|l| distance(points[0], points[1]) > l.height + 16.0);
    let free = leaves(plan, layout).all(|r| r == from || r == to || !crosses(points[0], points[1], r));
    if !free || !long_enough {
        return None;
    }
    let Some(label) = &arrow.label else { return Some(ArrowRoute { points, label: None }) };
    let clear = |l: &Rect| {
        leaves(plan, layout).chain(bars(plan, layout)).chain(labels(layout)).all(|r| !overlap(*l, r))
    };
    let spots = [0.5, 0.4, 0.6, 0.3, 0.7]
        .map(|part| centered(between(points[0], points[1], part), label.width, label.height));
    let label = spots.into_iter().find(clear)?;
    Some(ArrowRoute { points, label: Some(label) })
}

/// Routes to the right, along the lane, and back.
fn detour(arrow: &LayoutArrow, from: LayoutPoint, to: LayoutPoint, lane: &mut f64) -> ArrowRoute {
    let width = arrow.label.as_ref().map_or(0.0, |l| l.width);
    let x = *lane + width / 2.0;
    *lane += width + LANE_GAP;
    let label = arrow.label.as_ref().map(|l| centered((x, (from.1 + to.1) / 2.0), l.width, l.height));
    ArrowRoute { points: vec![from, (x, from.1), (x, to.1), to], label }
}

/// Returns true if another arrow connects the two states, in either direction.
fn opposite(plan: &LayoutInput<'_>, at: usize) -> bool {
    let pair = |a: &LayoutArrow| match (a.kind, a.from) {
        (ArrowKind::Transition(_), ArrowAnchor::Node(id)) => Some((id.min(a.to), id.max(a.to))),
        (ArrowKind::Initial | ArrowKind::Default, _) | (ArrowKind::Transition(_), ArrowAnchor::Dot(_)) => {
            None
        }
    };
    let own = pair(&plan.arrows[at]);
    own.is_some() && plan.arrows.iter().enumerate().any(|(i, a)| i != at && pair(a) == own)
}

fn leaves<'a>(plan: &'a LayoutInput<'_>, layout: &'a Layout) -> impl Iterator<Item = Rect> + 'a {
    plan.picture.nodes.iter().filter(|s| !s.is_composite()).filter_map(|s| layout.rects[s.id.index()])
}

/// Returns the title bars of composite states.
fn bars<'a>(plan: &'a LayoutInput<'_>, layout: &'a Layout) -> impl Iterator<Item = Rect> + 'a {
    let composites = plan.picture.nodes.iter().filter(|s| s.is_composite());
    composites.filter_map(|s| {
        layout.rects[s.id.index()].map(|r| Rect { h: plan.writings[s.id.index()].height, ..r })
    })
}

fn labels(layout: &Layout) -> impl Iterator<Item = Rect> + '_ {
    layout.routes.iter().filter_map(|r| r.label)
}

pub(crate) fn overlap(a: Rect, b: Rect) -> bool {
    a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom()
}

/// Returns the point where the line from `inside` (in the rectangle) to `outside` leaves the rectangle.
fn border(rect: Rect, inside: LayoutPoint, outside: LayoutPoint) -> Option<LayoutPoint> {
    let (dx, dy) = (outside.0 - inside.0, outside.1 - inside.1);
    let along = |delta: f64, low: f64, high: f64, at: f64| match delta {
        d if d > 0.0 => (high - at) / d,
        d if d < 0.0 => (low - at) / d,
        _ => f64::INFINITY,
    };
    let t = along(dx, rect.x, rect.right(), inside.0).min(along(dy, rect.y, rect.bottom(), inside.1));
    (t.is_finite() && t <= 1.0).then_some((inside.0 + dx * t, inside.1 + dy * t))
}

/// Returns true if the segment touches the rectangle (Liang and Barsky's test).
pub(crate) fn crosses(a: LayoutPoint, b: LayoutPoint, rect: Rect) -> bool {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for (p, q) in
        [(-dx, a.0 - rect.x), (dx, rect.right() - a.0), (-dy, a.1 - rect.y), (dy, rect.bottom() - a.1)]
    {
        if p == 0.0 {
            if q < 0.0 {
                return false;
            }
        } else if p < 0.0 {
            low = low.max(q / p);
        } else {
            high = high.min(q / p);
        }
    }
    low <= high
}

fn offset(a: LayoutPoint, b: LayoutPoint, by: f64) -> LayoutPoint {
    let whole = distance(a, b).max(1.0);
    ((b.1 - a.1) / whole * by, -(b.0 - a.0) / whole * by)
}

fn between(a: LayoutPoint, b: LayoutPoint, part: f64) -> LayoutPoint {
    (a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part)
}

fn centered(at: LayoutPoint, w: f64, h: f64) -> Rect {
    Rect { x: at.0 - w / 2.0, y: at.1 - h / 2.0, w, h }
}
