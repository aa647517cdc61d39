//! `Simulation`: one chart, its children and the virtual clock they share. Reports one line per stimulus.

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_core::{
    Chart, Event, NamedEvent, Now, Snapshot, Status, Step, StepError, Value, World, start_traced, step_traced,
};

use crate::agenda::{Agenda, Item};
use crate::{
    CallPoint, CommitPoint, CrashMoment, ErrorKind, Line, SimulationOptions, Stimulus, Stubs, TracedStep,
};

/// Deliveries that one stimulus may cause before the simulation reports that they never end.
const DELIVERIES_MAX: usize = 10_000;
/// Timers that one advance may fire.
const FIRINGS_MAX: usize = 1_000_000;

/// The charts of a simulation: the first is simulated, the others are there to be invoked.
pub struct Simulation {
    library: Vec<Arc<Chart>>,
    pub(crate) stubs: Stubs,
    pub(crate) world: World,
    input: Value,
    pub(crate) now_ms: i64,
    pub(crate) instances: Vec<Instance>,
    pub(crate) agenda: Agenda,
    pub(crate) mailbox: VecDeque<(usize, Event)>,
    pub(crate) line: Line,
    next_line: u64,
    pub(crate) options: SimulationOptions,
    pub(crate) commits: Vec<CommitPoint>,
    pub(crate) calls: Vec<CallPoint>,
}

/// One running chart. The first is the simulated one.
pub(crate) struct Instance {
    pub(crate) chart: Arc<Chart>,
    pub(crate) snapshot: Snapshot,
    /// The instance and invocation it answers to.
    pub(crate) parent: Option<(usize, u64, Arc<str>)>,
}

impl Simulation {
    /// A simulation of `chart`; the others can be invoked as children.
    pub fn new(chart: Arc<Chart>, others: Vec<Arc<Chart>>, stubs: Stubs, world: World, input: Value) -> Self {
        let mut library = vec![chart];
        library.extend(others);
        Self {
            library,
            stubs,
            world,
            input,
            now_ms: 0,
            instances: Vec::new(),
            agenda: Agenda::default(),
            mailbox: VecDeque::new(),
            line: Line::default(),
            next_line: 0,
            options: SimulationOptions::default(),
            commits: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// The same simulation with crashes and faults. Call before [`Simulation::start`].
    #[must_use]
    pub fn with_options(mut self, options: SimulationOptions) -> Self {
        self.options = options;
        self
    }

    pub fn chart(&self) -> &Arc<Chart> {
        &self.library[0]
    }

    /// The simulated instance; `None` before the start, or when it could not start.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.instances.first().map(|instance| &instance.snapshot)
    }

    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// When the next timer fires or the next stub answers, if anything is due at all.
    pub fn next_due_ms(&self) -> Option<i64> {
        self.agenda.next_due_ms()
    }

    /// Milliseconds until then.
    pub fn next_due_in_ms(&self) -> Option<u64> {
        u64::try_from(self.next_due_ms()?.saturating_sub(self.now_ms)).ok()
    }

    /// The paths of all active states, ancestors included, in document order.
    pub fn active_paths(&self) -> Vec<String> {
        let chart = self.chart();
        let Some(snapshot) = self.snapshot() else { return Vec::new() };
        let active = chart.active(snapshot.configuration());
        let nodes = chart.node_ids().skip(1).filter(|node| active.contains(*node));
        nodes.map(|node| chart.node(node).path.to_string()).collect()
    }

    /// Starts the chart and whatever follows from that at time 0.
    pub fn start(&mut self) -> Line {
        self.begin_line(None);
        let chart = Arc::clone(&self.library[0]);
        let input = self.input.clone();
        if let Err(error) = self.start_instance(chart, input, None) {
            self.line.fail(ErrorKind::of(&error), error.to_string());
        }
        self.settle();
        self.end_line()
    }

    /// Applies one stimulus and everything that follows from it.
    pub fn apply(&mut self, stimulus: &Stimulus) -> Line {
        self.begin_line(Some(stimulus.to_json()));
        if !self.instances.is_empty() {
            match stimulus {
                Stimulus::Event { name, data } => {
                    self.mailbox.push_back((0, Event::named(Arc::clone(name), data.clone())));
                    self.settle();
                }
                Stimulus::Advance { ms, .. } => self.advance(*ms),
            }
        }
        self.end_line()
    }

    fn begin_line(&mut self, stimulus: Option<Value>) {
        self.line = Line { step: self.next_line, stimulus: stimulus.unwrap_or_default(), ..Line::default() };
        self.next_line += 1;
    }

    fn end_line(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        if let Some(Instance { chart, snapshot, .. }) = self.instances.first() {
            line.configuration = chart.leaf_paths(snapshot.configuration()).map(str::to_owned).collect();
            line.context = snapshot.context_map(chart);
            line.output = snapshot.output().clone();
            line.status = snapshot.status().as_str().to_owned();
        }
        if line.error.is_some() {
            line.status = Status::Error.as_str().to_owned();
        }
        line
    }

    /// A long advance fires a whole chain in order: each timer at its own due time.
    fn advance(&mut self, ms: u64) {
        let until = self.now_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX));
        for _ in 0..FIRINGS_MAX {
            let Some((due_ms, instance, event)) = self.take_due(until) else {
                self.now_ms = until;
                return;
            };
            self.now_ms = self.now_ms.max(due_ms);
            self.mailbox.push_back((instance, event));
            self.settle();
            // It would run away again at the same moment, up to a million times.
            if self.line.error_kind == Some(ErrorKind::Runaway) {
                return;
            }
        }
        self.line.fail(ErrorKind::Runaway, format!("more than {FIRINGS_MAX} timers fired in one advance"));
    }

    /// Delivers what waits, and what is due at this very moment, until nothing is left.
    fn settle(&mut self) {
        for _ in 0..DELIVERIES_MAX {
            let next = self.mailbox.pop_front();
            let next = next.or_else(|| self.take_due(self.now_ms).map(|(_, to, event)| (to, event)));
            let Some((instance, event)) = next else { return };
            self.deliver(instance, event);
        }
        self.mailbox.clear();
        self.line.fail(
            ErrorKind::Runaway,
            format!(
                "more than {DELIVERIES_MAX} deliveries at one moment: events that the chart sends itself never end"
            ),
        );
    }

    /// Takes what is due next, without answers to attempts that are over.
    fn take_due(&mut self, until: i64) -> Option<(i64, usize, Event)> {
        loop {
            let item = self.agenda.take_due(until)?;
            if !self.is_superseded(&item) {
                return Some((item.due_ms, item.instance, item.event));
            }
        }
    }

    /// Whether an answer belongs to an attempt that a later one of the same invocation has replaced.
    fn is_superseded(&self, item: &Item) -> bool {
        let (Some(answer), Some(instance)) = (item.answer, self.instances.get(item.instance)) else {
            return false;
        };
        let answered = match &item.event {
            Event::InvokeDone { invocation, .. } | Event::InvokeFailed { invocation, .. } => *invocation,
            Event::Named(_)
            | Event::TimerFired { .. }
            | Event::RetryRequested
            | Event::CancelRequested { .. } => return false,
        };
        let mut known = instance.snapshot.invocations().iter();
        known.any(|known| known.id == answered && known.attempt != answer.attempt)
    }

    pub(crate) fn deliver(&mut self, to: usize, event: Event) {
        let Some(instance) = self.instances.get_mut(to) else { return };
        let chart = Arc::clone(&instance.chart);
        let now = Now { ms: self.now_ms, world: &self.world };
        match step_traced(&chart, &mut instance.snapshot, event, now) {
            Ok(step) => self.commit(to, step),
            Err(error) => self.failed(to, &error),
        }
    }

    /// Takes over what a step did; the options may crash the simulation on either side of its effects.
    fn commit(&mut self, instance: usize, step: Step) {
        let commit = self.note_commit(instance);
        self.crash_at(commit, CrashMoment::AfterCommit);
        self.took(instance, step);
        self.crash_at(commit, CrashMoment::BeforeAcknowledgement);
    }

    pub(crate) fn start_instance(
        &mut self,
        chart: Arc<Chart>,
        input: Value,
        parent: Option<(usize, u64, Arc<str>)>,
    ) -> Result<(), StepError> {
        let (snapshot, step) = start_traced(&chart, input, Now { ms: self.now_ms, world: &self.world })?;
        let is_child = parent.is_some();
        self.instances.push(Instance { chart, snapshot, parent });
        let instance = self.instances.len() - 1;
        // A child begins within the commit of its parent.
        if is_child {
            self.took(instance, step)
        } else {
            self.commit(instance, step)
        }
        Ok(())
    }

    fn took(&mut self, instance: usize, step: Step) {
        let Step { effects, trace, handled, number } = step;
        self.line.traces.push(TracedStep {
            instance,
            chart: Arc::clone(&self.instances[instance].chart),
            number,
            handled,
            trace,
        });
        for effect in effects {
            self.carry_out(instance, effect);
        }
    }

    fn failed(&mut self, instance: usize, error: &StepError) {
        match self.instances[instance].parent.clone() {
            None => self.line.fail(ErrorKind::of(error), error.to_string()),
            Some((parent, invocation, _)) => {
                let error = Value::map([
                    ("category", Value::str("execution")),
                    ("message", Value::from(error.to_string())),
                ]);
                self.mailbox.push_back((parent, Event::InvokeFailed { invocation, error }));
            }
        }
    }

    /// The chart that `statechart:id` or `statechart:id@version` means. A version may be cut short: `1` is any `1.x.y`.
    pub(crate) fn resolve(&self, src: &str) -> Option<Arc<Chart>> {
        let wanted = src.strip_prefix("statechart:")?;
        let (id, version) = wanted.split_once('@').unwrap_or((wanted, "latest"));
        let fits = |chart: &Chart| {
            let version = version.trim_start_matches('^');
            version == "latest"
                || chart.version() == version
                || chart.version().strip_prefix(version).is_some_and(|rest| rest.starts_with('.'))
        };
        self.library.iter().find(|chart| chart.id() == id && fits(chart)).cloned()
    }

    pub(crate) fn send_from_outside(&mut self, to: usize, event: NamedEvent) {
        self.mailbox.push_back((to, Event::Named(event)));
    }
}
