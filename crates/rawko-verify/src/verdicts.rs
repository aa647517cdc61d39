//! The verdicts: one exploration after the other, from exact to general, until every property is proved or refuted.
//!
//! An exploration with representative data has no step that does not exist, so that its violations are real. One with
//! unknown data has every step that exists, so that what it does not violate holds.

use rawko_chart::PropertyKind;
use rawko_core::{Value, World};

use crate::analysis::DataAnalysis;
use crate::builtin::{self, BUILT_IN};
use crate::clocks::Clocks;
use crate::exploration::Exploration;
use crate::explore::{ExplorationLimits, ExplorationResult, Explorer, SharedExploration};
use crate::graph::Counterexample;
use crate::liveness;
use crate::mode::{ExplorationDetail, Mode};
use crate::model::{Model, may_be_chart};
use crate::report::{PropertyReport, PropertyVerdict, VerifyReport};
use crate::watch::LEADS_MAX;
use crate::witness::Tunnel;

/// The size of the first explorations. Charts with more behaviour are tried in general before they are explored further.
const STATES_FIRST: usize = 50_000;
const EDGES_FIRST: usize = 50_000;
/// The size of an exploration that only samples times.
const SAMPLED_MAX: usize = 10_000;
const EDGES_GENERAL: usize = 100_000;
/// The size of an exploration that only shows which effects start without an approval.
const BASIS_MAX: (usize, usize) = (2_000, 20_000);
/// The size of one that is guided to such effects.
const WITNESS_MAX: (usize, usize) = (1_000, 20_000);

/// Judges all properties of the first chart in the same explorations.
pub(crate) fn verify_together(
    charts: &[Model],
    world: &World,
    limits: &ExplorationLimits<'_>,
) -> Option<VerifyReport> {
    let model = charts.first()?;
    let mut verification = Verification { charts, model, world, limits, runs: Vec::new() };
    // Without data, calls and times nothing can be generalized.
    if model.is_plain() {
        verification.run(Mode::Concrete, None, (limits.states_max, usize::MAX));
        return Some(verification.report());
    }
    let is_first_enough = verification.explore_exactly((STATES_FIRST.min(limits.states_max), EDGES_FIRST));
    for detail in [
        ExplorationDetail::Control,
        ExplorationDetail::Coarse,
        ExplorationDetail::Medium,
        ExplorationDetail::Fine,
    ] {
        if verification.is_open() && !(limits.stop)(0) {
            verification.run(Mode::General(detail), None, (limits.states_max, EDGES_GENERAL));
        }
    }
    if model.any_input && !(limits.stop)(0) && verification.is_unknown("approval_respected") {
        verification.run_basis();
    }
    if !(limits.stop)(0) && verification.is_unknown("approval_respected") {
        verification.run_witnesses();
    }
    if !model.any_input && !is_first_enough && verification.is_open() && !(limits.stop)(0) {
        verification.explore_exactly((limits.states_max, usize::MAX));
    }
    Some(verification.report())
}

struct Verification<'m> {
    charts: &'m [Model],
    model: &'m Model,
    world: &'m World,
    limits: &'m ExplorationLimits<'m>,
    runs: Vec<Exploration>,
}

/// One property to judge.
#[derive(Clone, Copy)]
struct PropertyQuestion<'q> {
    name: &'q str,
    /// The violation is that nothing happens: data or times that were not tried may make a difference.
    is_absence: bool,
    /// The number of an own property, and that among the `leads_to`.
    own: Option<(usize, Option<u32>)>,
}

impl Verification<'_> {
    fn run(&mut self, mode: Mode, ticks: Option<(i64, usize)>, (states_max, edges_max): (usize, usize)) {
        let how = (mode, ticks.map(|(tick_ms, _)| tick_ms));
        let limits = (states_max, edges_max);
        let (explored, states) = explore(self.charts, self.world, self.limits, how, limits);
        self.runs.push(Exploration {
            mode,
            ticks,
            explored,
            states,
            is_basis: false,
            storage: self.limits.storage,
        });
    }

    /// Explores with an input that charts for any input accept: with the default one they may end at once.
    fn run_basis(&mut self) {
        let how = (Mode::Concrete, None);
        let (explored, states) = explore_with(
            self.charts,
            self.world,
            self.limits,
            how,
            BASIS_MAX,
            (self.model.sample_input(), None),
        );
        self.add_basis(Mode::Concrete, explored, states);
    }

    /// Looks for ways to effects that only general explorations start without an approval.
    fn run_witnesses(&mut self) {
        let mut inputs = vec![self.model.input.clone()];
        inputs.extend(self.model.any_input.then(|| self.model.sample_input()));
        for input in inputs {
            let bases: Vec<&ExplorationResult> = self.bases();
            let general = self.runs.iter().find(|run| run.mode.is_general() && run.is_whole());
            let tunnel =
                general.and_then(|general| Tunnel::to_free_effects(self.model, &general.explored, &bases));
            if tunnel.is_none() {
                return;
            }
            let how = (Mode::Decided, None);
            let (mut explored, states) =
                explore_with(self.charts, self.world, self.limits, how, WITNESS_MAX, (input, tunnel));
            explored.graph.complete = false;
            self.add_basis(Mode::Decided, explored, states);
        }
    }

    fn add_basis(&mut self, mode: Mode, explored: ExplorationResult, states: usize) {
        let storage = self.limits.storage;
        self.runs.push(Exploration { mode, ticks: None, explored, states, is_basis: true, storage });
    }

    /// The explorations in which nothing is generalized.
    fn bases(&self) -> Vec<&ExplorationResult> {
        let precise = self.runs.iter().filter(|run| !run.mode.is_general());
        precise.map(|run| &run.explored).collect()
    }

    /// Explores with representative data, then with both outcomes of guards that those do not cover; each again in
    /// shorter steps of time if it matters when inputs arrive. Returns false if a limit ended it.
    fn explore_exactly(&mut self, limits: (usize, usize)) -> bool {
        let is_open =
            |analysis: &DataAnalysis| !analysis.undecided.is_empty() || !analysis.fallible.any.is_empty();
        let is_undecided = is_open(&self.model.analysis)
            || self.charts[1..].iter().any(|model| is_open(&model.child_analysis));
        let mut is_complete = true;
        for mode in [Mode::Concrete, Mode::Decided].into_iter().take(1 + usize::from(is_undecided)) {
            is_complete &= self.explore_times(mode, limits);
        }
        is_complete
    }

    /// Explores without waiting, and again in steps of time if several clocks run at the same time.
    fn explore_times(&mut self, mode: Mode, limits: (usize, usize)) -> bool {
        let clocks = Clocks::of(self.model);
        let has_steps = clocks.count > 1 && clocks.tick_ms(2).is_some();
        let (states_max, edges_max) = limits;
        // Times that are sampled have no end. Where steps of time are possible, they decide.
        let first =
            if has_steps { (states_max.min(SAMPLED_MAX), edges_max.min(SAMPLED_MAX)) } else { limits };
        self.run(mode, None, first);
        let mut running = self.last_clocks();
        let mut has_run = false;
        while running > 1
            && let Some(tick_ms) = clocks.tick_ms(running)
        {
            self.run(mode, Some((tick_ms, running)), limits);
            has_run = true;
            match self.last_clocks() {
                more if more > running => running = more,
                _ => break,
            }
        }
        if !has_run && first != limits && !self.is_last_complete() {
            self.run(mode, None, limits);
        }
        self.is_last_complete()
    }

    /// The most clocks that ran at the same time in the last exploration.
    fn last_clocks(&self) -> usize {
        self.runs.last().map_or(0, |run| run.explored.clocks)
    }

    fn is_last_complete(&self) -> bool {
        self.runs.last().is_some_and(|run| run.explored.graph.complete)
    }

    fn questions(&self) -> Vec<PropertyQuestion<'_>> {
        let built_in = BUILT_IN.iter().map(|name| PropertyQuestion {
            name,
            is_absence: matches!(*name, "no_trap" | "no_stall" | "approval_respected"),
            own: None,
        });
        let mut questions: Vec<PropertyQuestion<'_>> = built_in.collect();
        let mut leads = 0;
        for (number, property) in self.model.properties.iter().enumerate() {
            let is_lead = matches!(property.kind, PropertyKind::LeadsTo { .. });
            let is_absence = is_lead && property.assume.events_arrive;
            let own = Some((number, is_lead.then_some(leads)));
            questions.push(PropertyQuestion { name: &property.name, is_absence, own });
            leads += u32::from(is_lead);
        }
        questions
    }

    fn is_open(&self) -> bool {
        let judged = self.questions();
        judged.into_iter().any(|question| self.judge(question).verdict == PropertyVerdict::Unknown)
    }

    fn is_unknown(&self, name: &str) -> bool {
        let mut questions = self.questions().into_iter().filter(|question| question.name == name);
        questions.any(|question| self.judge(question).verdict == PropertyVerdict::Unknown)
    }

    fn report(&self) -> VerifyReport {
        let properties: Vec<PropertyReport> =
            self.questions().into_iter().map(|question| self.judge(question)).collect();
        // The exact exploration if it is whole, else the one that the proofs are from.
        let exact = self.runs.iter().rev().find(|run| run.is_exact() && !self.model.any_input);
        let shown = exact.or_else(|| self.runs.iter().rev().find(|run| run.is_whole())).or(self.runs.last());
        VerifyReport {
            chart: self.model.chart.id().to_owned(),
            states: shown.map_or(0, |run| run.explored.graph.nodes.len()),
            transitions: shown.map_or(0, |run| run.explored.graph.edges.len()),
            bytes: shown.map_or(0, |run| run.explored.bytes),
            properties,
        }
    }

    fn violation(&self, question: PropertyQuestion<'_>, run: &Exploration) -> Option<Counterexample> {
        match question.own {
            None => {
                // An effect needs no approval if it starts without the question where nothing is generalized.
                let bases = self.bases();
                let own = [&run.explored];
                let bases = if run.is_exact() { &own[..] } else { &bases[..] };
                builtin::violation(question.name, self.model, &run.explored, bases)
            }
            Some((number, lead)) => {
                let found = run.explored.own.get(&number).cloned();
                let assume = self.model.properties[number].assume;
                found.or_else(|| liveness::violation(self.model, &run.explored.graph, lead?, assume))
            }
        }
    }

    fn judge(&self, question: PropertyQuestion<'_>) -> PropertyReport {
        let report = |verdict, bound, trace| PropertyReport::new(question.name, verdict, bound, trace);
        if let Some((_, Some(LEADS_MAX..))) = question.own {
            let bound = format!("only the first {LEADS_MAX} `leads_to` properties are judged");
            return report(PropertyVerdict::Unknown, bound, None);
        }
        for run in self.runs.iter().filter(|run| run.mode == Mode::Concrete && !run.is_basis) {
            let trace = self.violation(question, run);
            if let Some(trace) = trace.filter(|trace| self.is_sure(question, run, trace)) {
                return report(PropertyVerdict::Violated, run.bound(self.model), Some(trace));
            }
        }
        let is_proof =
            |run: &&Exploration| run.is_whole() && (run.mode.is_general() || !self.model.any_input);
        for run in self.runs.iter().filter(is_proof) {
            let is_open = question.own.is_none() && builtin::open(question.name, &run.explored).is_some();
            if self.violation(question, run).is_none() && !is_open && self.is_proved(question, run) {
                return report(PropertyVerdict::Holds, self.bound_of_proof(question, run), None);
            }
        }
        let Some(last) = self.runs.iter().rev().find(|run| !run.mode.is_general() && !run.is_basis) else {
            return report(PropertyVerdict::Unknown, String::new(), None);
        };
        let mut bound = last.bound(self.model);
        if !last.has_all_times() {
            bound.push_str("; not every order of timers and inputs was tried");
        }
        if !self.model.analysis.undecided.is_empty() {
            let guards = self.model.analysis.undecided.iter().take(3);
            let guards: Vec<String> = guards.map(|text| format!("`{text}`")).collect();
            bound.push_str(&format!("; depends on data in {}", guards.join(", ")));
        }
        if question.name == "approval_respected" {
            let mut general = self.runs.iter().filter(|run| run.mode.is_general() && run.is_whole());
            let found = general.next_back().and_then(|run| self.violation(question, run));
            let why = found.map(|found| format!("; with data that was not tried, {}", found.reason));
            bound.push_str(&why.unwrap_or_default());
        }
        let is_loop = question.name == "bounded_eventless";
        let mut shown = self.runs.iter().filter(|run| is_loop || std::ptr::eq(*run, last));
        let why = shown.find_map(|run| builtin::open(question.name, &run.explored));
        if let Some(why) = why.filter(|_| question.own.is_none()) {
            bound.push_str(&format!("; {why}"));
        }
        report(PropertyVerdict::Unknown, bound, None)
    }

    /// A violation is real if the exploration has no step that does not exist; that nothing happens, only if data and
    /// times that were not tried make no difference.
    fn is_sure(&self, question: PropertyQuestion<'_>, run: &Exploration, trace: &Counterexample) -> bool {
        if !question.is_absence {
            return true;
        }
        let is_named = question.name != "approval_respected" || run.explored.graph.complete;
        if run.has_all_times() && run.explored.gaps.is_empty() && is_named {
            return true;
        }
        let agrees = |other: &Exploration| {
            other.mode == Mode::Decided
                && other.is_whole()
                && self.violation(question, other).is_some_and(|other| other.events == trace.events)
        };
        self.runs.iter().any(agrees)
    }

    /// In a general exploration more is possible than in reality. That something is possible is proved only if it does
    /// not depend on any decision.
    fn is_proved(&self, question: PropertyQuestion<'_>, run: &Exploration) -> bool {
        let graph = &run.explored.graph;
        match question.name {
            _ if !run.mode.is_general() || question.own.is_some() => true,
            "no_trap" if self.model.has_final() => builtin::ends_surely(graph),
            "no_trap" => builtin::continues_surely(graph),
            // Only a child chart can be pending without ever answering.
            "no_stall" => self.model.invokes().all(|(_, invoke)| !may_be_chart(invoke)),
            _ => true,
        }
    }

    fn bound_of_proof(&self, question: PropertyQuestion<'_>, run: &Exploration) -> String {
        let mut bound = run.bound(self.model);
        let is_choice = question.is_absence && question.own.is_none();
        let is_approval = question.name == "approval_respected";
        if is_choice && (run.mode == Mode::Decided || (is_approval && run.mode.is_general())) {
            bound.push_str(", if each guard on unknown data can be true and false");
        }
        let is_counted = question.name == "bounded_by_budget" && question.own.is_none();
        if is_counted && self.model.any_input && self.model.analysis.progress.reads_input() {
            bound.push_str(", if counters in the input are whole numbers below 2^53");
        }
        bound
    }
}

/// Explores the first chart. Returns the number of states of all charts too.
pub(crate) fn explore(
    charts: &[Model],
    world: &World,
    limits: &ExplorationLimits<'_>,
    (mode, tick_ms): (Mode, Option<i64>),
    (states_max, edges_max): (usize, usize),
) -> (ExplorationResult, usize) {
    let model = &charts[0];
    let is_any = model.any_input && mode.is_general();
    let input = if is_any { model.unknown_input() } else { model.input.clone() };
    explore_with(charts, world, limits, (mode, tick_ms), (states_max, edges_max), (input, None))
}

fn explore_with(
    charts: &[Model],
    world: &World,
    limits: &ExplorationLimits<'_>,
    (mode, tick_ms): (Mode, Option<i64>),
    (states_max, edges_max): (usize, usize),
    (input, tunnel): (Value, Option<Tunnel>),
) -> (ExplorationResult, usize) {
    let model = &charts[0];
    let how = (mode, tick_ms);
    let mut shared = SharedExploration::new(charts, world, limits, how, (states_max, edges_max), &input);
    shared.tunnel = tunnel;
    let mut explored = Explorer::new(model, false, &mut shared).run(input);
    if crate::children::sends_internal(charts) {
        explored.gaps.push("an internal event that a child sends was not tried".to_owned());
    }
    if shared.child_clocks > 1 && !mode.is_general() {
        explored.gaps.push("not every order of timers in a child was tried".to_owned());
    }
    (explored, shared.states)
}
