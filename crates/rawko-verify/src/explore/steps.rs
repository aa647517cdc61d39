//! Takes the steps of a state: each input, with each decision of guards on unknown data, and adds them to the graph.

use rawko_core::NodeId;

use super::Explorer;
use super::pending::PendingItem;
use crate::graph::{Edge, InputCause, Label, ModelInput};
use crate::inputs::{InputChoice, Pick};
use crate::machine::StepFacts;
use crate::mode::Mode;
use crate::oracle::StepScript;
use crate::state::ModelState;
use crate::tools;
use crate::watch::LeadBits;

impl Explorer<'_, '_> {
    /// Takes one step. Returns whether a transition was taken, and the cause.
    pub(super) fn step(
        &mut self,
        node: u32,
        state: &ModelState,
        before: &[NodeId],
        pending: &[(u16, PendingItem)],
        pick: Pick,
    ) -> (bool, InputCause) {
        let choice = self.inputs.choice(pick.choice);
        let (mut scripts, mut handled) = (vec![Vec::new()], false);
        while let Some(script) = scripts.pop() {
            let script = StepScript::new(&self.analysis.undecided, self.shared.mode, script);
            let decisions = (self.shared.mode != Mode::Concrete).then_some(&script);
            let mut next = state.clone();
            let facts = match &choice.input {
                ModelInput::Event { name, data } => self.machine.deliver(&mut next, name, data, decisions),
                ModelInput::Advance { ms } => self.machine.advance(&mut next, state.now_ms + ms, decisions),
                ModelInput::Fire { timer } => self.machine.fire(&mut next, *timer, decisions),
                ModelInput::Expire { invocation } => self.machine.expire(&mut next, *invocation, decisions),
            };
            self.add_scripts(script, &mut scripts);
            handled |= facts.handled;
            self.took(node, (state, next), (before, pending), (pick, &choice), &facts);
        }
        (handled, choice.cause)
    }

    /// Adds the result of a step to the graph.
    fn took(
        &mut self,
        node: u32,
        (state, mut next): (&ModelState, ModelState),
        (before, pending): (&[NodeId], &[(u16, PendingItem)]),
        (pick, choice): (Pick, &InputChoice),
        facts: &StepFacts,
    ) {
        let cause = choice.cause;
        let mut monitors = state.monitors.clone();
        self.answered(choice, state, &next, &mut monitors);
        let at = Some((node, &choice.input));
        // Time that passes is not a step.
        let bits = match cause {
            InputCause::Wait => LeadBits::default(),
            _ => self.judge(before, at, facts, &next, &mut monitors),
        };
        next.monitors = monitors;
        let is_deferred = next.snapshot.deferred().len() > state.snapshot.deferred().len();
        let is_ignored =
            cause == InputCause::Outside && !facts.handled && facts.moments.is_empty() && !is_deferred;
        if facts.runaway.is_some() || is_ignored {
            if self.shared.mode.is_general() {
                self.found.graph.ignored.entry(node).or_default().push(pick.group);
            }
            if facts.runaway.is_some() && (facts.deliveries > 1 || self.shared.stack.len() > 1) {
                self.inputs.gaps.insert("a step does not come to rest".to_owned());
            }
            return;
        }
        self.shared.edges += 1;
        let is_pending = |item: &PendingItem| match item {
            PendingItem::Timer(id) => next.snapshot.timers().iter().any(|timer| timer.id == *id),
            PendingItem::Call(id) | PendingItem::Question(id) => next.snapshot.invocation(*id).is_some(),
            PendingItem::Expiry(id) => next.expiries.iter().any(|(known, _)| known == id),
        };
        let ends = pending.iter().filter(|(_, item)| !is_pending(item)).map(|(number, _)| *number).collect();
        let starts = self.starts(facts).into();
        let answers = next.monitors[self.watch.properties.len()..].iter().map(|value| *value as i8).collect();
        let spends = facts.moments.iter().any(tools::spends_without_budget);
        let to = self.insert(next, Some(self.found.graph.edges.len() as u32));
        let is_idle = cause == InputCause::Wait || (cause == InputCause::Outside && !facts.handled);
        let label = self.found.graph.labels.number(Label {
            input: pick.choice,
            cause,
            group: pick.group,
            is_idle,
            ends,
            starts,
            spends,
            from_bits: bits.from,
            to_bits: bits.to,
            answers,
        });
        self.found.graph.edges.push(Edge { from: node, to, label });
    }
}
