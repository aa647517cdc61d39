//! Everything that can happen to an instance at rest: events that its active states handle, the next timer, and each
//! outcome of each pending call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rawko_core::{Invocation, Schema, ServiceClass, ServiceName, Trigger, Unhandled, Value};

use crate::analysis::Analysis;
use crate::children::ChildOutcomes;
use crate::clocks::Clocks;
use crate::data::matches;
use crate::graph::{Cause, Input};
use crate::mode::Mode;
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
    /// See [`crate::graph::Edge::group`].
    pub(crate) group: u16,
}

impl Choice {
    fn new(input: Input, cause: Cause) -> Self {
        Self { input, cause, answer: None, group: 0 }
    }
}

/// The group of all timers: which of them fires first is not a choice.
const TIME: u16 = u16::MAX;

/// The inputs of a chart, computed once per event and invoke.
#[derive(Debug)]
pub(crate) struct Inputs<'m> {
    model: &'m Model,
    analysis: &'m Analysis,
    /// Names of events from outside that each state handles.
    by_node: Vec<Vec<Arc<str>>>,
    /// Names that are tried in every state, because a property mentions them or any event.
    everywhere: Vec<Arc<str>>,
    /// All names from outside.
    names: Vec<Arc<str>>,
    events: BTreeMap<Arc<str>, Vec<Value>>,
    outcomes: BTreeMap<Arc<str>, Vec<(Arc<str>, Value)>>,
    mode: Mode,
    clocks: Clocks,
    /// The steps in which time passes while nothing is due; without it, one wait before each timer.
    tick_ms: Option<i64>,
    /// Why some data could not be tried.
    pub(crate) gaps: BTreeSet<String>,
}

fn is_reserved(name: &str) -> bool {
    ["done.", "error.", "timeout."].iter().any(|prefix| name.starts_with(prefix))
}

impl<'m> Inputs<'m> {
    pub(crate) fn new(
        model: &'m Model,
        analysis: &'m Analysis,
        (everywhere, is_any): (Vec<Arc<str>>, bool),
        (mode, tick_ms): (Mode, Option<i64>),
    ) -> Self {
        let mut inputs = Self {
            model,
            analysis,
            by_node: Vec::new(),
            everywhere,
            names: Vec::new(),
            events: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            mode,
            clocks: Clocks::of(model),
            tick_ms,
            gaps: BTreeSet::new(),
        };
        let names = inputs.outside_names();
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
        let is_open = model.chart.declared_events().is_none();
        inputs.everywhere.retain(|name| names.contains(name) || (is_open && !is_reserved(name)));
        if is_any {
            inputs.everywhere.extend(names);
        }
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
        for invocation in state.snapshot.pending() {
            if !state.waits_for_retry(invocation.id) {
                self.answers(&invocation, child(&invocation), &mut choices);
            }
        }
        if !self.mode.is_general()
            && let Some(due_ms) = state.next_due_ms()
        {
            let ms = (due_ms - state.now_ms).max(0);
            choices.push(Choice::new(Input::Advance { ms }, Cause::Timer));
        }
        for name in self.names_at(state) {
            for data in self.event_data(&name) {
                choices.push(Choice::new(Input::Event { name: Arc::clone(&name), data }, Cause::Outside));
            }
        }
        choices.iter_mut().enumerate().for_each(|(number, choice)| choice.group = number as u16);
        match self.mode.is_general() {
            true => choices.extend(any_timer(state)),
            false => choices.extend(self.wait(state, choices.len())),
        }
        choices
    }

    /// Returns the input that lets time pass without anything being due, if it matters when inputs arrive.
    fn wait(&self, state: &State, others: usize) -> Option<Choice> {
        let left_ms = state.next_due_ms()? - state.now_ms;
        let ms = match self.tick_ms {
            Some(tick_ms) => tick_ms,
            None if self.clocks.count > 1 && !self.is_shifted(state) => left_ms - 1,
            None => return None,
        };
        let is_before = ms > 0 && ms < left_ms && others > 1;
        is_before.then(|| Choice::new(Input::Advance { ms }, Cause::Wait))
    }

    /// Returns true if a pending timer is off the common unit: one wait at a time keeps the states few.
    fn is_shifted(&self, state: &State) -> bool {
        let timers = state.snapshot.timers().iter().map(|timer| timer.due_ms);
        let mut due = timers.chain(state.expiries.iter().map(|(_, due_ms)| *due_ms));
        due.any(|due_ms| (due_ms - state.now_ms) % self.clocks.unit_ms != 0)
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
        let values = self.data(name, &Value::Null, schema);
        self.events.insert(Arc::clone(name), values.clone());
        values
    }

    /// Returns the data to try for an event, beginning with what `base` has.
    fn data(&mut self, name: &str, base: &Value, schema: Option<&Schema>) -> Vec<Value> {
        if self.mode.is_general() {
            return self.analysis.general_data_of(name, base, self.mode.is_fine());
        }
        let choices = self.analysis.data_of(name, base, schema);
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
        let name = self.model.chart.invocation_name(invocation);
        let question: Arc<str> = self.model.chart.invoke_name(invocation.invoke).into();
        let class = ServiceName::of(&invocation.src).class;
        let cause = if class == ServiceClass::Human { Cause::Person } else { Cause::Service };
        let outcomes = match &child {
            Some(child) => child.events(&name),
            None => self.outcomes_of(&name, &question, class, &invocation.input),
        };
        for (name, data) in outcomes {
            let denies = name.starts_with("error.") || data.get("approved").as_bool() == Some(false);
            let answer = (class == ServiceClass::Human).then(|| (Arc::clone(&question), denies));
            choices.push(Choice { answer, ..Choice::new(Input::Event { name, data }, cause) });
        }
    }

    /// Returns the results of a call that is not a known chart, as events.
    fn outcomes_of(
        &mut self,
        id: &Arc<str>,
        invoke: &str,
        class: ServiceClass,
        input: &Value,
    ) -> Vec<(Arc<str>, Value)> {
        let form = (class == ServiceClass::Human).then(|| rawko_instance::form_schema(input)).flatten();
        let shown = form.as_ref().map(ToString::to_string).unwrap_or_default();
        let key: Arc<str> = format!("{}.{id}.{shown}", class.as_str()).into();
        if let Some(known) = self.outcomes.get(&key) {
            return known.clone();
        }
        let (done, error): (Arc<str>, Arc<str>) =
            (format!("done.invoke.{id}").into(), format!("error.invoke.{id}").into());
        let failure =
            |category| Value::map([("category", Value::str(category)), ("message", Value::str("it failed"))]);
        let mut outcomes = Vec::new();
        let mut add = |name: &Arc<str>, values: Vec<Value>| {
            outcomes.extend(values.into_iter().map(|data| (Arc::clone(name), data)));
        };
        if class == ServiceClass::Human {
            let whole = form.map(|form| Value::map([("properties", Value::map([("data", form)]))]));
            let whole = whole.map(|whole| Schema::compile(&whole).0);
            let approved = Value::map([("approved", Value::Bool(true))]);
            add(&done, self.data(&done, &with_form(approved, whole.as_ref()), whole.as_ref()));
            add(&done, self.data(&done, &Value::map([("approved", Value::Bool(false))]), None));
            // A question fails only by expiring or by a refusal of the host; tried where the chart handles it.
            if self.model.chart.handles(&error) {
                add(&error, self.data(&error, &failure("refused"), None));
            }
        } else {
            let spec = self.model.specs.get(invoke);
            let output = spec.and_then(|spec| spec.output.clone());
            add(&done, self.data(&done, &Value::Null, output.as_ref()));
            let all = self.analysis.classes.is_distinguished("category");
            for category in CATEGORIES.iter().take(if all { CATEGORIES.len() } else { 1 }) {
                add(&error, self.data(&error, &failure(category), None));
            }
        }
        self.outcomes.insert(key, outcomes.clone());
        outcomes
    }
}

/// Adds data that the form accepts to an answer.
fn with_form(mut answer: Value, schema: Option<&Schema>) -> Value {
    let form = schema.map(|schema| schema.source().get("properties").get("data").clone());
    let sample = form.map(|form| crate::data::sample(&form)).filter(|sample| sample.as_map().is_some());
    if let Some(sample) = sample {
        crate::shape::put(&mut answer, &["data".into()], sample);
    }
    answer
}

/// Every pending timer and deadline, in no particular order.
fn any_timer(state: &State) -> impl Iterator<Item = Choice> + '_ {
    let timers = state.snapshot.timers().iter().map(|timer| Input::Fire { timer: timer.id });
    let expiries = state.expiries.iter().map(|(invocation, _)| Input::Expire { invocation: *invocation });
    timers.chain(expiries).map(|input| Choice { group: TIME, ..Choice::new(input, Cause::Timer) })
}
