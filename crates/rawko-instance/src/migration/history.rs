//! Recorded histories: each names states that a later transition may enter again, so each needs an image.

use rawko_core::{HistoryVariant, NodeId, NodeKind};

use super::MigrationJob;
use super::states::MappedState;

type Records = [(NodeId, Box<[NodeId]>)];

impl MigrationJob<'_> {
    pub(super) fn history(&mut self, records: &Records) -> Vec<(NodeId, Box<[NodeId]>)> {
        let mut history = Vec::with_capacity(records.len());
        for (node, recorded) in records {
            let Some(heir) = self.history_node(*node, recorded) else { continue };
            let states = self.recorded(*node, heir, recorded);
            if !states.is_empty() {
                history.push((heir, states.into()));
            }
        }
        history
    }

    /// Returns the history state of the new chart; `None` if the mapping ends it, or the new chart cannot restore it.
    fn history_node(&mut self, node: NodeId, recorded: &[NodeId]) -> Option<NodeId> {
        let path = std::sync::Arc::clone(&self.old.node(node).path);
        match self.states.target(node) {
            MappedState::Ended => {
                self.notes.push(format!("drops the history of `{path}`"));
                None
            }
            MappedState::At(found) if matches!(self.new.node(found[0]).kind, NodeKind::History(_)) => {
                Some(found[0])
            }
            // No transition can restore it any more. The states that it names still need a counterpart.
            MappedState::At(_) | MappedState::Unknown(_) => {
                for state in recorded {
                    if let MappedState::Unknown(_) = self.states.target(*state) {
                        self.refuse_removed(&path, *state);
                    }
                }
                self.notes.push(format!("drops the history of `{path}`, which the new chart does not have"));
                None
            }
        }
    }

    fn recorded(&mut self, node: NodeId, heir: NodeId, recorded: &[NodeId]) -> Vec<NodeId> {
        let mut states = Vec::new();
        let Some(parent) = self.new.node(heir).parent else { return states };
        let name = std::sync::Arc::clone(&self.old.node(node).path);
        for state in recorded {
            let path = std::sync::Arc::clone(&self.old.node(*state).path);
            match self.states.target(*state) {
                MappedState::Ended => {}
                MappedState::Unknown(_) => self.refuse_removed(&name, *state),
                MappedState::At(nodes) => {
                    for target in nodes {
                        if !self.fits(heir, parent, target) {
                            let target = &self.new.node(target).path;
                            self.refuse(format!(
                                "the recorded history `{name}` names state `{path}`, and `{target}` is not one that it can restore"
                            ));
                        } else if !states.contains(&target) {
                            states.push(target);
                        }
                    }
                }
            }
        }
        states
    }

    fn refuse_removed(&mut self, name: &str, state: NodeId) {
        let path = &self.old.node(state).path;
        self.refuse(format!(
            "the recorded history `{name}` names state `{path}`, which is not in the new chart; map it under `states`"
        ));
    }

    /// A shallow history restores children of its parent, a deep one any state below it.
    fn fits(&self, heir: NodeId, parent: NodeId, target: NodeId) -> bool {
        let is_history = matches!(self.new.node(target).kind, NodeKind::History(_));
        let is_below = target != parent && self.new.is_within(target, parent);
        let is_near = match self.new.node(heir).kind {
            NodeKind::History(HistoryVariant::Shallow) => self.new.node(target).parent == Some(parent),
            _ => true,
        };
        is_below && is_near && !is_history
    }
}
