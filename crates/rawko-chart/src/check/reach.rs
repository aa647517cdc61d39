//! Which states can ever be active, and which can ever be done. Guards are taken to hold: this is about the drawing,
//! not about the data.

use rawko_core::{HistoryVariant, NodeId, NodeKind};

use super::entry::{self, Entered};
use super::index::Index;

/// For every node whether it can be active; for a history node whether a reachable transition leads to it.
pub(crate) fn reached(index: &Index<'_>) -> Vec<bool> {
    let size = index.nodes.len();
    let mut search = Search {
        index,
        active: vec![false; size],
        by_default: vec![false; size],
        restarts_children: vec![false; size],
        tasks: vec![Entered::Default(NodeId::ROOT)],
    };
    while let Some(task) = search.tasks.pop() {
        match task {
            Entered::Passed(node) => search.activate(node),
            Entered::Default(node) => search.start(node),
            Entered::History(node) => search.restore(node),
        }
    }
    search.active
}

struct Search<'i, 'a> {
    index: &'i Index<'a>,
    active: Vec<bool>,
    by_default: Vec<bool>,
    /// A shallow history of this state is used: whichever child it recorded starts over.
    restarts_children: Vec<bool>,
    tasks: Vec<Entered>,
}

impl Search<'_, '_> {
    fn activate(&mut self, node: NodeId) {
        if std::mem::replace(&mut self.active[node.index()], true) {
            return;
        }
        if self.index.parent(node).is_some_and(|parent| self.restarts_children[parent.index()]) {
            self.tasks.push(Entered::Default(node));
        }
        for edge in self.index.edges_of(node) {
            if let Some(domain) = edge.domain {
                self.enter(edge.targets(), domain);
            }
        }
    }

    fn start(&mut self, node: NodeId) {
        if std::mem::replace(&mut self.by_default[node.index()], true) {
            return;
        }
        self.activate(node);
        match self.index.kind(node) {
            NodeKind::Compound => self.enter_initial(node, node),
            NodeKind::Parallel => self.tasks.extend(self.index.regions(node).map(Entered::Default)),
            NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => {}
        }
    }

    fn restore(&mut self, history: NodeId) {
        let seen = std::mem::replace(&mut self.active[history.index()], true);
        let Some(parent) = self.index.parent(history).filter(|_| !seen) else { return };
        match &self.index.node(history).initial {
            Some(_) => self.enter_initial(history, parent),
            None => self.tasks.push(Entered::Default(parent)),
        }
        if self.index.kind(history) == NodeKind::History(HistoryVariant::Shallow) {
            self.restarts_children[parent.index()] = true;
            let active = &self.active;
            self.tasks.extend(
                self.index.regions(parent).filter(|child| active[child.index()]).map(Entered::Default),
            );
        }
    }

    /// Follows the `initial` of a compound state, or the default of a history node.
    fn enter_initial(&mut self, node: NodeId, domain: NodeId) {
        if let Some(initial) = &self.index.node(node).initial {
            self.enter(&initial.targets, domain);
        }
    }

    fn enter(&mut self, targets: &[NodeId], domain: NodeId) {
        let tasks = &mut self.tasks;
        entry::enter(self.index, targets, domain, &mut |entered| tasks.push(entered));
    }
}

/// For every node whether it can be done: a compound state with a reachable final child, a parallel state all of whose
/// regions can be.
pub(crate) fn completes(index: &Index<'_>) -> Vec<bool> {
    let mut completes = vec![false; index.nodes.len()];
    // Reverse preorder: children before their parents.
    for (number, node) in index.nodes.iter().enumerate().rev() {
        let id = NodeId(number as u32);
        completes[number] = match node.kind {
            NodeKind::Compound => index
                .children(id)
                .any(|child| index.kind(child) == NodeKind::Final && index.reached[child.index()]),
            NodeKind::Parallel => {
                index.regions(id).next().is_some()
                    && index.regions(id).all(|region| completes[region.index()])
            }
            NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => false,
        };
    }
    completes
}
