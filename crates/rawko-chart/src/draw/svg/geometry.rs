//! Lines and curves: converts a route's points to path data, with the arrowhead at its end.

use std::fmt::Write;

use super::layout::LayoutPoint;

const CORNER: f64 = 7.0;

/// Formats a coordinate with at most one decimal.
pub(crate) fn n(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    // Avoids `-0`.
    format!("{}", if tenths == 0.0 { 0.0 } else { tenths })
}

/// Returns path data through all points, with round corners.
pub(crate) fn path(points: &[LayoutPoint]) -> String {
    let mut out = String::new();
    let Some(first) = points.first() else { return out };
    let _ = write!(out, "M{} {}", n(first.0), n(first.1));
    for window in points.windows(3) {
        let (a, b, c) = (window[0], window[1], window[2]);
        let radius = CORNER.min(distance(a, b) / 2.0).min(distance(b, c) / 2.0);
        let (before, after) = (toward(b, a, radius), toward(b, c, radius));
        let _ = write!(
            out,
            "L{} {}Q{} {} {} {}",
            n(before.0),
            n(before.1),
            n(b.0),
            n(b.1),
            n(after.0),
            n(after.1)
        );
    }
    if let Some(last) = points.last() {
        let _ = write!(out, "L{} {}", n(last.0), n(last.1));
    }
    out
}

/// Returns the three corners of an arrowhead at the end of the route.
pub(crate) fn head(points: &[LayoutPoint]) -> Option<String> {
    let tip = *points.last()?;
    let from = points.iter().rev().find(|p| distance(**p, tip) > 0.5)?;
    let back = toward(tip, *from, 8.0);
    let (dx, dy) = ((tip.0 - back.0) / 8.0, (tip.1 - back.1) / 8.0);
    let (left, right) = ((back.0 - dy * 3.6, back.1 + dx * 3.6), (back.0 + dy * 3.6, back.1 - dx * 3.6));
    Some(format!("M{} {}L{} {}L{} {}Z", n(tip.0), n(tip.1), n(left.0), n(left.1), n(right.0), n(right.1)))
}

/// Shortens the route, so that the line does not show beside the arrowhead's tip.
pub(crate) fn before_head(points: &[LayoutPoint]) -> Vec<LayoutPoint> {
    let mut points = points.to_vec();
    if let [.., from, tip] = points.as_mut_slice()
        && distance(*from, *tip) > 6.0
    {
        *tip = toward(*tip, *from, 5.0);
    }
    points
}

pub(crate) fn distance(a: LayoutPoint, b: LayoutPoint) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

/// Returns the point `length` away from `from` in the direction of `to`.
pub(crate) fn toward(from: LayoutPoint, to: LayoutPoint, length: f64) -> LayoutPoint {
    let whole = distance(from, to);
    if whole == 0.0 {
        return from;
    }
    (from.0 + (to.0 - from.0) * length / whole, from.1 + (to.1 - from.1) * length / whole)
}
