//! What the effects of a step spend, write and ask, with those of the child charts that they start.

use std::sync::Arc;

use rawko_core::{ServiceClass, ServiceName};

use super::Explorer;
use crate::ceiling::starts;
use crate::children::{ChildOutcomes, Ending};
use crate::graph::ModelInput;
use crate::machine::{StepFact, StepFacts};
use crate::mode::Mode;
use crate::spending;
use crate::state::ModelState;
use crate::tools::{self, WriteAccess};

impl Explorer<'_, '_> {
    /// Numbers what the effects of a step spend.
    pub(super) fn spends(&mut self, facts: &StepFacts) -> Vec<u16> {
        let mut spends = Vec::new();
        for moment in &facts.moments {
            let child = match moment {
                StepFact::Invoked { src, input, .. } => self.outcomes_of_chart(src, input),
                _ => None,
            };
            for found in spending::of_effect(self.model, &self.machine.budgets, moment, child.as_deref()) {
                let known = &mut self.found.spendings;
                let number = known.iter().position(|it| *it == found).unwrap_or_else(|| {
                    known.push(found);
                    known.len() - 1
                });
                spends.push(number as u16);
            }
        }
        spends
    }

    /// Judges whether an effect writes in a state that only reads. A parent asks the same about all effects of a child.
    pub(super) fn judge_writing(
        &mut self,
        at: (Option<u32>, &ModelInput),
        moment: &StepFact,
        state: &ModelState,
        child: Option<&ChildOutcomes>,
    ) {
        if self.shared.stack.len() > 1 {
            self.found.outcomes.writing.add(WriteAccess::of(moment, child));
        }
        match tools::written_while_reading(self.model, moment, state, child) {
            Some((true, why)) => self.record("read_only_phases", at.0, at.1, why),
            Some((false, why)) => _ = self.found.may_write.get_or_insert(why),
            None => {}
        }
    }

    /// Adds what a parent has to know about a child besides its results.
    pub(super) fn finish_child(&mut self) {
        if self.shared.has_leads {
            self.found.outcomes.ending = Ending::of(&self.found.graph);
        }
        if self.shared.mode == Mode::Concrete {
            self.found.outcomes.starts = starts(self.model, &self.found);
        }
        (self.found.outcomes.spends, self.found.outcomes.endless) = spending::of_child(&self.found);
    }

    /// Notes questions to people, of this chart and of its children.
    pub(super) fn note_questions(&mut self, id: &Arc<str>, src: &str, child: Option<&ChildOutcomes>) {
        let invoke = || Arc::<str>::from(id.split('[').next().unwrap_or(id));
        if ServiceName::of(src).class == ServiceClass::Human {
            self.found.outcomes.asks.get_or_insert_with(invoke);
        }
        let asked = child.and_then(|child| child.asks.clone());
        if let Some(question) = asked {
            self.found.outcomes.asks.get_or_insert_with(|| Arc::clone(&question));
            self.found.asking.insert(invoke(), question);
        }
    }
}
