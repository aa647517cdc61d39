//! Everything that can happen to an instance at rest: events that its active states handle, the next timer, and each
//! outcome of each pending call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use rawko_core::{Invocation, NodeSpec, Schema, TransitionTrigger, Unhandled, Value, is_fact};

use crate::analysis::DataAnalysis;
use crate::children::ChildOutcomes;
use crate::clocks::Clocks;
use crate::data::matches;
use crate::graph::{InputCause, ModelInput};
use crate::mode::Mode;
use crate::model::Model;
use crate::state::ModelState;

/// Events that are deferred at a time (`unhandled: defer`).
pub(crate) const DEFERRED_MAX: usize = 2;

/// One possible input.
#[derive(Clone, Debug)]
pub(crate) struct InputChoice {
    pub(crate) input: ModelInput,
    pub(crate) cause: InputCause,
    /// For an answer of a person: whether it denies, and the id of the invoke.
    pub(crate) answer: Option<(Arc<str>, bool)>,
}

impl InputChoice {
    pub(crate) fn new(input: ModelInput, cause: InputCause) -> Self {
        Self { input, cause, answer: None }
    }
}

/// An input of one state: the number of its [`InputChoice`], and the group of its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    pub(crate) choice: u32,
    /// See [`crate::graph::Label::group`].
    pub(crate) group: u16,
}

/// The group of all timers: which of them fires first is not a choice.
const TIME: u16 = u16::MAX;

/// A call: the number of its invoke, its item and its source.
type CallName = (u32, Option<u32>, Arc<str>);

/// The name of an event from outside.
#[derive(Debug)]
struct EventName {
    name: Arc<str>,
    /// Its choices, once they are known.
    choices: Option<Box<[u32]>>,
    /// The last look-up that found it.
    found: u32,
}

impl EventName {
    fn new(name: Arc<str>) -> Self {
        Self { name, choices: None, found: 0 }
    }
}

/// The inputs of a chart, computed once per event and invoke.
#[derive(Debug)]
pub(crate) struct ChartInputs<'m> {
    pub(crate) model: &'m Model,
    pub(crate) analysis: &'m DataAnalysis,
    /// Names of events from outside that each state handles, by number.
    by_node: Vec<Vec<u32>>,
    /// Names that are tried in every state, because a property mentions them or any event.
    everywhere: Vec<u32>,
    /// Names from outside by number; the first `declared` of them are declared or handled.
    names: Vec<EventName>,
    declared: u32,
    /// All choices so far, by number.
    pub(crate) choices: Vec<Arc<InputChoice>>,
    /// The number of the last look-up, and the one in which each node was last visited.
    look_up: u32,
    visited: Vec<u32>,
    /// The outcomes of calls of services.
    pub(crate) calls: FxHashMap<CallName, Arc<[u32]>>,
    times: FxHashMap<(InputCause, i64), u32>,
    timers: FxHashMap<u64, u32>,
    expiries: FxHashMap<u64, u32>,
    /// Failed deliveries, once they are known.
    pub(crate) undelivered: Option<Arc<[u32]>>,
    pub(crate) outcomes: BTreeMap<Arc<str>, Vec<(Arc<str>, Value)>>,
    /// Answers of people and of child charts, by number.
    pub(crate) answered: Vec<u32>,
    mode: Mode,
    clocks: Clocks,
    /// The steps in which time passes while nothing is due; without it, one wait before each timer.
    tick_ms: Option<i64>,
    /// Why some data could not be tried.
    pub(crate) gaps: BTreeSet<String>,
}

/// Returns the numbers of the names that a state handles.
fn handled(node: &NodeSpec, names: &[Arc<str>]) -> Vec<u32> {
    let mut handled: Vec<u32> = Vec::new();
    for transition in &node.transitions {
        let TransitionTrigger::Event(pattern) = &transition.trigger else { continue };
        for number in 0..names.len() as u32 {
            if matches(pattern, &names[number as usize]) && !handled.contains(&number) {
                handled.push(number);
            }
        }
    }
    handled
}

impl<'m> ChartInputs<'m> {
    pub(crate) fn new(
        model: &'m Model,
        analysis: &'m DataAnalysis,
        (everywhere, is_any): (Vec<Arc<str>>, bool),
        (mode, tick_ms): (Mode, Option<i64>),
    ) -> Self {
        let mut inputs = Self {
            model,
            analysis,
            by_node: Vec::new(),
            everywhere: Vec::new(),
            names: Vec::new(),
            declared: 0,
            choices: Vec::new(),
            look_up: 0,
            visited: vec![0; model.blueprint.nodes.len()],
            calls: FxHashMap::default(),
            times: FxHashMap::default(),
            timers: FxHashMap::default(),
            expiries: FxHashMap::default(),
            undelivered: None,
            outcomes: BTreeMap::new(),
            answered: Vec::new(),
            mode,
            clocks: Clocks::of(model),
            tick_ms,
            gaps: BTreeSet::new(),
        };
        let names = inputs.outside_names();
        inputs.by_node = model.blueprint.nodes.iter().map(|node| handled(node, &names)).collect();
        let is_open = model.chart.declared_events().is_none();
        inputs.declared = names.len() as u32;
        inputs.names = names.into_iter().map(EventName::new).collect();
        for name in everywhere {
            let known = inputs.names.iter().position(|known| known.name == name);
            if known.is_none() && is_open && !is_fact(&name) {
                inputs.everywhere.push(inputs.names.len() as u32);
                inputs.names.push(EventName::new(name));
            }
            inputs.everywhere.extend(known.map(|number| number as u32));
        }
        if is_any {
            inputs.everywhere.extend(0..inputs.declared);
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
            if !is_fact(name) && !name.is_empty() && !names.iter().any(|known| &**known == name) {
                names.push(name.into());
            }
        };
        let (mut has_any, mut prefixes) = (false, Vec::new());
        let transitions = || self.model.blueprint.nodes.iter().flat_map(|node| &node.transitions);
        let is_handled = |name: &str| {
            transitions()
                .any(|it| matches!(&it.trigger, TransitionTrigger::Event(pattern) if **pattern == *name))
        };
        for transition in transitions() {
            match &transition.trigger {
                TransitionTrigger::Event(pattern) => match pattern.strip_suffix('*') {
                    Some("") => has_any = true,
                    Some(prefix) => prefixes.push(prefix),
                    None => add(pattern),
                },
                TransitionTrigger::Always | TransitionTrigger::After(_) | TransitionTrigger::Item { .. } => {}
            }
        }
        self.analysis.event_types.iter().for_each(|name| add(name));
        // A name that also stands alone is handled there, and not by the pattern.
        for prefix in prefixes {
            let stem = prefix.trim_end_matches('.');
            add(stem);
            if is_handled(stem) {
                add(&format!("{prefix}ANY_OTHER"));
            }
        }
        if has_any {
            add("ANY_OTHER");
        }
        names
    }

    pub(crate) fn choice(&self, number: u32) -> Arc<InputChoice> {
        Arc::clone(&self.choices[number as usize])
    }

    /// Adds new inputs to those of the graph, by number.
    pub(crate) fn copy_to(&self, inputs: &mut Vec<ModelInput>) {
        inputs.extend(self.choices[inputs.len()..].iter().map(|choice| choice.input.clone()));
    }

    pub(crate) fn add(&mut self, choice: InputChoice) -> u32 {
        self.choices.push(Arc::new(choice));
        self.choices.len() as u32 - 1
    }

    /// Writes the inputs of a state. `child` gives the outcomes of an invocation that is a known chart.
    pub(crate) fn of(
        &mut self,
        state: &ModelState,
        child: &mut dyn FnMut(&Invocation) -> Option<Arc<ChildOutcomes>>,
        picks: &mut Vec<Pick>,
    ) {
        picks.clear();
        if state.snapshot.status().is_over() {
            return;
        }
        for invocation in state.snapshot.pending() {
            if !state.waits_for_retry(invocation.id) {
                self.answers(&invocation, child(&invocation), picks);
            }
        }
        self.refused_fan_outs(state, picks);
        if state.sent > 0 {
            picks.extend(self.undelivered().iter().map(|choice| Pick { choice: *choice, group: 0 }));
        }
        let is_general = self.mode.is_general();
        if let (false, Some(due_ms)) = (is_general, state.next_due_ms()) {
            let choice = self.advance((due_ms - state.now_ms).max(0), InputCause::Timer);
            picks.push(Pick { choice, group: 0 });
        }
        self.events_at(state, picks);
        picks.iter_mut().enumerate().for_each(|(number, pick)| pick.group = number as u16);
        if is_general {
            self.any_timer(state, picks);
        } else if let Some(ms) = self.wait(state, picks.len()) {
            let choice = self.advance(ms, InputCause::Wait);
            picks.push(Pick { choice, group: 0 });
        }
    }

    fn advance(&mut self, ms: i64, cause: InputCause) -> u32 {
        if let Some(known) = self.times.get(&(cause, ms)) {
            return *known;
        }
        let number = self.add(InputChoice::new(ModelInput::Advance { ms }, cause));
        self.times.insert((cause, ms), number);
        number
    }

    /// Adds every pending timer and deadline, in no particular order.
    fn any_timer(&mut self, state: &ModelState, picks: &mut Vec<Pick>) {
        for timer in state.snapshot.timers().iter().map(|timer| timer.id) {
            let choice = match self.timers.get(&timer) {
                Some(known) => *known,
                None => self.add(InputChoice::new(ModelInput::Fire { timer }, InputCause::Timer)),
            };
            self.timers.insert(timer, choice);
            picks.push(Pick { choice, group: TIME });
        }
        for invocation in state.expiries.iter().map(|(invocation, _)| *invocation) {
            let choice = match self.expiries.get(&invocation) {
                Some(known) => *known,
                None => self.add(InputChoice::new(ModelInput::Expire { invocation }, InputCause::Timer)),
            };
            self.expiries.insert(invocation, choice);
            picks.push(Pick { choice, group: TIME });
        }
    }

    /// Adds the events of a state: those that its active states handle, inner states first, and those tried everywhere.
    fn events_at(&mut self, state: &ModelState, picks: &mut Vec<Pick>) {
        self.look_up += 1;
        for leaf in state.snapshot.configuration().frontier() {
            let mut at = Some(*leaf);
            while let Some(node) = at.filter(|node| self.visited[node.index()] != self.look_up) {
                self.visited[node.index()] = self.look_up;
                for handled in 0..self.by_node[node.index()].len() {
                    self.add_event(self.by_node[node.index()][handled], picks);
                }
                at = self.model.chart.node(node).parent;
            }
        }
        // An event that no state handles now may be handled later.
        let defers = self.model.chart.unhandled() == Unhandled::Defer;
        let is_full = defers && state.snapshot.deferred().len() >= DEFERRED_MAX;
        if defers && !is_full {
            (0..self.declared).for_each(|name| self.add_event(name, picks));
        }
        let everywhere = if is_full { 0 } else { self.everywhere.len() };
        (0..everywhere).for_each(|number| self.add_event(self.everywhere[number], picks));
    }

    fn add_event(&mut self, name: u32, picks: &mut Vec<Pick>) {
        let number = name as usize;
        if self.names[number].found == self.look_up {
            return;
        }
        self.names[number].found = self.look_up;
        if self.names[number].choices.is_none() {
            self.names[number].choices = Some(self.event_choices(number));
        }
        let choices = self.names[number].choices.iter().flatten();
        picks.extend(choices.map(|choice| Pick { choice: *choice, group: 0 }));
    }

    /// Returns the time that passes without anything being due, if it matters when inputs arrive.
    fn wait(&self, state: &ModelState, others: usize) -> Option<i64> {
        let left_ms = state.next_due_ms()? - state.now_ms;
        let ms = match self.tick_ms {
            Some(tick_ms) => tick_ms,
            None if self.clocks.count > 1 && !self.is_shifted(state) => left_ms - 1,
            None => return None,
        };
        (ms > 0 && ms < left_ms && others > 1).then_some(ms)
    }

    /// Returns true if a pending timer is off the common unit: one wait at a time keeps the states few.
    fn is_shifted(&self, state: &ModelState) -> bool {
        let timers = state.snapshot.timers().iter().map(|timer| timer.due_ms);
        let mut due = timers.chain(state.expiries.iter().map(|(_, due_ms)| *due_ms));
        due.any(|due_ms| (due_ms - state.now_ms) % self.clocks.unit_ms != 0)
    }

    fn event_choices(&mut self, number: usize) -> Box<[u32]> {
        let name = Arc::clone(&self.names[number].name);
        let schema = self.model.chart.event_spec(&name).and_then(|spec| spec.data.as_ref());
        let data = self.data(&name, &Value::Null, schema).into_iter();
        data.map(|data| {
            let input = ModelInput::Event { name: Arc::clone(&name), data };
            self.add(InputChoice::new(input, InputCause::Outside))
        })
        .collect()
    }

    /// Returns the data to try for an event, beginning with what `base` has.
    pub(crate) fn data(&mut self, name: &str, base: &Value, schema: Option<&Schema>) -> Vec<Value> {
        if self.mode.is_general() {
            return self.analysis.general_data_of(name, base, self.mode.is_fine());
        }
        let choices = self.analysis.data_of(name, base, schema);
        if !choices.complete {
            self.gaps.insert(format!("not every combination of the data of `{name}` was tried"));
        }
        choices.values
    }
}
