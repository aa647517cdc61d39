//! Self-transitions: a state with many of them would be covered in loops, so beyond a few they are listed inside it,
//! like transitions without a target, with a mark that the state is the target.

use std::borrow::Cow;

use rawko_core::NodeId;

use crate::draw::picture::{LineKind, Picture, PictureEdge, StateLine};

const LOOPS_MAX: usize = 3;

pub(crate) fn listed(picture: &Picture) -> Cow<'_, Picture> {
    let crowded =
        |id: NodeId| picture.edges.iter().filter(|e| is_loop(e) && e.source == id).count() > LOOPS_MAX;
    if !picture.nodes.iter().any(|s| crowded(s.id)) {
        return Cow::Borrowed(picture);
    }
    let mut out = picture.clone();
    out.edges.retain(|e| !(is_loop(e) && crowded(e.source)));
    for edge in picture.edges.iter().filter(|e| is_loop(e) && crowded(e.source)) {
        let text = format!("↻ {}", edge.label.shown());
        out.nodes[edge.source.index()].lines.push(StateLine { kind: LineKind::Inner(edge.id), text });
    }
    Cow::Owned(out)
}

fn is_loop(edge: &PictureEdge) -> bool {
    edge.targets == [edge.source]
}
