//! Takes the steps of a state: each input, with each decision of guards on unknown data, and adds them to the graph.

use rawko_chart::PropertyKind;
use rawko_core::NodeId;

use super::Explorer;
use super::pending::PendingItem;
use crate::graph::{Edge, InputCause, Label, ModelInput};
use crate::inputs::{DEFERRED_MAX, InputChoice, Pick};
use crate::machine::{Decisions, SENT_MAX, StepFacts};
use crate::mode::Mode;
use crate::oracle::StepScript;
use crate::progress::ProgressMarks;
use crate::state::ModelState;
use crate::watch::LeadBits;
use crate::witness::Tunnel;

/// The cost of a step that does not come to rest, in ordinary steps.
const RUNAWAY_STEPS: usize = 256;
/// Steps that do not come to rest in an exploration that decides guards: each of them has many decisions.
const RUNAWAYS_MAX: usize = 64;

impl Explorer<'_, '_> {
    /// Returns true if an exploration that decides guards has too many steps without end to prove anything in time.
    pub(super) fn has_run_away(&self) -> bool {
        self.shared.mode != Mode::Concrete && self.shared.runaways >= RUNAWAYS_MAX
    }

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
        if self.shared.mode == Mode::Concrete {
            let (next, facts) = self.taken(state, &choice, None);
            self.took(node, (state, next), (before, pending), (pick, &choice), &facts);
            return (facts.handled, choice.cause);
        }
        let (mut scripts, mut handled) = (vec![Vec::new()], false);
        while let Some(script) = scripts.pop() {
            if self.has_run_away() {
                self.found.graph.complete = false;
                break;
            }
            let script = StepScript::new(self.analysis, self.shared.mode, script);
            let (next, facts) = self.taken(state, &choice, Some(&script));
            self.leave_out_rounds((&script, &facts), node, (pick, choice.cause));
            self.add_scripts(script, &mut scripts);
            handled |= facts.handled;
            self.took(node, (state, next), (before, pending), (pick, &choice), &facts);
        }
        (handled, choice.cause)
    }

    /// A step with too many rounds of an eventless loop is refused. Where rounds were left out, that may be.
    fn leave_out_rounds(
        &mut self,
        (script, facts): (&StepScript<'_>, &StepFacts),
        node: u32,
        (pick, cause): (Pick, InputCause),
    ) {
        if !script.has_left_out() {
            return;
        }
        self.found.open_loop.clone_from(&self.analysis.settling);
        self.found.graph.ignored.entry(node).or_default().push(pick.group);
        let leads = self
            .watch
            .properties
            .iter()
            .any(|property| matches!(property.kind, PropertyKind::LeadsTo { .. }));
        let is_alone = facts.deliveries <= 1 && self.shared.stack.len() == 1;
        if leads || !is_alone || cause != InputCause::Outside {
            self.inputs.gaps.insert("a step may have too many rounds without an event".to_owned());
        }
    }

    /// All events to others may come back, also those that are not counted.
    pub(super) fn note_many_sent(&mut self, facts: &StepFacts) {
        if facts.has_many_sent && !self.shared.mode.is_general() {
            let why = format!("more than {SENT_MAX} events may come back as undelivered");
            self.inputs.gaps.insert(why);
        }
    }

    fn taken(
        &self,
        state: &ModelState,
        InputChoice { input, cause, .. }: &InputChoice,
        decisions: Decisions<'_>,
    ) -> (ModelState, StepFacts) {
        let mut next = state.clone();
        let facts = match input {
            ModelInput::Event { name, data } if *cause == InputCause::Undelivered => {
                // In a general exploration, that many stand for any number.
                let is_any = self.shared.mode.is_general() && next.sent == SENT_MAX;
                next.sent -= u8::from(!is_any);
                self.machine.deliver(&mut next, name, data, decisions)
            }
            ModelInput::Event { name, data } => self.machine.deliver(&mut next, name, data, decisions),
            ModelInput::Advance { ms } => self.machine.advance(&mut next, state.now_ms + ms, decisions),
            ModelInput::Fire { timer } => self.machine.fire(&mut next, *timer, decisions),
            ModelInput::Expire { invocation } => self.machine.expire(&mut next, *invocation, decisions),
        };
        (next, facts)
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
        if !self.may_move(state, &choice.input, &next) {
            self.shared.edges += 1;
            return;
        }
        let cause = choice.cause;
        self.note_many_sent(facts);
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
        self.shared.steps_since_stop += if facts.runaway.is_some() { RUNAWAY_STEPS } else { 1 };
        self.shared.runaways += usize::from(facts.runaway.is_some());
        let is_beyond = is_deferred && next.snapshot.deferred().len() > DEFERRED_MAX;
        if facts.runaway.is_some() || is_ignored || is_beyond {
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
        let spends = self.spends(facts).into();
        let progress = match self.shared.mode.is_general() && !self.analysis.progress.is_empty() {
            true => self.analysis.progress.of_step(facts, self.unusable_bounds),
            false => ProgressMarks::default(),
        };
        let taken = if self.shared.numbers_configurations { &facts.taken[..] } else { &[] };
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
            left: facts.left.clone().into(),
            taken: taken.iter().copied().collect(),
            progress,
            from_bits: bits.from,
            to_bits: bits.to,
            answers,
        });
        self.found.graph.edges.push(Edge { from: node, to, label });
    }

    /// Returns false for an input that a guided exploration leaves out.
    pub(super) fn may_try(&self, state: &ModelState, pick: Pick) -> bool {
        let choice = self.inputs.choice(pick.choice);
        let active = state.snapshot.configuration().frontier();
        self.tunnel().is_none_or(|tunnel| tunnel.takes(active, &choice.input))
    }

    /// Returns false for a step that a guided exploration leaves out.
    fn may_move(&self, from: &ModelState, input: &ModelInput, to: &ModelState) -> bool {
        let (from, to) = (from.snapshot.configuration(), to.snapshot.configuration());
        self.tunnel().is_none_or(|tunnel| tunnel.has(from.frontier(), input, to.frontier()))
    }

    fn tunnel(&self) -> Option<&Tunnel> {
        self.shared.tunnel.as_ref().filter(|_| self.shared.stack.len() == 1)
    }

    /// Numbers the configuration of a state.
    pub(super) fn configuration(&mut self, state: &ModelState) -> u32 {
        let count = self.configurations.len() as u32;
        let frontier = state.snapshot.configuration().frontier();
        if let Some(known) = self.configurations.get(frontier) {
            return *known;
        }
        self.configurations.insert(frontier.to_vec(), count);
        count
    }
}
