//! Lowers one state node with its contents.

use std::sync::Arc;

use rawko_core::{NodeId, NodeKind, NodeSpec, Value};

use super::Lowering;
use super::template::TextRule;
use crate::lowered::{MorePlaces, NodePlaces};

impl<'a> Lowering<'a> {
    pub(super) fn state(&mut self, number: u32, inherited: Option<Value>) -> (NodeSpec, NodePlaces) {
        let chart = self.chart;
        let state = &chart.states[number as usize];
        let (initial, initial_actions) = match state.kind {
            NodeKind::Compound => self.initial(number),
            NodeKind::History(_) => self.history_default(number),
            NodeKind::Atomic | NodeKind::Parallel | NodeKind::Final => (None, Vec::new()),
        };
        let more = state.more();
        let (entry, entry_places) = self.optional_actions(more.entry);
        let (exit, exit_places) = self.optional_actions(more.exit);
        let blocks = self.blocks(number);
        let key: Arc<str> = state.key.into();
        let node = NodeSpec {
            name: self.done_name(number, &key),
            key,
            kind: state.kind,
            parent: state.parent.map(NodeId),
            initial,
            entry,
            exit,
            transitions: blocks.transitions,
            timers: blocks.timers,
            invokes: blocks.invokes,
            output: more.output.map(|output| Box::new(self.template(output, TextRule::Expression))),
            docs: self.docs(&more.docs),
            policy: self.policy(&more.policy, inherited),
        };
        let more = MorePlaces {
            invokes: blocks.invoke_places,
            entry: entry_places,
            exit: exit_places,
            initial_actions,
        };
        let places = NodePlaces {
            key: state.key_span,
            body: state.body,
            transitions: blocks.transition_places,
            more: more.boxed(),
        };
        (node, places)
    }

    /// Returns the name in `done.state.<name>`; usually the key.
    fn done_name(&self, number: u32, key: &Arc<str>) -> Arc<str> {
        if number == 0 {
            return self.chart.id.unwrap_or_default().into();
        }
        let name = self.index.name(number);
        if name == **key { Arc::clone(key) } else { name.into() }
    }
}
