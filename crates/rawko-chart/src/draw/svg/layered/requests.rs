//! Which arrows run through which composite, and which end of each is the upper one. Decided before anything is placed,
//! because a composite must know what leaves it.

use std::collections::{BTreeMap, BTreeSet};

use rawko_core::{NodeId, NodeKind};

use crate::draw::picture::Picture;
use crate::draw::svg::layout::{ArrowAnchor, Layout, LayoutArrow, LayoutInput};

/// An end of an arrow, as the composite sees it that the arrow runs through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArrowEnd {
    /// One of its children, or something inside that child.
    Child(NodeId),
    Dot,
    /// Its own border.
    Top,
    Bottom,
}

/// An arrow, or the piece of one, inside a composite.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrowPiece {
    pub(super) arrow: usize,
    pub(super) upper: ArrowEnd,
    pub(super) lower: ArrowEnd,
    /// The label stands in the outermost composite that the arrow runs through.
    pub(super) is_labelled: bool,
}

#[derive(Default)]
pub(super) struct RouteRequests {
    pieces: BTreeMap<NodeId, Vec<ArrowPiece>>,
    loops: BTreeMap<NodeId, Vec<usize>>,
    reversed: BTreeSet<usize>,
}

/// An arrow between two children of a composite.
struct SiblingArrow {
    arrow: usize,
    from: ArrowEnd,
    to: ArrowEnd,
}

impl RouteRequests {
    pub(super) fn of(plan: &LayoutInput<'_>, scope: NodeId, blocks: &BTreeMap<NodeId, Layout>) -> Self {
        let mut wanted = RouteRequests::default();
        let mut between: BTreeMap<NodeId, Vec<SiblingArrow>> = BTreeMap::new();
        for (at, arrow) in plan.arrows.iter().enumerate().filter(|(_, a)| sees(plan, scope, blocks, a)) {
            let (from, to) = (arrow.from, arrow.to);
            if from == ArrowAnchor::Node(to) {
                wanted.loops.entry(to).or_default().push(at);
                continue;
            }
            let level = level(plan.picture, from, to);
            // Regions stand side by side: an arrow from one to another is routed around them, later.
            let is_across = plan.picture.node(level).kind == NodeKind::Parallel
                && from != ArrowAnchor::Node(level)
                && to != level;
            if !is_across && plan.picture.contains(scope, level) {
                let (from, to) = (
                    place(plan.picture, level, from, ArrowEnd::Top),
                    place(plan.picture, level, ArrowAnchor::Node(to), ArrowEnd::Bottom),
                );
                between.entry(level).or_default().push(SiblingArrow { arrow: at, from, to });
            }
        }
        for (level, arrows) in between {
            wanted.settle(plan, level, &arrows);
        }
        wanted
    }

    pub(super) fn pieces(&self, composite: NodeId) -> &[ArrowPiece] {
        self.pieces.get(&composite).map_or(&[], Vec::as_slice)
    }

    pub(super) fn loops(&self, id: NodeId) -> &[usize] {
        self.loops.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the arrow points up.
    pub(super) fn is_reversed(&self, arrow: usize) -> bool {
        self.reversed.contains(&arrow)
    }

    /// Decides which arrows of a level point up, and hands their pieces to the composites inside.
    fn settle(&mut self, plan: &LayoutInput<'_>, level: NodeId, arrows: &[SiblingArrow]) {
        let backward = backward(plan.picture, level, arrows);
        for (SiblingArrow { arrow, from, to }, is_backward) in arrows.iter().zip(backward) {
            if is_backward {
                self.reversed.insert(*arrow);
            }
            let (upper, lower) = if is_backward { (*to, *from) } else { (*from, *to) };
            self.push(level, ArrowPiece { arrow: *arrow, upper, lower, is_labelled: true });
            let (source, target) = (plan.arrows[*arrow].from, ArrowAnchor::Node(plan.arrows[*arrow].to));
            let (above, below) = if is_backward { (target, source) } else { (source, target) };
            self.descend(
                plan.picture,
                (level, upper),
                above,
                |arrow, inside| ArrowPiece {
                    arrow,
                    upper: inside,
                    lower: ArrowEnd::Bottom,
                    is_labelled: false,
                },
                *arrow,
            );
            self.descend(
                plan.picture,
                (level, lower),
                below,
                |arrow, inside| ArrowPiece { arrow, upper: ArrowEnd::Top, lower: inside, is_labelled: false },
                *arrow,
            );
        }
    }

    /// The pieces between the border of a child and the end of the arrow somewhere inside it.
    fn descend(
        &mut self,
        picture: &Picture,
        (_, start): (NodeId, ArrowEnd),
        end: ArrowAnchor,
        piece: impl Fn(usize, ArrowEnd) -> ArrowPiece,
        arrow: usize,
    ) {
        let ArrowEnd::Child(mut composite) = start else { return };
        while end != ArrowAnchor::Node(composite) {
            let inside = place(picture, composite, end, ArrowEnd::Top);
            self.push(composite, piece(arrow, inside));
            match inside {
                ArrowEnd::Child(child) => composite = child,
                ArrowEnd::Dot | ArrowEnd::Top | ArrowEnd::Bottom => return,
            }
        }
    }

    fn push(&mut self, composite: NodeId, piece: ArrowPiece) {
        self.pieces.entry(composite).or_default().push(piece);
    }
}

/// Returns true if both ends are in scope and neither is hidden in a block.
fn sees(
    plan: &LayoutInput<'_>,
    scope: NodeId,
    blocks: &BTreeMap<NodeId, Layout>,
    arrow: &LayoutArrow,
) -> bool {
    let picture = plan.picture;
    let visible = |id: NodeId| {
        picture.contains(scope, id)
            && !blocks.keys().any(|block| *block != id && picture.contains(*block, id))
    };
    let from = match arrow.from {
        ArrowAnchor::Node(id) => visible(id),
        ArrowAnchor::Dot(id) => visible(id) && !blocks.contains_key(&id),
    };
    let outside = arrow.from == ArrowAnchor::Node(scope) && arrow.to == scope;
    from && visible(arrow.to) && !outside
}

/// The innermost composite that an arrow runs through as a whole; an end of the arrow, where that holds the other end.
fn level(picture: &Picture, from: ArrowAnchor, to: NodeId) -> NodeId {
    let mut level = match from {
        ArrowAnchor::Node(id) | ArrowAnchor::Dot(id) => id,
    };
    while !picture.contains(level, to) || (from == ArrowAnchor::Node(level) && level == to) {
        match picture.node(level).parent {
            Some(parent) => level = parent,
            None => break,
        }
    }
    level
}

/// An end as `composite` sees it; `border` where the end is the composite itself.
fn place(picture: &Picture, composite: NodeId, end: ArrowAnchor, border: ArrowEnd) -> ArrowEnd {
    let id = match end {
        ArrowAnchor::Dot(id) if id == composite => return ArrowEnd::Dot,
        ArrowAnchor::Node(id) if id == composite => return border,
        ArrowAnchor::Dot(id) | ArrowAnchor::Node(id) => id,
    };
    let inside = std::iter::successors(Some(id), |id| picture.node(*id).parent);
    let child = inside.take_while(|id| *id != composite).last();
    child.map_or(border, ArrowEnd::Child)
}

/// Which arrows close a cycle: those that lead back to where a walk in depth is just coming from. The walk begins where
/// the composite begins.
fn backward(picture: &Picture, level: NodeId, arrows: &[SiblingArrow]) -> Vec<bool> {
    let mut walk = BackwardWalk {
        arrows,
        backward: vec![false; arrows.len()],
        open: BTreeSet::new(),
        seen: BTreeSet::new(),
    };
    let node = picture.node(level);
    let starts =
        [ArrowEnd::Top, ArrowEnd::Dot].into_iter().chain(node.children.iter().map(|c| ArrowEnd::Child(*c)));
    for start in starts {
        walk.visit(start);
    }
    walk.backward
}

struct BackwardWalk<'a> {
    arrows: &'a [SiblingArrow],
    backward: Vec<bool>,
    open: BTreeSet<ArrowEnd>,
    seen: BTreeSet<ArrowEnd>,
}

impl BackwardWalk<'_> {
    /// Without recursion: a chart may be a chain of thousands of states.
    fn visit(&mut self, start: ArrowEnd) {
        let mut stack = vec![(start, 0_usize)];
        if !self.seen.insert(start) {
            return;
        }
        self.open.insert(start);
        while let Some((place, next)) = stack.pop() {
            let found = self.arrows.iter().enumerate().skip(next).find(|(_, a)| a.from == place);
            let Some((at, arrow)) = found else {
                self.open.remove(&place);
                continue;
            };
            stack.push((place, at + 1));
            if self.open.contains(&arrow.to) {
                self.backward[at] = true;
            } else if self.seen.insert(arrow.to) {
                self.open.insert(arrow.to);
                stack.push((arrow.to, 0));
            }
        }
    }
}
