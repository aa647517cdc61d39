//! Everything that can happen to an instance at rest: events that its active states handle, the next timer, and each
//! outcome of each pending call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rawko_core::{Delay, Invocation, ServiceClass, ServiceName, Trigger, Unhandled, Value};

use crate::analysis::Analysis;
use crate::children::ChildOutcomes;
use crate::data::{Choices, matches};
use crate::graph::{Cause, Input};
use crate::model::Model;
use crate::state::State;

/// Failures of a call that a chart can tell apart.
const CATEGORIES: [&str; 9] =
    ["failed", "network", "timeout", "invalid_answer", "refused", "unknown", "interrupted", "limit", "host"];

/// Events that are deferred at a time (`unhandled: defer`).
pub(crate) const DEFERRED_MAX: usize = 2;

/// One possible input.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) input: Input,
    pub(crate) cause: Cause,
    /// For an answer of a person: whether it denies, and the id of the invoke.
    pub(crate) answer: Option<(Arc<str>, bool)>,
}

/// The inputs of a chart, computed once per event and invoke.
#[derive(Debug)]
pub(crate) struct Inputs<'m> {
    model: &'m Model,
    analysis: &'m Analysis,
    /// Names of events from outside that each state handles.
    by_node: Vec<Vec<Arc<str>>>,
    /// Names that are tried in every state, because a property mentions them.
    everywhere: Vec<Arc<str>>,
    /// All names from outside.
    names: Vec<Arc<str>>,
    events: BTreeMap<Arc<str>, Vec<Value>>,
    outcomes: BTreeMap<Arc<str>, Vec<(Arc<str>, Value)>>,
    /// The chart has several timers, so that it matters when an event arrives.
    has_races: bool,
    /// The greatest common divisor of all delays: a timer that is off it has been shifted by a wait already.
    unit_ms: i64,
    /// Why some data could not be tried.
    pub(crate) gaps: BTreeSet<String>,
}

fn is_reserved(name: &str) -> bool {
    ["done.", "error.", "timeout."].iter().any(|prefix| name.starts_with(prefix))
}

impl<'m> Inputs<'m> {
    pub(crate) fn new(model: &'m Model, analysis: &'m Analysis, everywhere: Vec<Arc<str>>) -> Self {
        let mut inputs = Self {
            model,
            analysis,
            by_node: Vec::new(),
            everywhere,
            names: Vec::new(),
            events: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            has_races: timers_of(model) > 1,
            unit_ms: unit_of(model),
            gaps: BTreeSet::new(),
        };
        let names = inputs.outside_names();
        for invoke in model.blueprint.nodes.iter().flat_map(|node| &node.invokes) {
            if invoke.each.is_some() {
                // Items have no identity in a state's key yet, so that some of their orders are left out.
                inputs.gaps.insert(format!("the items of `{}` were not tried in every order", invoke.id));
            }
        }
        for node in &model.blueprint.nodes {
            let patterns = node.transitions.iter().filter_map(|transition| match &transition.trigger {
                Trigger::Event(pattern) => Some(pattern),
                Trigger::Always | Trigger::After(_) | Trigger::Item { .. } => None,
            });
            let mut handled: Vec<Arc<str>> = Vec::new();
            for pattern in patterns {
                for name in names.iter().filter(|name| matches(pattern, name)) {
                    if !handled.contains(name) {
                        handled.push(Arc::clone(name));
                    }
                }
            }
            inputs.by_node.push(handled);
        }
        inputs.names = names.clone();
        inputs.everywhere.retain(|name| names.contains(name) || !model.chart.handles(name));
        inputs
    }

    /// Returns the names that may come from outside: those declared, or those handled.
    fn outside_names(&self) -> Vec<Arc<str>> {
        if let Some(declared) = self.model.chart.declared_events() {
            return declared
                .iter()
                .filter(|spec| !spec.internal)
                .map(|spec| Arc::clone(&spec.name))
                .collect();
        }
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut add = |name: &str| {
            if !is_reserved(name) && !name.is_empty() && !names.iter().any(|known| &**known == name) {
                names.push(name.into());
            }
        };
        let mut has_any = false;
        for transition in self.model.blueprint.nodes.iter().flat_map(|node| &node.transitions) {
            match &transition.trigger {
                Trigger::Event(pattern) => match pattern.strip_suffix('*') {
                    Some("") => has_any = true,
                    Some(prefix) => add(prefix.trim_end_matches('.')),
                    None => add(pattern),
                },
                Trigger::Always | Trigger::After(_) | Trigger::Item { .. } => {}
            }
        }
        if has_any {
            add("ANY_OTHER");
        }
        names
    }

    /// Returns the inputs of a state. `child` gives the outcomes of an invocation that is a known chart.
    pub(crate) fn of(
        &mut self,
        state: &State,
        child: &mut dyn FnMut(&Invocation) -> Option<Arc<ChildOutcomes>>,
    ) -> Vec<Choice> {
        let mut choices = Vec::new();
        if state.snapshot.status().is_over() {
            return choices;
        }
        for invocation in state.snapshot.invocations() {
            if !state.waits_for_retry(invocation.id) {
                self.answers(invocation, child(invocation), &mut choices);
            }
        }
        if let Some(due_ms) = state.next_due_ms() {
            let ms = (due_ms - state.now_ms).max(0);
            choices.push(Choice { input: Input::Advance { ms }, cause: Cause::Timer, answer: None });
        }
        for name in self.names_at(state) {
            for data in self.event_data(&name) {
                let input = Input::Event { name: Arc::clone(&name), data };
                choices.push(Choice { input, cause: Cause::Outside, answer: None });
            }
        }
        if let Some(due_ms) = state.next_due_ms().filter(|_| self.has_races) {
            let ms = due_ms - state.now_ms - 1;
            if ms > 0 && choices.len() > 1 && !self.is_shifted(state) {
                choices.push(Choice { input: Input::Advance { ms }, cause: Cause::Wait, answer: None });
            }
        }
        choices
    }

    /// Returns true if a pending timer is off the common unit: one wait at a time keeps the states few.
    fn is_shifted(&self, state: &State) -> bool {
        let timers = state.snapshot.timers().iter().map(|timer| timer.due_ms);
        let mut due = timers.chain(state.expiries.iter().map(|(_, due_ms)| *due_ms));
        due.any(|due_ms| (due_ms - state.now_ms) % self.unit_ms != 0)
    }

    fn names_at(&self, state: &State) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut seen: Vec<u32> = Vec::new();
        for leaf in state.snapshot.configuration().frontier() {
            let mut at = Some(*leaf);
            while let Some(node) = at.filter(|node| !seen.contains(&node.0)) {
                seen.push(node.0);
                for name in &self.by_node[node.index()] {
                    if !names.contains(name) {
                        names.push(Arc::clone(name));
                    }
                }
                at = self.model.chart.node(node).parent;
            }
        }
        // An event that no state handles now may be handled later.
        let defers = self.model.chart.unhandled() == Unhandled::Defer
            && state.snapshot.deferred().len() < DEFERRED_MAX;
        let later = if defers { &self.names[..] } else { &[] };
        for name in later.iter().chain(&self.everywhere) {
            if !names.contains(name) {
                names.push(Arc::clone(name));
            }
        }
        names
    }

    fn event_data(&mut self, name: &Arc<str>) -> Vec<Value> {
        if let Some(known) = self.events.get(name) {
            return known.clone();
        }
        let schema = self.model.chart.event_spec(name).and_then(|spec| spec.data.as_ref());
        let choices = self.analysis.data_of(name, &Value::Null, schema);
        let values = self.note(name, choices);
        self.events.insert(Arc::clone(name), values.clone());
        values
    }

    fn note(&mut self, name: &str, choices: Choices) -> Vec<Value> {
        if !choices.complete {
            self.gaps.insert(format!("not every combination of the data of `{name}` was tried"));
        }
        choices.values
    }

    fn answers(
        &mut self,
        invocation: &Invocation,
        child: Option<Arc<ChildOutcomes>>,
        choices: &mut Vec<Choice>,
    ) {
        let id: Arc<str> = self.model.chart.invoke_name(invocation.invoke).into();
        let class = ServiceName::of(&invocation.src).class;
        let cause = if class == ServiceClass::Human { Cause::Person } else { Cause::Service };
        let outcomes = match &child {
            Some(child) => child.events(&id),
            None => self.outcomes_of(&id, class),
        };
        for (name, data) in outcomes {
            let denies = name.starts_with("error.") || data.get("approved").as_bool() == Some(false);
            let answer = (class == ServiceClass::Human).then(|| (Arc::clone(&id), denies));
            choices.push(Choice { input: Input::Event { name, data }, cause, answer });
        }
    }

    /// Returns the results of a call that is not a known chart, as events.
    fn outcomes_of(&mut self, id: &Arc<str>, class: ServiceClass) -> Vec<(Arc<str>, Value)> {
        let key: Arc<str> = format!("{}.{id}", class.as_str()).into();
        if let Some(known) = self.outcomes.get(&key) {
            return known.clone();
        }
        let analysis = self.analysis;
        let (done, error): (Arc<str>, Arc<str>) =
            (format!("done.invoke.{id}").into(), format!("error.invoke.{id}").into());
        let mut outcomes = Vec::new();
        let mut tried = Vec::new();
        if class == ServiceClass::Human {
            for approved in [true, false] {
                let base = Value::map([("approved", Value::Bool(approved))]);
                tried.push((&done, analysis.data_of(&done, &base, None)));
            }
            // A question fails only by expiring or by a refusal of the host; tried where the chart handles it.
            if self.model.chart.handles(&error) {
                let base =
                    Value::map([("category", Value::str("refused")), ("message", Value::str("it failed"))]);
                tried.push((&error, analysis.data_of(&error, &base, None)));
            }
        } else {
            tried.push((&done, analysis.data_of(&done, &Value::Null, None)));
            let all = analysis.classes.is_distinguished("category");
            for category in CATEGORIES.iter().take(if all { CATEGORIES.len() } else { 1 }) {
                let base =
                    Value::map([("category", Value::str(category)), ("message", Value::str("it failed"))]);
                tried.push((&error, analysis.data_of(&error, &base, None)));
            }
        }
        for (name, choices) in tried {
            let name = Arc::clone(name);
            let values = self.note(&name, choices);
            outcomes.extend(values.into_iter().map(|data| (Arc::clone(&name), data)));
        }
        self.outcomes.insert(key, outcomes.clone());
        outcomes
    }
}

/// Counts the timers that a chart can have pending.
pub(crate) fn timers_of(model: &Model) -> usize {
    let nodes = model.blueprint.nodes.iter();
    let after: usize = nodes.map(|node| node.timers.len()).sum();
    let calls =
        model.invokes().filter(|(_, invoke)| invoke.timeout.is_some() || invoke.retry.is_some()).count();
    after + calls + model.analysis.delayed_sends
}

/// Returns the greatest common divisor of the delays that are written out.
fn unit_of(model: &Model) -> i64 {
    fn divisor(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    let fixed = |delay: &Delay| match delay {
        Delay::Millis(ms) => *ms,
        Delay::Expr(..) => 0,
    };
    let mut unit = 0;
    for node in &model.blueprint.nodes {
        for delay in &node.timers {
            unit = divisor(unit, fixed(delay));
        }
        for invoke in &node.invokes {
            unit = divisor(unit, invoke.timeout.as_ref().map_or(0, fixed));
            unit = divisor(unit, invoke.retry.as_ref().map_or(0, |retry| retry.initial_delay_ms));
        }
    }
    i64::try_from(unit).unwrap_or(1).max(1)
}
