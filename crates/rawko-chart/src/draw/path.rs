//! A picture reduced to some transitions: the path that an instance took through a large chart, at a size that can be
//! read. States that the path does not touch, guards and actions are left out.

use std::collections::BTreeSet;

use rawko_core::{NodeId, NodeKind, TransitionId};

use super::picture::{ArrowLabel, LineKind, Picture};

/// Keeps these transitions, their states with all ancestors, and the states in `also`.
pub(crate) fn reduced(picture: &Picture, transitions: &[TransitionId], also: &[NodeId]) -> Picture {
    let mut kept = BTreeSet::from([NodeId::ROOT]);
    for edge in picture.edges.iter().filter(|edge| transitions.contains(&edge.id)) {
        for id in std::iter::once(edge.source).chain(edge.targets.iter().copied()) {
            keep(picture, id, &mut kept);
        }
    }
    also.iter().for_each(|id| keep(picture, *id, &mut kept));
    keep_entered(picture, NodeId::ROOT, &mut kept);
    let mut out = picture.clone();
    out.edges.retain(|edge| transitions.contains(&edge.id));
    for edge in &mut out.edges {
        edge.label = ArrowLabel { guard: None, actions: Vec::new(), ..std::mem::take(&mut edge.label) };
    }
    for node in &mut out.nodes {
        node.children.retain(|child| kept.contains(child));
        node.initial.retain(|child| kept.contains(child));
        node.initial_actions.clear();
        node.lines.retain(|line| line.kind == LineKind::Invoke);
        // Positions are the author's for the whole chart.
        node.position = None;
    }
    out
}

/// Keeps a state, its ancestors, and the states that are entered with it.
fn keep(picture: &Picture, id: NodeId, kept: &mut BTreeSet<NodeId>) {
    keep_entered(picture, id, kept);
    let mut at = picture.node(id).parent;
    while let Some(parent) = at.filter(|parent| kept.insert(*parent)) {
        at = picture.node(parent).parent;
    }
}

fn keep_entered(picture: &Picture, id: NodeId, kept: &mut BTreeSet<NodeId>) {
    kept.insert(id);
    let node = picture.node(id);
    let entered = if node.kind == NodeKind::Parallel { &node.children } else { &node.initial };
    for child in entered.iter().filter(|child| !kept.contains(*child)).copied().collect::<Vec<_>>() {
        keep(picture, child, kept);
    }
}
