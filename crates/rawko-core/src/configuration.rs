//! `Configuration`: the set of active state nodes. Stored as its *frontier* — the active nodes without an active child,
//! in document order — because everything above the frontier is implied, and the cost of a step then depends on the
//! active nodes, not on the size of the chart.
//!
//! Document order is preorder, so the subtree of a node is the contiguous range `node ..= last`. A node is active
//! exactly when the frontier has a member in its range.

use std::ops::Range;

use smallvec::SmallVec;

use crate::ids::NodeId;

/// The active state nodes of one instance.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    frontier: SmallVec<[NodeId; 4]>,
}

/// Written by hand, because every step copies one: the derived form copies element by element.
impl Clone for Configuration {
    #[inline]
    fn clone(&self) -> Self {
        Self { frontier: SmallVec::from_slice(&self.frontier) }
    }
}

impl Configuration {
    /// Returns the innermost active nodes in document order.
    #[inline]
    pub fn frontier(&self) -> &[NodeId] {
        &self.frontier
    }

    /// Returns the configuration with these innermost active nodes.
    pub fn from_frontier(frontier: impl IntoIterator<Item = NodeId>) -> Self {
        let mut frontier: SmallVec<[NodeId; 4]> = frontier.into_iter().collect();
        frontier.sort_unstable();
        Self { frontier }
    }

    /// Returns the frontier members in `first ..= last`.
    #[inline]
    pub(crate) fn within(&self, first: NodeId, last: NodeId) -> &[NodeId] {
        &self.frontier[self.places(first, last)]
    }

    #[inline]
    fn places(&self, first: NodeId, last: NodeId) -> Range<usize> {
        // Nearly every configuration has a handful of members: a scan beats a search.
        let start = self.frontier.iter().position(|node| *node >= first).unwrap_or(self.frontier.len());
        let len = self.frontier[start..].iter().position(|node| *node > last);
        start..len.map_or(self.frontier.len(), |len| start + len)
    }

    /// Replaces the frontier members in `first ..= last` with `leaves`.
    #[inline]
    pub(crate) fn replace(&mut self, first: NodeId, last: NodeId, leaves: &[NodeId]) {
        let places = self.places(first, last);
        if places.len() == leaves.len() {
            self.frontier[places].copy_from_slice(leaves);
        } else {
            let start = places.start;
            self.frontier.drain(places);
            self.frontier.insert_from_slice(start, leaves);
        }
    }

    /// Replaces the only frontier member with `leaf`.
    #[inline]
    pub(crate) fn replace_only(&mut self, leaf: NodeId) {
        if let [only] = &mut self.frontier[..] {
            *only = leaf;
        }
    }

    /// Adds `node` on entry. Its parent is active; if the parent was frontier it no longer is.
    #[inline]
    pub(crate) fn enter(&mut self, node: NodeId, parent: Option<NodeId>) {
        let at = self.frontier.iter().position(|other| *other > node).unwrap_or(self.frontier.len());
        if at > 0 && Some(self.frontier[at - 1]) == parent {
            self.frontier[at - 1] = node;
        } else {
            self.frontier.insert(at, node);
        }
    }

    /// Removes `node`, a frontier member, on exit. Its parent becomes frontier if no other child of it is active.
    #[inline]
    pub(crate) fn exit(&mut self, node: NodeId, parent: Option<NodeId>, parent_last: NodeId) {
        let Some(at) = self.frontier.iter().position(|other| *other == node) else { return };
        if let Some(parent) = parent {
            let before = at > 0 && self.frontier[at - 1] > parent;
            let after = self.frontier.get(at + 1).is_some_and(|other| *other <= parent_last);
            if !before && !after {
                self.frontier[at] = parent;
                return;
            }
        }
        self.frontier.remove(at);
    }
}

/// A configuration with the data needed to query any node.
#[derive(Clone, Copy, Debug)]
pub struct Active<'a> {
    pub(crate) frontier: &'a [NodeId],
    /// The last descendant of each node.
    pub(crate) last: &'a [NodeId],
}

impl<'a> Active<'a> {
    /// For evaluating expressions without a chart: `last[n]` is the last descendant of node `n`.
    pub fn new(configuration: &'a Configuration, last: &'a [NodeId]) -> Self {
        Self { frontier: &configuration.frontier, last }
    }

    /// Returns the innermost active nodes.
    pub fn frontier(&self) -> &'a [NodeId] {
        self.frontier
    }

    /// Returns true if `node` or a node below it is active.
    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        let Some(last) = self.last.get(node.index()) else { return false };
        self.frontier.iter().any(|member| *member >= node && member <= last)
    }
}
