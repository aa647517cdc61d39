//! Numbers the labels of a chart's actions, so that a trace can name an action without holding its text.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::blueprint::{ActionBlueprint, ActionKind, NodeSpec};
use crate::ids::LabelId;

/// Numbers the label of every action and returns the table of labels.
pub(crate) fn number(nodes: &mut [NodeSpec]) -> Vec<Arc<str>> {
    let mut labels = Labels::default();
    for node in nodes {
        labels.block(&mut node.entry);
        labels.block(&mut node.exit);
        node.initial.iter_mut().for_each(|initial| labels.block(&mut initial.actions));
        node.transitions.iter_mut().for_each(|transition| labels.block(&mut transition.actions));
    }
    labels.texts
}

#[derive(Default)]
struct Labels {
    known: FxHashMap<Arc<str>, LabelId>,
    texts: Vec<Arc<str>>,
}

impl Labels {
    fn block(&mut self, actions: &mut [ActionBlueprint]) {
        for action in actions {
            action.label_id = self.number(&action.label);
            match &mut action.kind {
                ActionKind::Choose { branches } => {
                    branches.iter_mut().for_each(|(_, inner)| self.block(inner))
                }
                ActionKind::Foreach(foreach) => self.block(&mut foreach.actions),
                ActionKind::Assign(_)
                | ActionKind::Raise { .. }
                | ActionKind::Emit { .. }
                | ActionKind::Send { .. }
                | ActionKind::Cancel { .. }
                | ActionKind::Call { .. }
                | ActionKind::Log { .. } => {}
            }
        }
    }

    fn number(&mut self, label: &Arc<str>) -> LabelId {
        if let Some(id) = self.known.get(label) {
            return *id;
        }
        let id = LabelId::at(self.texts.len());
        self.texts.push(Arc::clone(label));
        self.known.insert(Arc::clone(label), id);
        id
    }
}
