//! One state node with everything it holds.

use rawko_core::{NodeId, NodeKind, NodeSpec, Value};

use super::Lowering;
use super::template::Rule;
use crate::lowered::NodePlaces;

impl<'a> Lowering<'a> {
    pub(super) fn state(&mut self, number: u32, inherited: Option<Value>) -> (NodeSpec, NodePlaces) {
        let chart = self.chart;
        let state = &chart.states[number as usize];
        let (initial, initial_actions) = match state.kind {
            NodeKind::Compound => self.initial(number),
            NodeKind::History(_) => self.history_default(number),
            NodeKind::Atomic | NodeKind::Parallel | NodeKind::Final => (None, Vec::new()),
        };
        let (entry, entry_places) = self.optional_actions(state.entry);
        let (exit, exit_places) = self.optional_actions(state.exit);
        let blocks = self.blocks(number);
        let node = NodeSpec {
            key: state.key.to_owned(),
            name: if number == 0 { chart.id.unwrap_or_default().to_owned() } else { self.index.name(number) },
            kind: state.kind,
            parent: state.parent.map(NodeId),
            initial,
            entry,
            exit,
            transitions: blocks.transitions,
            timers: blocks.timers,
            invokes: blocks.invokes,
            output: state.output.map(|output| self.template(output, Rule::Expression)),
            docs: self.docs(&state.docs),
            policy: self.policy(&state.policy, inherited),
        };
        let places = NodePlaces {
            key: state.key_span,
            body: state.body,
            transitions: blocks.transition_places,
            invokes: blocks.invoke_places,
            entry: entry_places,
            exit: exit_places,
            initial_actions,
        };
        (node, places)
    }
}
