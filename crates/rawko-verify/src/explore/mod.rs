//! The exploration: breadth first, so that the first violation has a shortest trace. Each state is expanded once, with
//! every input on the real step function.

mod effects;
mod judge;
mod pending;
mod result;
mod shared;
mod steps;
mod widening;

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_chart::Atom;
use rawko_core::{Invocation, NodeId, ServiceClass, Status, Value};
use rustc_hash::FxHashMap;

pub(crate) use result::ExplorationResult;
pub(crate) use shared::SharedExploration;

use pending::{PendingItem, WorkName};
use widening::Widening;

use crate::analysis::DataAnalysis;
use crate::children::{ChildOutcomes, DistinctValues, Ending};
use crate::graph::{InputCause, ModelInput, NonMaxU32, PendingWork, StartState, StateNode};
use crate::inputs::{ChartInputs, Pick};
use crate::machine::{Machine, StepFacts, UNDELIVERED};
use crate::mode::Mode;
use crate::model::{Model, class_of};
use crate::oracle::{SCRIPTS_MAX, StepScript};
use crate::spending;
use crate::state::ModelState;
use crate::visited::{StateTable, Storage};
use crate::watch::PropertyWatch;

/// Steps after which the caller is asked whether to stop.
const STEPS_PER_STOP: usize = 1024;

/// Limits of an exploration.
pub struct ExplorationLimits<'l> {
    /// States after which the exploration ends; verdicts that are still open become `unknown`.
    pub states_max: usize,
    /// Asked now and then with the number of states found; true ends the exploration.
    pub stop: &'l dyn Fn(usize) -> bool,
    /// How the identities of visited states are stored.
    pub storage: Storage,
}

pub(crate) struct Explorer<'m, 's> {
    model: &'m Model,
    analysis: &'m DataAnalysis,
    shared: &'s mut SharedExploration<'m>,
    machine: Machine<'m>,
    watch: PropertyWatch<'m>,
    relative: Vec<bool>,
    inputs: ChartInputs<'m>,
    visited: StateTable,
    /// The identity of the state at hand.
    key: Vec<u8>,
    queue: VecDeque<(u32, ModelState)>,
    picks: Vec<Pick>,
    work: FxHashMap<WorkName, u16>,
    widening: Widening,
    configurations: FxHashMap<Vec<NodeId>, u32>,
    /// Bounds of loops that count nothing with the input at hand.
    unusable_bounds: u64,
    outputs: DistinctValues,
    errors: DistinctValues,
    found: ExplorationResult,
}

impl<'m, 's> Explorer<'m, 's> {
    pub(crate) fn new(model: &'m Model, is_child: bool, shared: &'s mut SharedExploration<'m>) -> Self {
        let analysis = if is_child { &model.child_analysis } else { &model.analysis };
        let properties = if is_child { &[][..] } else { &model.properties[..] };
        let shared_mode = shared.mode;
        let is_general = shared_mode.is_general();
        let watch = PropertyWatch { chart: &model.chart, properties, world: shared.world, is_general };
        let questions: Vec<Arc<str>> = model
            .invokes()
            .filter(|(_, invoke)| class_of(invoke) == Some(ServiceClass::Human))
            .map(|(_, invoke)| Arc::clone(&invoke.id))
            // Without another effect there is nothing to approve.
            .filter(|_| model.has_other_effects())
            .collect();
        let mut relative = watch.relative();
        relative.extend(questions.iter().map(|_| false));
        let machine = Machine {
            chart: &model.chart,
            world: shared.world,
            traced: !properties.is_empty()
                || shared.numbers_configurations
                || (is_general && !analysis.progress.is_empty()),
            sees_undelivered: model.chart.handles(UNDELIVERED),
            budgets: spending::budgets(model),
        };
        let atoms = || {
            let expressions = properties.iter().flat_map(crate::analysis::expressions);
            expressions.flat_map(|expr| &expr.atoms)
        };
        let mentioned = atoms().filter_map(|atom| match atom {
            Atom::Event(name) => Some(Arc::from(&**name)),
            _ => None,
        });
        // An event that nothing handles is a step, too: one without the events and effects that a property may expect.
        let is_of_step = |atom: &Atom| !matches!(atom, Atom::In(_) | Atom::Ended(_));
        let everywhere = (mentioned.collect(), atoms().any(is_of_step));
        let how = (shared.mode, shared.tick_ms);
        let inputs = ChartInputs::new(model, analysis, everywhere, how);
        let found = ExplorationResult::new(questions);
        let visited = StateTable::new(shared.limits.storage);
        Self {
            model,
            analysis,
            shared,
            machine,
            watch,
            relative,
            inputs,
            visited,
            key: Vec::new(),
            queue: VecDeque::new(),
            picks: Vec::new(),
            work: FxHashMap::default(),
            widening: Widening::new(shared_mode),
            configurations: FxHashMap::default(),
            unusable_bounds: 0,
            outputs: DistinctValues::default(),
            errors: DistinctValues::default(),
            found,
        }
    }

    pub(crate) fn run(mut self, input: Value) -> ExplorationResult {
        self.start(input);
        while let Some((node, state)) = self.queue.pop_front() {
            let is_full = self.shared.states >= self.shared.states_max
                || self.shared.edges >= self.shared.edges_max
                || self.visited.is_full()
                || self.has_run_away();
            if is_full || self.is_stopped() {
                self.found.graph.complete = false;
                self.found.outcomes.complete = false;
                break;
            }
            self.expand(node, &state);
        }
        self.note_rounds_without_delay();
        let analysis = self.analysis;
        let open = match self.shared.mode {
            Mode::Concrete => analysis.undecided.iter().chain(&analysis.gaps).collect::<Vec<_>>(),
            Mode::Decided => analysis.gaps.iter().collect(),
            Mode::General(_) => analysis.computed_names.iter().collect(),
        };
        let computing = open.into_iter().map(|text| format!("`{text}` computes with unknown data"));
        self.found.gaps.extend(computing);
        if self.shared.mode == Mode::Concrete {
            let failing = analysis.fallible.any.iter().filter(|text| !analysis.undecided.contains(*text));
            self.found.gaps.extend(failing.map(|text| format!("`{text}` may fail with other data")));
        }
        self.found.outcomes.outputs = std::mem::take(&mut self.outputs).values;
        self.found.outcomes.errors = std::mem::take(&mut self.errors).values;
        self.widening.join(&mut self.found.outcomes.outputs);
        self.widening.join(&mut self.found.outcomes.errors);
        self.found.gaps.extend(self.inputs.gaps.iter().cloned());
        if !self.found.gaps.is_empty() {
            self.found.outcomes.complete = false;
        }
        if self.shared.stack.len() == 1 {
            self.found.gaps.extend(self.shared.child_gaps.iter().cloned());
        } else {
            self.found.outcomes.complete &= self.shared.child_gaps.is_empty();
            self.finish_child();
        }
        self.found.items_max = self.shared.items_max;
        self.found.bytes = self.visited.size();
        let mut configurations: Vec<_> = std::mem::take(&mut self.configurations).into_iter().collect();
        configurations.sort_unstable_by_key(|(_, number)| *number);
        self.found.configurations = configurations.into_iter().map(|(active, _)| active).collect();
        self.found
    }

    /// Asks now and then whether to stop.
    fn is_stopped(&mut self) -> bool {
        if self.shared.steps_since_stop < STEPS_PER_STOP {
            return false;
        }
        self.shared.steps_since_stop = 0;
        (self.shared.limits.stop)(self.shared.states)
    }

    fn start(&mut self, input: Value) {
        // That counters in any input are whole numbers is assumed, and stated in the bound.
        if !(self.model.any_input && self.shared.stack.len() == 1) {
            self.unusable_bounds = self.analysis.progress.unusable_with(&input);
        }
        let input = self.model.plain_input(input);
        let mut scripts = vec![Vec::new()];
        while let Some(script) = scripts.pop() {
            let script = StepScript::new(self.analysis, self.shared.mode, script);
            let decisions = (self.shared.mode != Mode::Concrete).then_some(&script);
            let started = self.machine.start(input.clone(), decisions);
            if script.has_left_out() {
                self.found.open_loop.clone_from(&self.analysis.settling);
                if self.shared.stack.len() > 1 {
                    self.inputs.gaps.insert("a child chart may not start".to_owned());
                }
            }
            self.add_scripts(script, &mut scripts);
            self.started(started);
        }
    }

    /// Adds the scripts that decide a guard of the last step otherwise.
    fn add_scripts(&mut self, script: StepScript<'_>, scripts: &mut Vec<Vec<bool>>) {
        if script.is_bounded() {
            self.shared.items_max = self.shared.items_max.max(self.analysis.items.most);
            if self.analysis.items.is_open {
                self.inputs.gaps.insert("a longer list may make a difference".to_owned());
            }
        }
        let (others, mut are_all) = script.others();
        are_all &= scripts.len() + others.len() <= SCRIPTS_MAX;
        scripts.extend(others.into_iter().take(SCRIPTS_MAX.saturating_sub(scripts.len())));
        if !are_all {
            self.inputs.gaps.insert("a step decides too many guards with unknown data".to_owned());
        }
    }

    fn started(&mut self, started: Result<(ModelState, StepFacts), rawko_core::StepError>) {
        match started {
            Ok((mut state, facts)) => {
                self.note_many_sent(&facts);
                state.monitors = self.watch.initial();
                state.monitors.extend(self.found.questions.iter().map(|_| 0));
                let mut monitors = state.monitors.clone();
                let bits = self.judge(&[], None, &facts, &state, &mut monitors);
                state.monitors = monitors;
                let starts = self.starts(&facts);
                self.found.graph.start_starts.extend(starts);
                let spends = self.spends(&facts);
                self.found.start_spends.extend(spends);
                let node = self.insert(state, None);
                let start = StartState { node, from_bits: bits.from, to_bits: bits.to };
                self.found.graph.starts.push(start);
            }
            Err(error) => {
                if self.shared.stack.len() > 1 {
                    self.inputs.gaps.insert("a child chart does not start".to_owned());
                }
                self.record("bounded_eventless", None, &ModelInput::Advance { ms: 0 }, error.to_string());
            }
        }
    }

    fn insert(&mut self, mut state: ModelState, parent: Option<u32>) -> u32 {
        if self.shared.mode.is_general() {
            self.widening.widen(&mut state, self.analysis);
        }
        let status = state.snapshot.status();
        // Two ends that are the same otherwise may differ in their output. Only the parent of a child reads it.
        if status == Status::Done && self.shared.stack.len() > 1 {
            self.outputs.add(state.snapshot.output());
        }
        state.key(&mut self.key, self.analysis, &self.relative, self.shared.mode);
        let next = match self.visited.insert(&self.key) {
            Ok(new) => new,
            Err(known) => return known,
        };
        if let Some(visit) = self.shared.visit.filter(|_| self.shared.stack.len() == 1) {
            visit(&state.snapshot);
        }
        self.shared.states += 1;
        let is_numbered = self.shared.numbers_configurations || self.shared.mode.is_general();
        let configuration = if is_numbered { self.configuration(&state) } else { 0 };
        let parent = parent.and_then(NonMaxU32::new);
        let is_over = status.is_over();
        self.found.graph.nodes.push(StateNode { parent, configuration, is_over, ..StateNode::default() });
        self.queue.push_back((next, state));
        next
    }

    fn expand(&mut self, node: u32, state: &ModelState) {
        let pending = self.pending(state);
        let mut has_dead_work = false;
        let mut known: Vec<(u64, Option<Arc<ChildOutcomes>>)> = Vec::new();
        for invocation in state.snapshot.pending() {
            let outcomes = self.child_outcomes(&invocation);
            has_dead_work |= outcomes.as_ref().is_some_and(|outcomes| !outcomes.can_answer());
            known.push((invocation.id, outcomes));
        }
        let mut child = |invocation: &Invocation| {
            known.iter().find(|(id, _)| *id == invocation.id).and_then(|(_, outcomes)| outcomes.clone())
        };
        let mut picks = std::mem::take(&mut self.picks);
        self.inputs.of(state, &mut child, &mut picks);
        self.inputs.copy_to(&mut self.found.graph.inputs);
        let before: Vec<NodeId> = self.active(state);
        self.deadlines(node, state);
        let deadlines = self.watch.deadlines(&state.monitors).count();
        let clocks = state.snapshot.timers().len() + state.expiries.len() + deadlines;
        self.found.clocks = self.found.clocks.max(clocks);
        let first = self.found.graph.edges.len() as u32;
        let (mut has_inputs, mut takes_events) = (false, false);
        for pick in &picks {
            if !self.may_try(state, *pick) {
                continue;
            }
            let facts = self.step(node, state, &before, &pending, *pick);
            has_inputs |= match facts.1 {
                InputCause::Outside => facts.0,
                InputCause::Person | InputCause::Service | InputCause::Timer => true,
                InputCause::Undelivered | InputCause::Wait => false,
            };
            takes_events |= facts.0 && facts.1 == InputCause::Outside;
        }
        self.picks = picks;
        let end = self.found.graph.edges.len() as u32;
        let cannot_answer = |id: u64| {
            known
                .iter()
                .any(|(known, outcomes)| *known == id && outcomes.as_ref().is_some_and(|it| !it.can_answer()))
        };
        let ending = |id: u64| {
            let child =
                known.iter().find(|(known, _)| *known == id).and_then(|(_, outcomes)| outcomes.as_ref());
            child.map_or(Ending::Always, |child| child.ending)
        };
        let (mut work, mut questions, mut timers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut for_people, mut for_events, mut for_both) = (Vec::new(), Vec::new(), Vec::new());
        for (number, item) in &pending {
            match item {
                PendingItem::Question(_) => questions.push(*number),
                PendingItem::Call(id) if cannot_answer(*id) => {}
                PendingItem::Call(id) if ending(*id) != Ending::Always => match ending(*id) {
                    Ending::IfPeopleAnswer => for_people.push(*number),
                    Ending::IfEventsArrive => for_events.push(*number),
                    Ending::IfBoth => for_both.push(*number),
                    Ending::Always | Ending::Never => {}
                },
                PendingItem::Timer(_) => {
                    work.push(*number);
                    timers.push(*number);
                }
                PendingItem::Call(_) | PendingItem::Expiry(_) => work.push(*number),
            }
        }
        let asks = !questions.is_empty();
        questions.extend(for_people);
        // The first number is that of no work, which most states of large charts have.
        let pending = match pending.is_empty() {
            true => 0,
            false => self.found.graph.pending.number(PendingWork {
                work: work.into(),
                questions: questions.into(),
                for_events: for_events.into(),
                for_both: for_both.into(),
                timers: timers.into(),
            }),
        };
        let at = &mut self.found.graph.nodes[node as usize];
        at.is_expanded = true;
        at.pending = pending;
        at.is_failed = state.snapshot.status() == Status::Error;
        at.asks = asks;
        at.has_dead_work = has_dead_work;
        at.has_inputs = has_inputs;
        at.takes_events = takes_events;
        at.edges = (first, end);
    }
}
