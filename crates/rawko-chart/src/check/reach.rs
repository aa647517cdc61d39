//! States that can ever be active, and those that can ever be done. Guards are assumed to hold: this analyses the
//! structure, not the data.

use rawko_core::{HistoryVariant, NodeId, NodeKind};

use rustc_hash::FxHashMap;

use super::consequences::Strays;
use super::entry::{self, Entered};
use super::index::ChartIndex;

/// For every node: true if it can be active; for a history node, if a reachable transition leads to it. States that an
/// error elsewhere may have cut off count as reachable.
pub(crate) fn reached(index: &ChartIndex<'_>, strays: &Strays<'_>) -> Vec<bool> {
    let size = index.nodes.len();
    let mut search = ReachSearch {
        index,
        active: vec![false; size],
        by_default: vec![false; size],
        restarts_children: vec![false; size],
        unopened: FxHashMap::default(),
        tasks: vec![Entered::Default(NodeId::ROOT)],
    };
    search.enter(&strays.meant(index), NodeId::ROOT);
    while let Some(task) = search.tasks.pop() {
        match task {
            Entered::Passed(node) => search.activate(node),
            Entered::Default(node) => search.start(node),
            Entered::History(node) => search.restore(node),
            // Never deferred: it needs the targets.
            Entered::Beside(_) => {}
        }
    }
    search.active
}

struct ReachSearch<'i, 'a> {
    index: &'i ChartIndex<'a>,
    active: Vec<bool>,
    by_default: Vec<bool>,
    /// A shallow history of this state is used: the recorded child starts by default.
    restarts_children: Vec<bool>,
    /// The regions of each visited parallel state that always contained a target.
    unopened: FxHashMap<NodeId, Vec<NodeId>>,
    tasks: Vec<Entered>,
}

impl ReachSearch<'_, '_> {
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
            NodeKind::Compound if self.lacks_initial(node) => {
                self.tasks.extend(self.index.regions(node).map(Entered::Default));
            }
            NodeKind::Compound => self.enter_initial(node, node),
            NodeKind::Parallel => self.tasks.extend(self.index.regions(node).map(Entered::Default)),
            NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => {}
        }
    }

    /// An error that has already been reported: any child may have been meant.
    fn lacks_initial(&self, node: NodeId) -> bool {
        self.index.node(node).initial.as_ref().is_none_or(|initial| initial.targets.is_empty())
    }

    fn starts_in(&self, node: NodeId, history: NodeId) -> bool {
        self.index.node(node).initial.as_ref().is_some_and(|initial| initial.targets.contains(&history))
    }

    fn restore(&mut self, history: NodeId) {
        let seen = std::mem::replace(&mut self.active[history.index()], true);
        let Some(parent) = self.index.parent(history).filter(|_| !seen) else { return };
        match &self.index.node(history).initial {
            Some(_) => self.enter_initial(history, parent),
            // It leads back to itself, which is reported: any child may have been meant.
            None if self.starts_in(parent, history) => {
                self.tasks.extend(self.index.regions(parent).map(Entered::Default));
            }
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
        entry::enter(self.index, targets, domain, &mut |entered| match entered {
            Entered::Beside(parallel) => self.open_beside(parallel, targets),
            Entered::Passed(_) | Entered::Default(_) | Entered::History(_) => self.tasks.push(entered),
        });
    }

    /// Enters the regions without a target by default. After the first time only those skipped then can be new.
    fn open_beside(&mut self, parallel: NodeId, targets: &[NodeId]) {
        let Some(spoken_for) = entry::spoken_for(self.index, targets, parallel) else { return };
        let tasks = &mut self.tasks;
        match self.unopened.get_mut(&parallel) {
            Some(unopened) => unopened.retain(|region| {
                let stays = spoken_for.contains(region);
                if !stays {
                    tasks.push(Entered::Default(*region));
                }
                stays
            }),
            None => {
                let others = self.index.regions(parallel).filter(|region| !spoken_for.contains(region));
                tasks.extend(others.map(Entered::Default));
                self.unopened.insert(parallel, spoken_for);
            }
        }
    }
}

/// For every node: true if it can be done: a compound state with a reachable final child, a parallel state all of whose
/// regions can be.
pub(crate) fn completes(index: &ChartIndex<'_>) -> Vec<bool> {
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
