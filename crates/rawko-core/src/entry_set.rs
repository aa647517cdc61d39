//! `EntrySet`: the nodes a transition enters, after the W3C algorithm (addDescendantStatesToEnter and
//! addAncestorStatesToEnter). Used at load for every route that involves no history, at run time for the rest.

use crate::blueprint::NodeKind;
use crate::ids::NodeId;
use crate::tables::{NodeEntry, Tables};

/// Returns the nodes recorded for a history node, or `None` if its parent was never left.
pub(crate) trait Recorded {
    fn recorded(&self, history: NodeId) -> Option<&[NodeId]>;
}

/// At load nothing is recorded; a history node marks the route as not fixed.
pub(crate) struct NothingRecorded;

impl Recorded for NothingRecorded {
    fn recorded(&self, _: NodeId) -> Option<&[NodeId]> {
        None
    }
}

pub(crate) struct EntrySet<'a, R> {
    tables: &'a Tables,
    history: &'a R,
    entries: Vec<NodeEntry>,
    /// True if a history node was encountered.
    pub(crate) met_history: bool,
}

impl<'a, R: Recorded> EntrySet<'a, R> {
    pub(crate) fn new(tables: &'a Tables, history: &'a R) -> Self {
        Self { tables, history, entries: Vec::new(), met_history: false }
    }

    /// Returns the targets with history resolved, as used for a transition's domain.
    pub(crate) fn effective_targets(&mut self, targets: &[NodeId]) -> Vec<NodeId> {
        let mut found = Vec::new();
        for target in targets {
            match self.tables.node(*target).kind {
                NodeKind::History(_) => {
                    self.met_history = true;
                    let (nodes, _) = self.resolve(*target);
                    for node in self.effective_targets(&nodes) {
                        if !found.contains(&node) {
                            found.push(node);
                        }
                    }
                }
                NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => {
                    if !found.contains(target) {
                        found.push(*target);
                    }
                }
            }
        }
        found
    }

    /// Returns all nodes to enter for these targets below `domain`, in document order.
    pub(crate) fn enter(mut self, targets: &[NodeId], domain: NodeId) -> (Vec<NodeEntry>, bool) {
        for target in targets {
            self.add_descendants(*target);
        }
        for target in self.effective_targets(targets) {
            self.add_ancestors(target, domain);
        }
        let tables = self.tables;
        // The domain itself (a target that is the source) and its ancestors stay active.
        self.entries.retain(|entry| entry.node != domain && tables.is_within(entry.node, domain));
        self.entries.sort_unstable_by_key(|entry| entry.node);
        (self.entries, self.met_history)
    }

    /// Returns all nodes to enter when the instance starts, including the root.
    pub(crate) fn enter_root(mut self) -> Vec<NodeEntry> {
        self.add_descendants(NodeId::ROOT);
        self.entries.sort_unstable_by_key(|entry| entry.node);
        self.entries
    }

    fn add(&mut self, node: NodeId) -> &mut NodeEntry {
        let at = match self.entries.iter().position(|entry| entry.node == node) {
            Some(at) => at,
            None => {
                self.entries.push(NodeEntry { node, by_default: false, through: None });
                self.entries.len() - 1
            }
        };
        &mut self.entries[at]
    }

    fn add_descendants(&mut self, node: NodeId) {
        match self.tables.node(node).kind {
            NodeKind::History(_) => self.add_history(node),
            NodeKind::Atomic | NodeKind::Final => {
                self.add(node);
            }
            NodeKind::Compound => {
                self.add(node).by_default = true;
                let tables = self.tables;
                let initial = &tables.node(node).more().initial;
                self.add_all(initial, node);
            }
            NodeKind::Parallel => {
                self.add(node);
                self.add_missing_regions(node);
            }
        }
    }

    fn add_history(&mut self, history: NodeId) {
        self.met_history = true;
        let Some(parent) = self.tables.node(history).parent else { return };
        let (nodes, defaulted) = self.resolve(history);
        self.add_all(&nodes, parent);
        if defaulted {
            self.add(parent).through = Some(history);
        }
    }

    fn add_all(&mut self, nodes: &[NodeId], below: NodeId) {
        for node in nodes {
            self.add_descendants(*node);
        }
        for node in self.effective_targets(nodes) {
            self.add_ancestors(node, below);
        }
    }

    /// Resolves a history node; the flag is true for its default.
    fn resolve(&self, history: NodeId) -> (Vec<NodeId>, bool) {
        if let Some(nodes) = self.history.recorded(history) {
            return (nodes.to_vec(), false);
        }
        let node = self.tables.node(history);
        if !node.more().initial.is_empty() {
            return (node.more().initial.clone(), true);
        }
        match node.parent.map(|parent| (parent, self.tables.node(parent))) {
            Some((_, parent)) if parent.kind == NodeKind::Compound => (parent.more().initial.clone(), true),
            // A parallel has no initial: entering it enters all its regions.
            Some((_, parent)) => (parent.more().children.clone(), true),
            None => (Vec::new(), true),
        }
    }

    fn add_ancestors(&mut self, node: NodeId, upto: NodeId) {
        let tables = self.tables;
        for ancestor in tables.ancestors(node).take_while(|id| *id != upto && !tables.is_within(upto, *id)) {
            self.add(ancestor);
            if tables.node(ancestor).kind == NodeKind::Parallel {
                self.add_missing_regions(ancestor);
            }
        }
        // The domain may itself be a parallel whose regions were all left.
        if tables.node(upto).kind == NodeKind::Parallel && tables.is_within(node, upto) {
            self.add_missing_regions(upto);
        }
    }

    fn add_missing_regions(&mut self, parallel: NodeId) {
        let tables = self.tables;
        for region in &tables.node(parallel).more().children {
            if !self.entries.iter().any(|entry| tables.is_within(entry.node, *region)) {
                self.add_descendants(*region);
            }
        }
    }
}
