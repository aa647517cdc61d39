//! The images of states: by the mapping, below a moved parent by key, by path, by id.

use std::cell::RefCell;
use std::sync::Arc;

use rawko_core::{Chart, Configuration, Migration, NodeId, NodeKind, Now, Snapshot, StateImage, Value};
use rustc_hash::FxHashMap;

/// Maps states of the old chart to states of the new one, for one instance.
pub(super) struct StateMap<'j> {
    old: &'j Chart,
    new: &'j Chart,
    migration: &'j Migration,
    snapshot: &'j Snapshot,
    now: Now<'j>,
    pub(super) context: Value,
    known: RefCell<FxHashMap<NodeId, MappedState>>,
}

/// The image of one state.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MappedState {
    /// These states, active together.
    At(Vec<NodeId>),
    /// Nothing: the mapping ends it.
    Ended,
    /// None, for this reason.
    Unknown(String),
}

impl<'j> StateMap<'j> {
    pub(super) fn new(
        (old, new): (&'j Chart, &'j Chart),
        migration: &'j Migration,
        snapshot: &'j Snapshot,
        now: Now<'j>,
    ) -> Self {
        let context = snapshot.context_map(old);
        Self { old, new, migration, snapshot, now, context, known: RefCell::default() }
    }

    /// Returns the configuration of the old chart.
    pub(super) fn configuration_before(&self) -> &'j Configuration {
        self.snapshot.configuration()
    }

    /// Returns the images of a state; empty if it has none.
    pub(super) fn image(&self, node: NodeId) -> Vec<NodeId> {
        match self.target(node) {
            MappedState::At(nodes) => nodes,
            MappedState::Ended | MappedState::Unknown(_) => Vec::new(),
        }
    }

    pub(super) fn target(&self, node: NodeId) -> MappedState {
        if let Some(known) = self.known.borrow().get(&node) {
            return known.clone();
        }
        let target = self.compute(node);
        self.known.borrow_mut().insert(node, target.clone());
        target
    }

    fn compute(&self, node: NodeId) -> MappedState {
        if node == NodeId::ROOT {
            return MappedState::At(vec![NodeId::ROOT]);
        }
        let info = self.old.node(node);
        if let Some(image) = self.mapped(node) {
            return self.chosen(&info.path, image);
        }
        if let Some(target) = self.below_moved(node) {
            return target;
        }
        match self.new.find(&info.path).or_else(|| self.by_id(node)) {
            Some(found) => MappedState::At(vec![found]),
            None => MappedState::Unknown(format!(
                "state `{}` is not in the new chart; map it under `states`",
                info.path
            )),
        }
    }

    fn mapped(&self, node: NodeId) -> Option<&'j StateImage> {
        let info = self.old.node(node);
        let is_its = |name: &Arc<str>| *name == info.path || (info.name != info.path && *name == info.name);
        self.migration.states.iter().find(|(name, _)| is_its(name)).map(|(_, image)| image)
    }

    /// Chooses the first branch whose guard holds.
    fn chosen(&self, path: &str, image: &StateImage) -> MappedState {
        if image.branches.is_empty() {
            return MappedState::Ended;
        }
        for branch in &image.branches {
            let holds = match &branch.guard {
                None => Ok(true),
                Some(guard) => Migration::holds(guard, &self.context, self.old, self.snapshot, self.now),
            };
            match holds {
                Ok(true) => return MappedState::At(branch.targets.clone()),
                Ok(false) => {}
                Err(error) => {
                    return MappedState::Unknown(format!(
                        "a guard of state `{path}` failed: {}",
                        error.message
                    ));
                }
            }
        }
        MappedState::Unknown(format!("no branch of the mapping of state `{path}` holds"))
    }

    /// Returns the state with the same key below the image of a parent that the mapping moves.
    fn below_moved(&self, node: NodeId) -> Option<MappedState> {
        let mut keys = vec![Arc::clone(&self.old.node(node).key)];
        let mut above = self.old.node(node).parent?;
        let image = loop {
            if above == NodeId::ROOT {
                return None;
            }
            if let Some(image) = self.mapped(above) {
                break image;
            }
            let info = self.old.node(above);
            keys.push(Arc::clone(&info.key));
            above = info.parent?;
        };
        let path = &self.old.node(node).path;
        let tops = match self.chosen(&self.old.node(above).path, image) {
            MappedState::At(tops) => tops,
            other => return Some(other),
        };
        let mut found = Vec::new();
        for top in &tops {
            let mut here = Some(*top);
            for key in keys.iter().rev() {
                here = here.and_then(|here| self.child(here, key));
            }
            found.extend(here);
        }
        Some(match found.is_empty() {
            // An atomic state has no children to choose from.
            true if tops.iter().all(|top| self.new.node(*top).children.is_empty()) => MappedState::At(tops),
            true => {
                let moved = &self.new.node(tops[0]).path;
                let keys: Vec<&str> = keys.iter().rev().map(|key| &**key).collect();
                MappedState::Unknown(format!(
                    "state `{path}` has no counterpart `{moved}.{}`; map it under `states`",
                    keys.join(".")
                ))
            }
            false => MappedState::At(found),
        })
    }

    fn child(&self, node: NodeId, key: &str) -> Option<NodeId> {
        self.new.node(node).children.iter().copied().find(|child| *self.new.node(*child).key == *key)
    }

    /// Returns the state with the same explicit id.
    fn by_id(&self, node: NodeId) -> Option<NodeId> {
        let info = self.old.node(node);
        if info.name == info.path || info.name == info.key {
            return None;
        }
        let mut found = self.new.node_ids().skip(1).filter(|other| self.new.node(*other).name == info.name);
        found.next()
    }

    /// Returns the configuration of the image; reasons are added if there is none.
    pub(super) fn configuration(&self, reasons: &mut Vec<String>) -> Option<Configuration> {
        let mut targets: Vec<NodeId> = Vec::new();
        let mut is_whole = true;
        for leaf in self.snapshot.configuration().frontier() {
            match self.target(*leaf) {
                MappedState::At(nodes) => {
                    for node in nodes {
                        if matches!(self.new.node(node).kind, NodeKind::History(_)) {
                            let path = &self.new.node(node).path;
                            reasons.push(format!("`{path}` is a history state and cannot be active"));
                            is_whole = false;
                        } else if !targets.contains(&node) {
                            targets.push(node);
                        }
                    }
                }
                MappedState::Ended => {}
                MappedState::Unknown(reason) => {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                    is_whole = false;
                }
            }
        }
        if !is_whole {
            return None;
        }
        if targets.is_empty() {
            reasons.push("every active state ends; map one of them to a state".to_owned());
            return None;
        }
        let configuration = self.new.completed(&targets);
        if configuration.is_none() {
            let paths: Vec<String> =
                targets.iter().map(|node| format!("`{}`", self.new.node(*node).path)).collect();
            reasons.push(format!("{} cannot be active together in the new chart", paths.join(" and ")));
        }
        configuration
    }
}
