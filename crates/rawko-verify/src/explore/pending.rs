//! Pending work of a state, numbered so that it can be followed from step to step; and the outcomes of child charts.

use std::sync::Arc;

use rawko_chart::{Property, PropertyKind};
use rawko_core::{Delay, Invocation, ServiceClass, ServiceName, TimerPurpose, Value};

use super::Explorer;
use crate::children::{ChildOutcomes, find};
use crate::graph::{Edge, InputCause};
use crate::parts;
use crate::progress::endless_parts;
use crate::state::ModelState;

/// Generations of children that an instance may have, as the instance machine limits them.
const GENERATIONS_MAX: usize = 32;

/// Pending work by its id.
pub(super) enum PendingItem {
    Timer(u64),
    Call(u64),
    Question(u64),
    Expiry(u64),
}

/// An invoke and the item of its `each`.
type CallName = (u32, Option<u32>);

/// What pending work is known by from state to state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum WorkName {
    After(u32, u32),
    Send(Arc<str>, Arc<str>),
    Timeout(Option<CallName>),
    Retry(Option<CallName>),
    Each,
    Call(CallName),
    Expiry(Option<CallName>),
}

impl Explorer<'_, '_> {
    pub(super) fn pending(&mut self, state: &ModelState) -> Vec<(u16, PendingItem)> {
        let mut pending = Vec::new();
        for timer in state.snapshot.timers() {
            let name = match &timer.purpose {
                TimerPurpose::After { node, index } => WorkName::After(node.0, *index),
                TimerPurpose::Send { target, event } => {
                    WorkName::Send(Arc::clone(target), Arc::clone(&event.name))
                }
                TimerPurpose::InvokeTimeout { invocation } => {
                    WorkName::Timeout(invoke_of(state, *invocation))
                }
                TimerPurpose::InvokeRetry { invocation } => WorkName::Retry(invoke_of(state, *invocation)),
                TimerPurpose::EachContinue { .. } => WorkName::Each,
            };
            pending.push((self.number(name), PendingItem::Timer(timer.id)));
        }
        for invocation in state.snapshot.pending() {
            let is_person = ServiceName::of(&invocation.src).class == ServiceClass::Human;
            let number = self.number(WorkName::Call(call_of(&invocation)));
            let item = if is_person {
                PendingItem::Question(invocation.id)
            } else {
                PendingItem::Call(invocation.id)
            };
            if !state.waits_for_retry(invocation.id) {
                pending.push((number, item));
            }
        }
        for (invocation, _) in &state.expiries {
            let name = WorkName::Expiry(invoke_of(state, *invocation));
            pending.push((self.number(name), PendingItem::Expiry(*invocation)));
        }
        pending
    }

    fn number(&mut self, name: WorkName) -> u16 {
        let next = self.work.len() as u16;
        *self.work.entry(name).or_insert(next)
    }

    /// Finds rounds of timers whose delays are computed: all of them may be 0, and a step with too many of them fails. A
    /// general exploration does not know the delays.
    pub(super) fn note_rounds_without_delay(&mut self) {
        let computed: Vec<u16> =
            self.work.iter().filter(|(name, _)| self.is_computed(name)).map(|(_, number)| *number).collect();
        if !self.shared.mode.is_general() || computed.is_empty() {
            return;
        }
        let graph = &self.found.graph;
        let may_be_at_once = |edge: &Edge| {
            let label = graph.label(edge);
            label.cause == InputCause::Timer && label.ends.iter().any(|number| computed.contains(number))
        };
        if endless_parts(graph, may_be_at_once).is_empty() {
            return;
        }
        self.found.has_open_delay = true;
        let is_timed = |property: &Property| {
            matches!(property.kind, PropertyKind::LeadsTo { .. } | PropertyKind::Within { .. })
        };
        if self.shared.stack.len() > 1 || self.watch.properties.iter().any(is_timed) {
            self.inputs.gaps.insert("computed delays may be 0 in every round of a loop".to_owned());
        }
    }

    /// Returns true for a timer whose delay the chart computes.
    fn is_computed(&self, name: &WorkName) -> bool {
        let blueprint = &self.model.blueprint;
        let is_open = |delay: &Delay| parts::delay_expr(delay).is_some_and(|expr| expr.constant().is_none());
        match name {
            WorkName::After(node, index) => {
                let timers = blueprint.nodes.get(*node as usize).map(|node| &node.timers);
                timers.and_then(|timers| timers.get(*index as usize)).is_none_or(is_open)
            }
            WorkName::Send(..) => parts::delays_of_sends(blueprint).into_iter().any(is_open),
            WorkName::Timeout(_) => {
                self.model.invokes().any(|(_, invoke)| invoke.timeout.as_ref().is_some_and(is_open))
            }
            WorkName::Expiry(_) => true,
            WorkName::Retry(_) | WorkName::Each | WorkName::Call(_) => false,
        }
    }

    pub(super) fn child_outcomes(&mut self, invocation: &Invocation) -> Option<Arc<ChildOutcomes>> {
        self.outcomes_of_chart(&invocation.src, &invocation.input)
    }

    /// Explores a child chart by itself, once for each input. `None` if the service is not a known chart.
    pub(super) fn outcomes_of_chart(&mut self, src: &str, input: &Value) -> Option<Arc<ChildOutcomes>> {
        let reference = ServiceName::member_of(src, ServiceClass::Chart)?;
        let model = find(self.shared.charts, reference)?;
        let key = format!("{}@{} {input}", model.chart.id(), model.chart.version());
        if let Some(known) = self.shared.children.get(&key) {
            return Some(Arc::clone(known));
        }
        let is_repeated = self.shared.stack.contains(&key);
        if is_repeated || self.shared.stack.len() >= GENERATIONS_MAX {
            self.shared.child_gaps.insert(format!("`{}` invokes itself", model.chart.id()));
            return Some(Arc::new(ChildOutcomes { is_unbounded: true, ..ChildOutcomes::default() }));
        }
        self.shared.stack.push(key.clone());
        let explored = Explorer::new(model, true, self.shared).run(input.clone());
        self.shared.stack.pop();
        self.shared.child_clocks = self.shared.child_clocks.max(explored.clocks);
        if !explored.outcomes.complete {
            let why = explored.gaps.first().map_or("a limit was reached", |gap| gap);
            self.shared.child_gaps.insert(format!("in `{}`: {why}", model.chart.id()));
        }
        let outcomes = Arc::new(explored.outcomes);
        self.shared.children.insert(key, Arc::clone(&outcomes));
        Some(outcomes)
    }
}

fn invoke_of(state: &ModelState, id: u64) -> Option<CallName> {
    state.snapshot.invocation(id).map(|invocation| call_of(&invocation))
}

fn call_of(invocation: &Invocation) -> CallName {
    (invocation.invoke.0, invocation.item)
}
