//! The exploration: breadth first, so that the first violation has a shortest trace. Each state is expanded once, with
//! every input on the real step function.

mod judge;
mod pending;
mod widening;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rawko_chart::Atom;
use rawko_core::{Invocation, NodeId, ServiceClass, Status, Value, World};
use rustc_hash::FxHashMap;

use pending::Work;
use widening::Widening;

use crate::analysis::Analysis;
use crate::children::ChildOutcomes;
use crate::graph::{Cause, Counterexample, Edge, Graph, Input, Node};
use crate::inputs::{Choice, Inputs};
use crate::machine::{Machine, StepFacts};
use crate::mode::Mode;
use crate::model::{Model, class_of};
use crate::oracle::{SCRIPTS_MAX, Script};
use crate::state::State;
use crate::tools;
use crate::watch::{LeadBits, Watch};

/// Limits of an exploration.
pub struct Limits<'l> {
    pub states_max: usize,
    /// Asked now and then; true ends the exploration.
    pub stop: &'l dyn Fn() -> bool,
}

/// What all explorations of one verification share.
pub(crate) struct Shared<'m> {
    pub(crate) charts: &'m [Model],
    pub(crate) world: &'m World,
    pub(crate) limits: &'m Limits<'m>,
    pub(crate) children: BTreeMap<String, Arc<ChildOutcomes>>,
    /// The charts that are being explored, outermost first.
    pub(crate) stack: Vec<String>,
    pub(crate) states: usize,
    pub(crate) mode: Mode,
    pub(crate) tick_ms: Option<i64>,
    pub(crate) states_max: usize,
    /// Receives every new state of the chart itself.
    pub(crate) visit: Option<&'m dyn Fn(&rawko_core::Snapshot)>,
    pub(crate) edges_max: usize,
    /// Steps of all charts.
    pub(crate) edges: usize,
    /// The most timers that ran at the same time in a child.
    pub(crate) child_clocks: usize,
}

/// What an exploration found.
pub(crate) struct Explored {
    pub(crate) graph: Graph,
    /// The first violation of each built-in property that one step shows, and of each own property by its number.
    pub(crate) built_in: BTreeMap<&'static str, Counterexample>,
    pub(crate) own: BTreeMap<usize, Counterexample>,
    pub(crate) effects: Vec<Arc<str>>,
    /// The ids of the questions that `Edge::answers` counts.
    pub(crate) questions: Vec<Arc<str>>,
    pub(crate) gaps: Vec<String>,
    /// Unknown lists were tried with few items only.
    pub(crate) is_bounded: bool,
    /// The most timers and deadlines that ran at the same time.
    pub(crate) clocks: usize,
    pub(crate) outcomes: ChildOutcomes,
}

pub(crate) struct Explorer<'m, 's> {
    model: &'m Model,
    analysis: &'m Analysis,
    shared: &'s mut Shared<'m>,
    machine: Machine<'m>,
    watch: Watch<'m>,
    relative: Vec<bool>,
    inputs: Inputs<'m>,
    visited: FxHashMap<Box<[u8]>, u32>,
    queue: VecDeque<(u32, State)>,
    work: FxHashMap<String, u16>,
    widening: Widening,
    configurations: FxHashMap<Vec<NodeId>, u32>,
    found: Explored,
}

impl<'m, 's> Explorer<'m, 's> {
    pub(crate) fn new(model: &'m Model, is_child: bool, shared: &'s mut Shared<'m>) -> Self {
        let analysis = if is_child { &model.child_analysis } else { &model.analysis };
        let properties = if is_child { &[][..] } else { &model.properties[..] };
        let shared_mode = shared.mode;
        let is_general = shared_mode.is_general();
        let watch = Watch { chart: &model.chart, properties, world: shared.world, is_general };
        let questions: Vec<Arc<str>> = model
            .invokes()
            .filter(|(_, invoke)| class_of(invoke) == Some(ServiceClass::Human))
            .map(|(_, invoke)| Arc::clone(&invoke.id))
            // Without another effect there is nothing to approve.
            .filter(|_| model.has_other_effects())
            .collect();
        let mut relative = watch.relative();
        relative.extend(questions.iter().map(|_| false));
        let machine = Machine { chart: &model.chart, world: shared.world, traced: !properties.is_empty() };
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
        let inputs = Inputs::new(model, analysis, everywhere, how);
        let found = Explored {
            graph: Graph { complete: true, ..Graph::default() },
            built_in: BTreeMap::new(),
            own: BTreeMap::new(),
            effects: Vec::new(),
            questions,
            gaps: Vec::new(),
            is_bounded: false,
            clocks: 0,
            outcomes: ChildOutcomes { complete: true, ..ChildOutcomes::default() },
        };
        Self {
            model,
            analysis,
            shared,
            machine,
            watch,
            relative,
            inputs,
            visited: FxHashMap::default(),
            queue: VecDeque::new(),
            work: FxHashMap::default(),
            widening: Widening::new(shared_mode),
            configurations: FxHashMap::default(),
            found,
        }
    }

    pub(crate) fn run(mut self, input: Value) -> Explored {
        self.start(input);
        while let Some((node, state)) = self.queue.pop_front() {
            let is_full =
                self.shared.states >= self.shared.states_max || self.shared.edges >= self.shared.edges_max;
            if is_full || (node % 256 == 255 && (self.shared.limits.stop)()) {
                self.found.graph.complete = false;
                self.found.outcomes.complete = false;
                break;
            }
            self.expand(node, &state);
        }
        let analysis = self.analysis;
        let open = match self.shared.mode {
            Mode::Concrete => analysis.undecided.iter().chain(&analysis.gaps).collect::<Vec<_>>(),
            Mode::Decided => analysis.gaps.iter().collect(),
            Mode::General(_) => analysis.computed_names.iter().collect(),
        };
        let computing = open.into_iter().map(|text| format!("`{text}` computes with unknown data"));
        self.found.gaps.extend(computing);
        self.widening.join(&mut self.found.outcomes.outputs);
        self.widening.join(&mut self.found.outcomes.errors);
        self.found.gaps.extend(self.inputs.gaps.iter().cloned());
        if !self.found.gaps.is_empty() {
            self.found.outcomes.complete = false;
        }
        self.found
    }

    fn start(&mut self, input: Value) {
        let mut scripts = vec![Vec::new()];
        while let Some(script) = scripts.pop() {
            let script = Script::new(&self.analysis.undecided, self.shared.mode, script);
            let decisions = (self.shared.mode != Mode::Concrete).then_some(&script);
            let started = self.machine.start(input.clone(), decisions);
            self.add_scripts(script, &mut scripts);
            self.started(started);
        }
    }

    /// Adds the scripts that decide a guard of the last step otherwise.
    fn add_scripts(&mut self, script: Script<'_>, scripts: &mut Vec<Vec<bool>>) {
        self.found.is_bounded |= script.is_bounded();
        let (others, mut are_all) = script.others();
        are_all &= scripts.len() + others.len() <= SCRIPTS_MAX;
        scripts.extend(others.into_iter().take(SCRIPTS_MAX.saturating_sub(scripts.len())));
        if !are_all {
            self.inputs.gaps.insert("a step decides too many guards with unknown data".to_owned());
        }
    }

    fn started(&mut self, started: Result<(State, StepFacts), rawko_core::StepError>) {
        match started {
            Ok((mut state, facts)) => {
                state.monitors = self.watch.initial();
                state.monitors.extend(self.found.questions.iter().map(|_| 0));
                let mut monitors = state.monitors.clone();
                let bits = self.judge(&[], None, &facts, &state, &mut monitors);
                state.monitors = monitors;
                let starts = self.starts(&facts);
                let graph = &mut self.found.graph;
                graph.start_from_bits |= bits.from;
                graph.start_to_bits |= bits.to;
                graph.start_starts.extend(starts);
                self.insert(state, None);
            }
            Err(error) => {
                self.record("bounded_eventless", None, &Input::Advance { ms: 0 }, error.to_string());
            }
        }
    }

    fn insert(&mut self, mut state: State, parent: Option<u32>) -> u32 {
        if self.shared.mode.is_general() {
            self.widening.widen(&mut state, self.analysis);
        }
        let key = state.key(self.analysis, &self.relative, self.shared.mode);
        let next = self.found.graph.nodes.len() as u32;
        if let Some(known) = self.visited.get(&key) {
            return *known;
        }
        self.visited.insert(key, next);
        if let Some(visit) = self.shared.visit.filter(|_| self.shared.stack.len() == 1) {
            visit(&state.snapshot);
        }
        self.shared.states += 1;
        let status = state.snapshot.status();
        if status == Status::Done && !self.found.outcomes.outputs.contains(state.snapshot.output()) {
            self.found.outcomes.outputs.push(state.snapshot.output().clone());
        }
        let count = self.configurations.len() as u32;
        let frontier = state.snapshot.configuration().frontier().to_vec();
        let configuration = *self.configurations.entry(frontier).or_insert(count);
        let is_over = status.is_over();
        self.found.graph.nodes.push(Node { parent, configuration, is_over, ..Node::default() });
        self.queue.push_back((next, state));
        next
    }

    fn expand(&mut self, node: u32, state: &State) {
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
        let choices = self.inputs.of(state, &mut child);
        let before: Vec<NodeId> = self.active(state);
        self.deadlines(node, state);
        let deadlines = self.watch.deadlines(&state.monitors).count();
        let clocks = state.snapshot.timers().len() + state.expiries.len() + deadlines;
        self.found.clocks = self.found.clocks.max(clocks);
        let first = self.found.graph.edges.len() as u32;
        let (mut has_inputs, mut takes_events) = (false, false);
        for choice in choices {
            let facts = self.step(node, state, &before, &pending, &choice);
            has_inputs |= facts.1 != Cause::Wait && (facts.0 || facts.1 != Cause::Outside);
            takes_events |= facts.0 && facts.1 == Cause::Outside;
        }
        let end = self.found.graph.edges.len() as u32;
        let cannot_answer = |id: u64| {
            known
                .iter()
                .any(|(known, outcomes)| *known == id && outcomes.as_ref().is_some_and(|it| !it.can_answer()))
        };
        let (mut work, mut questions, mut timers) = (Vec::new(), Vec::new(), Vec::new());
        for (number, item) in &pending {
            match item {
                Work::Question(_) => questions.push(*number),
                Work::Call(id) if cannot_answer(*id) => {}
                Work::Timer(_) => {
                    work.push(*number);
                    timers.push(*number);
                }
                Work::Call(_) | Work::Expiry(_) => work.push(*number),
            }
        }
        let at = &mut self.found.graph.nodes[node as usize];
        at.is_expanded = true;
        at.is_failed = state.snapshot.status() == Status::Error;
        at.asks = !questions.is_empty();
        at.has_dead_work = has_dead_work;
        at.has_inputs = has_inputs;
        at.takes_events = takes_events;
        (at.work, at.questions, at.timers) = (work.into(), questions.into(), timers.into());
        at.edges = (first, end);
    }

    /// Takes one step. Returns whether a transition was taken, and the cause.
    fn step(
        &mut self,
        node: u32,
        state: &State,
        before: &[NodeId],
        pending: &[(u16, Work)],
        choice: &Choice,
    ) -> (bool, Cause) {
        let (mut scripts, mut handled) = (vec![Vec::new()], false);
        while let Some(script) = scripts.pop() {
            let script = Script::new(&self.analysis.undecided, self.shared.mode, script);
            let decisions = (self.shared.mode != Mode::Concrete).then_some(&script);
            let mut next = state.clone();
            let facts = match &choice.input {
                Input::Event { name, data } => self.machine.deliver(&mut next, name, data, decisions),
                Input::Advance { ms } => self.machine.advance(&mut next, state.now_ms + ms, decisions),
                Input::Fire { timer } => self.machine.fire(&mut next, *timer, decisions),
                Input::Expire { invocation } => self.machine.expire(&mut next, *invocation, decisions),
            };
            self.add_scripts(script, &mut scripts);
            handled |= facts.handled;
            self.took(node, (state, next), (before, pending), choice, &facts);
        }
        (handled, choice.cause)
    }

    /// Adds the result of a step to the graph.
    fn took(
        &mut self,
        node: u32,
        (state, mut next): (&State, State),
        (before, pending): (&[NodeId], &[(u16, Work)]),
        choice: &Choice,
        facts: &StepFacts,
    ) {
        let cause = choice.cause;
        let mut monitors = state.monitors.clone();
        self.answered(choice, state, &next, &mut monitors);
        let at = Some((node, &choice.input));
        // Time that passes is not a step.
        let bits = match cause {
            Cause::Wait => LeadBits::default(),
            _ => self.judge(before, at, facts, &next, &mut monitors),
        };
        next.monitors = monitors;
        let is_deferred = next.snapshot.deferred().len() > state.snapshot.deferred().len();
        let is_ignored =
            cause == Cause::Outside && !facts.handled && facts.moments.is_empty() && !is_deferred;
        if facts.runaway.is_some() || is_ignored {
            self.found.graph.nodes[node as usize].ignored.push(choice.group);
            return;
        }
        self.shared.edges += 1;
        let is_pending = |item: &Work| match item {
            Work::Timer(id) => next.snapshot.timers().iter().any(|timer| timer.id == *id),
            Work::Call(id) | Work::Question(id) => next.snapshot.invocation(*id).is_some(),
            Work::Expiry(id) => next.expiries.iter().any(|(known, _)| known == id),
        };
        let ends = pending.iter().filter(|(_, item)| !is_pending(item)).map(|(number, _)| *number).collect();
        let starts = self.starts(facts).into();
        let answers = next.monitors[self.watch.properties.len()..].iter().map(|value| *value as i8).collect();
        let spends = facts.moments.iter().any(tools::spends_without_budget);
        let to = self.insert(next, Some(self.found.graph.edges.len() as u32));
        let (from_bits, to_bits) = (bits.from, bits.to);
        let input = choice.input.clone();
        let group = choice.group;
        let is_idle = cause == Cause::Wait || (cause == Cause::Outside && !facts.handled);
        self.found.graph.edges.push(Edge {
            from: node,
            to,
            input,
            cause,
            group,
            is_idle,
            ends,
            starts,
            spends,
            from_bits,
            to_bits,
            answers,
        });
    }
}
