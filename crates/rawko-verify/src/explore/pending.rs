//! Pending work of a state, numbered so that it can be followed from step to step; and the outcomes of child charts.

use std::sync::Arc;

use rawko_core::{Invocation, ServiceClass, ServiceName, TimerPurpose, Value};

use super::Explorer;
use crate::children::{ChildOutcomes, find};
use crate::state::State;

/// Generations of children that an instance may have, as the instance machine limits them.
const GENERATIONS_MAX: usize = 32;

/// Pending work by its id.
pub(super) enum Work {
    Timer(u64),
    Call(u64),
    Question(u64),
    Expiry(u64),
}

impl Explorer<'_, '_> {
    pub(super) fn pending(&mut self, state: &State) -> Vec<(u16, Work)> {
        let mut pending = Vec::new();
        for timer in state.snapshot.timers() {
            let name = match &timer.purpose {
                TimerPurpose::After { node, index } => format!("a{}.{index}", node.0),
                TimerPurpose::Send { target, event } => format!("s{target}.{}", event.name),
                TimerPurpose::InvokeTimeout { invocation } => {
                    format!("t{}", self.invoke_of(state, *invocation))
                }
                TimerPurpose::InvokeRetry { invocation } => {
                    format!("r{}", self.invoke_of(state, *invocation))
                }
                TimerPurpose::EachContinue { .. } => "e".to_owned(),
            };
            pending.push((self.number(name), Work::Timer(timer.id)));
        }
        for invocation in state.snapshot.pending() {
            let is_person = ServiceName::of(&invocation.src).class == ServiceClass::Human;
            let number = self.number(format!("c{}", work_of(&invocation)));
            let item = if is_person { Work::Question(invocation.id) } else { Work::Call(invocation.id) };
            if !state.waits_for_retry(invocation.id) {
                pending.push((number, item));
            }
        }
        for (invocation, _) in &state.expiries {
            let name = format!("x{}", self.invoke_of(state, *invocation));
            pending.push((self.number(name), Work::Expiry(*invocation)));
        }
        pending
    }

    pub(super) fn invoke_of(&self, state: &State, id: u64) -> String {
        state.snapshot.invocation(id).map_or_else(String::new, |invocation| work_of(&invocation))
    }

    pub(super) fn number(&mut self, name: String) -> u16 {
        let next = self.work.len() as u16;
        *self.work.entry(name).or_insert(next)
    }

    pub(super) fn child_outcomes(&mut self, invocation: &Invocation) -> Option<Arc<ChildOutcomes>> {
        self.outcomes_of_chart(&invocation.src, &invocation.input)
    }

    /// Explores a child chart by itself, once for each input. `None` if the service is not a known chart.
    pub(super) fn outcomes_of_chart(&mut self, src: &str, input: &Value) -> Option<Arc<ChildOutcomes>> {
        let reference = ServiceName::member_of(src, ServiceClass::Chart)?;
        let model = find(self.shared.charts, reference)?;
        let key = format!("{} {input}", model.chart.id());
        if let Some(known) = self.shared.children.get(&key) {
            return Some(Arc::clone(known));
        }
        let is_repeated = self.shared.stack.contains(&key);
        if is_repeated || self.shared.stack.len() >= GENERATIONS_MAX {
            return Some(Arc::new(ChildOutcomes { is_unbounded: true, ..ChildOutcomes::default() }));
        }
        self.shared.stack.push(key.clone());
        let explored = Explorer::new(model, true, self.shared).run(input.clone());
        self.shared.stack.pop();
        self.shared.child_clocks = self.shared.child_clocks.max(explored.clocks);
        let outcomes = Arc::new(explored.outcomes);
        self.shared.children.insert(key, Arc::clone(&outcomes));
        Some(outcomes)
    }
}

/// The name of an invocation as work: that of its invoke and item.
fn work_of(invocation: &Invocation) -> String {
    let item = invocation.item.map_or_else(String::new, |item| format!("[{item}]"));
    format!("{}{item}", invocation.invoke.0)
}
