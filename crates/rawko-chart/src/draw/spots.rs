//! Maps a source location to the part of the drawing that it defines, so that a finding can be shown there.

use rawko_core::{NodeId, TransitionId};

use super::svg::Spot;
use crate::lowered::Places;
use crate::source::Span;

/// Returns the innermost state node or transition at a location; `None` if it belongs to the chart as a whole.
pub fn spot(places: &Places, place: Span) -> Option<Spot> {
    let mut best: Option<(u32, Spot)> = None;
    let mut consider = |written: Span, spot: Spot| {
        let holds = written.start <= place.start && place.end <= written.end && written.start < written.end;
        let length = written.end - written.start.min(written.end);
        if holds && best.is_none_or(|(least, _)| length <= least) {
            best = Some((length, spot));
        }
    };
    let mut transition = 0;
    for (index, node) in (0..).zip(&places.nodes) {
        if index > 0 {
            consider(node.key, Spot::Node(NodeId(index)));
            consider(node.body, Spot::Node(NodeId(index)));
        }
        for written in &node.transitions {
            let spot = Spot::Transition(TransitionId(transition));
            consider(written.trigger, spot);
            consider(written.body, spot);
            written.guard.into_iter().chain(written.target).for_each(|part| consider(part, spot));
            transition += 1;
        }
    }
    best.map(|(_, spot)| spot)
}
