//! What one step shows: violations of built-in and own properties, and the answers of people.

use std::sync::Arc;

use rawko_core::{NodeId, ServiceClass, ServiceName, TimerPurpose};

use super::Explorer;
use crate::graph::{Counterexample, InputCause, ModelInput};
use crate::inputs::InputChoice;
use crate::machine::{StepFact, StepFacts};
use crate::state::ModelState;
use crate::watch::LeadBits;

impl Explorer<'_, '_> {
    /// Notes the answers of people: 1 for an approval, 2 for a denial. Of the items of an `each`, one denial is enough.
    pub(super) fn answered(
        &self,
        choice: &InputChoice,
        state: &ModelState,
        next: &ModelState,
        monitors: &mut [i64],
    ) {
        let first = self.watch.properties.len();
        for (number, id) in self.found.questions.iter().enumerate() {
            if let Some((of, denies)) = &choice.answer
                && of == id
            {
                let denied = *denies || self.denied_before(number, state, monitors[first + number]);
                monitors[first + number] = if denied { 2 } else { 1 };
            }
        }
        if choice.cause != InputCause::Timer {
            return;
        }
        for invocation in state.snapshot.pending() {
            let id = self.model.chart.invoke_name(invocation.invoke);
            let is_open = next.snapshot.invocation(invocation.id).is_some();
            let is_due = |due_ms: i64| match choice.input {
                ModelInput::Advance { .. } => due_ms <= next.now_ms,
                _ => true,
            };
            let expires = state.expiries.iter().any(|(of, due_ms)| *of == invocation.id && is_due(*due_ms));
            let times_out = state.snapshot.timers().iter().any(|timer| {
                is_due(timer.due_ms)
                    && matches!(timer.purpose, TimerPurpose::InvokeTimeout { invocation: of } if of == invocation.id)
            });
            if let Some(number) = self.found.questions.iter().position(|known| **known == *id)
                && !is_open
                && (expires || times_out)
            {
                monitors[first + number] = 2;
            }
        }
    }

    /// Returns true if a person denied another item of a question with `each` since it was asked.
    fn denied_before(&self, number: usize, state: &ModelState, known: i64) -> bool {
        let mut fan_outs = state.snapshot.fan_outs().iter();
        known == 2
            && fan_outs.any(|fan_out| {
                let counts = fan_out.counts();
                let name = self.model.chart.invoke_name(fan_out.invoke);
                *name == *self.found.questions[number] && counts.done + counts.failed > 0
            })
    }

    /// Judges a step by everything that one step shows.
    pub(super) fn judge(
        &mut self,
        before: &[NodeId],
        at: Option<(u32, &ModelInput)>,
        facts: &StepFacts,
        state: &ModelState,
        monitors: &mut [i64],
    ) -> LeadBits {
        let none = ModelInput::Advance { ms: 0 };
        let (node, input) = at.map_or((None, &none), |(node, input)| (Some(node), input));
        if let Some(why) = &facts.runaway {
            self.record("bounded_eventless", node, input, why.clone());
        }
        for moment in &facts.moments {
            match moment {
                StepFact::Stalled { id, error } => {
                    let category = error.get("category");
                    let reason = format!("nothing handles the failure of `{id}` (category {category})");
                    self.errors.add(error);
                    self.record("failures_handled", node, input, reason);
                }
                StepFact::Invoked { id, src, input: data, .. } => {
                    let child = self.outcomes_of_chart(src, data);
                    self.judge_writing((node, input), moment, state, child.as_deref());
                    self.note_questions(id, src, child.as_deref());
                    if ServiceName::of(src).class == ServiceClass::Chart {
                        let most = child.as_ref().map_or_else(Default::default, |child| child.starts);
                        // All items of an `each` count by the id of their invoke.
                        let invoke: Arc<str> = id.split('[').next().unwrap_or(id).into();
                        let known = self.found.child_starts.entry(invoke).or_insert(most);
                        let pairs = known.iter_mut().zip(most);
                        pairs.for_each(|(known, more)| {
                            *known = known.zip(more).map(|(one, two)| one.max(two))
                        });
                    }
                    if child.is_some_and(|child| child.is_unbounded) {
                        let reason = format!("`{id}` starts `{src}`, which invokes itself without end");
                        self.found.outcomes.is_unbounded = true;
                        self.record("bounded_children", node, input, reason);
                    }
                }
                StepFact::Called(_) => self.judge_writing((node, input), moment, state, None),
                StepFact::Event(_) | StepFact::Entered(_) | StepFact::Exited(_) => {}
            }
        }
        self.open_names(facts);
        let own = self.watch.properties.len();
        let (broken, bits) = self.watch.observe(before, facts, state, &mut monitors[..own]);
        for broken in broken {
            if !self.found.own.contains_key(&broken.property) {
                let trace = self.trace(node, input, broken.reason);
                self.found.own.insert(broken.property, trace);
            }
        }
        // Nothing is left to be found about these, and their clocks would keep equal states apart.
        if !self.found.own.is_empty() {
            let initial = self.watch.initial();
            self.found.own.keys().for_each(|number| monitors[*number] = initial[*number]);
        }
        bits
    }

    /// A property about a service or a tool is not proved if one with a computed name starts that may be it.
    fn open_names(&mut self, facts: &StepFacts) {
        let names = facts.moments.iter().filter_map(|moment| match moment {
            StepFact::Invoked { src: name, .. } | StepFact::Called(name) => {
                Some(name.split_once('\u{f8ff}')?.0)
            }
            _ => None,
        });
        for known in names.collect::<Vec<_>>() {
            for number in self.watch.naming(known) {
                self.found.own.entry(number).or_default();
            }
        }
    }

    /// A `within` is violated if its time passes before anything else happens.
    pub(super) fn deadlines(&mut self, node: u32, state: &ModelState) {
        let due: Vec<(usize, i64)> = self.watch.deadlines(&state.monitors).collect();
        let is_general = self.shared.mode.is_general();
        for (property, deadline_ms) in due {
            let is_first = is_general || state.next_due_ms().is_none_or(|next| next > deadline_ms);
            if is_first && !self.found.own.contains_key(&property) {
                let input = ModelInput::Advance { ms: deadline_ms + 1 - state.now_ms };
                let trace = self.trace(Some(node), &input, "the time has passed".to_owned());
                self.found.own.insert(property, trace);
            }
        }
    }

    pub(super) fn record(
        &mut self,
        name: &'static str,
        node: Option<u32>,
        input: &ModelInput,
        reason: String,
    ) {
        if !self.found.built_in.contains_key(name) {
            let trace = self.trace(node, input, reason);
            self.found.built_in.insert(name, trace);
        }
    }

    pub(super) fn trace(&self, node: Option<u32>, input: &ModelInput, reason: String) -> Counterexample {
        let mut inputs = Vec::new();
        if let Some(node) = node {
            inputs = self.found.graph.path_to(node);
            inputs.push(input.clone());
        }
        crate::trace::counterexample(self.model, &inputs, None, reason)
    }

    /// Returns the active states, if steps are traced.
    pub(super) fn active(&self, state: &ModelState) -> Vec<NodeId> {
        if !self.machine.traced {
            return Vec::new();
        }
        let active = self.model.chart.active(state.snapshot.configuration());
        self.model.chart.node_ids().filter(|node| active.contains(*node)).collect()
    }

    /// Numbers the effects that a step started.
    pub(super) fn starts(&mut self, facts: &StepFacts) -> Vec<u16> {
        let mut starts = Vec::new();
        for moment in &facts.moments {
            let name = match moment {
                StepFact::Invoked { id, .. } => id,
                StepFact::Called(handler) => handler,
                _ => continue,
            };
            let effects = &mut self.found.effects;
            let number = effects.iter().position(|known| known == name).unwrap_or_else(|| {
                effects.push(Arc::clone(name));
                effects.len() - 1
            });
            starts.push(number as u16);
        }
        starts
    }
}
