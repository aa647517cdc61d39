//! `Simulation`: one chart, its children and the virtual clock they share, on the instance machine. Reports one line per
//! stimulus.

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::{Chart, InstanceFacts, NamedEvent, Snapshot, Status, Value, World};
use rawko_instance::{Gate, Input, Instance, InstanceError};
use rawko_store::{InstanceKey, MemoryStore, Store};

use crate::answers::StimulusAnswers;
use crate::denials::Denials;
use crate::driver::{DriverTurn, SimDriver, SimSetup};
use crate::failed_step::failed_step;
use crate::service::{AnsweredFault, StubServices};
use crate::shown_step::show;
use crate::{CallPoint, CommitPoint, ErrorKind, ReportLine, SimulationOptions, Stimulus, Stubs};

/// Times that one advance may move the clock.
const FIRINGS_MAX: usize = 1_000_000;
/// The simulated instance is the first that begins.
pub(crate) const ROOT: InstanceKey = InstanceKey(1);
const ROOT_ID: &str = "simulated";

/// The charts of a simulation: the first is simulated, the others are there to be invoked.
pub struct Simulation {
    chart: Arc<Chart>,
    others: Vec<Arc<Chart>>,
    stubs: Stubs,
    world: World,
    input: Value,
    options: SimulationOptions,
    answers: StimulusAnswers,
    /// The gate of a project; without one, every call is allowed.
    gate: Option<Gate>,
    denials: Denials,
    firings_max: usize,
    driver: Option<SimDriver>,
    /// The simulated instance after the last stimulus.
    root: Option<Instance>,
    line: ReportLine,
    next_line: u64,
    /// Records that earlier lines have shown.
    seen: u64,
    /// Kinds of the failures of the simulated instance, by message: records and faults have only the message.
    failures: BTreeMap<String, ErrorKind>,
}

impl Simulation {
    /// A simulation of `chart`; the others can be invoked as children.
    pub fn new(chart: Arc<Chart>, others: Vec<Arc<Chart>>, stubs: Stubs, world: World, input: Value) -> Self {
        Self {
            chart,
            others,
            stubs,
            world,
            input,
            options: SimulationOptions::default(),
            answers: StimulusAnswers::default(),
            gate: None,
            denials: Denials::default(),
            firings_max: FIRINGS_MAX,
            driver: None,
            root: None,
            line: ReportLine::default(),
            next_line: 0,
            seen: 0,
            failures: BTreeMap::new(),
        }
    }

    /// The same simulation with crashes and faults. Call before [`Simulation::start`].
    #[must_use]
    pub fn with_options(mut self, options: SimulationOptions) -> Self {
        self.options = options;
        self
    }

    /// The same simulation with all of its stimuli known. An invoke of a chart that was not given then fails as on a
    /// host, unless one of them answers it. Call before [`Simulation::start`].
    #[must_use]
    pub fn with_stimuli<'s>(mut self, stimuli: impl IntoIterator<Item = &'s Stimulus>) -> Self {
        self.answers = StimulusAnswers::of(stimuli);
        self
    }

    /// The same simulation with the gate of a project: a call that it refuses fails as on a host, stubbed or not.
    /// Call before [`Simulation::start`].
    #[must_use]
    pub fn with_gate(mut self, gate: Option<Gate>) -> Self {
        self.gate = gate;
        self
    }

    /// The same simulation with another limit of the times that one advance may move the clock.
    #[must_use]
    pub fn with_firings_max(mut self, most: usize) -> Self {
        self.firings_max = most;
        self
    }

    /// Returns the chart of instance 0.
    pub fn chart(&self) -> &Arc<Chart> {
        &self.chart
    }

    /// Returns the store of the simulated instances; `None` before the start.
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.driver.as_ref().map(SimDriver::store)
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// The simulated instance; `None` before the start, or when it could not start.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.root.as_ref().map(Instance::snapshot)
    }

    pub(crate) fn facts(&self) -> InstanceFacts {
        self.root.as_ref().map(|root| root.new_instance().facts()).unwrap_or_default()
    }

    /// Returns the virtual time in milliseconds; 0 before the start.
    pub fn now_ms(&self) -> i64 {
        self.driver.as_ref().map_or(0, SimDriver::now_ms)
    }

    /// When the next timer fires or the next stub answers, if anything is due at all.
    pub fn next_due_ms(&self) -> Option<i64> {
        self.driver.as_ref()?.next_due_ms().ok()?
    }

    /// Milliseconds until then.
    pub fn next_due_in_ms(&self) -> Option<u64> {
        u64::try_from(self.next_due_ms()?.saturating_sub(self.now_ms())).ok()
    }

    /// The paths of all active states, ancestors included, in document order.
    pub fn active_paths(&self) -> Vec<String> {
        let chart = self.chart();
        let Some(snapshot) = self.snapshot() else { return Vec::new() };
        let active = chart.active(snapshot.configuration());
        let nodes = chart.node_ids().skip(1).filter(|node| active.contains(*node));
        nodes.map(|node| chart.node(node).path.to_string()).collect()
    }

    /// The commits so far, in order. A child begins within the commit of its parent.
    pub fn commit_points(&self) -> Vec<CommitPoint> {
        self.with_services(|services| services.commits.clone())
    }

    /// The calls so far, in order: every invoke of every instance.
    pub fn call_points(&self) -> Vec<CallPoint> {
        self.with_services(|services| services.calls.clone())
    }

    fn with_services<T: Default>(&self, look: impl FnOnce(&StubServices) -> T) -> T {
        let Some(driver) = &self.driver else { return T::default() };
        driver.services().as_any().downcast_ref::<StubServices>().map(look).unwrap_or_default()
    }

    /// Starts the chart and processes everything that follows at time 0.
    pub fn start(&mut self) -> ReportLine {
        self.begin_line(None);
        if let Err(error) = self.try_start() {
            self.line.fail(ErrorKind::of_instance(&error), error.to_string());
        }
        self.end_line()
    }

    fn try_start(&mut self) -> Result<(), InstanceError> {
        let mut charts = vec![Arc::clone(&self.chart)];
        charts.extend(self.others.iter().cloned());
        let (gate, world) = (self.gate.clone().unwrap_or_else(Gate::open), self.world.clone());
        let setup = SimSetup { charts, gate, world, takes_facts: true, ..SimSetup::default() };
        let services =
            StubServices::new(setup.clone(), self.stubs.clone(), self.options.clone(), self.answers.clone());
        let chaos = services.chaos();
        let mut driver = SimDriver::new(setup, Arc::new(MemoryStore::new()), Box::new(services))?;
        driver.set_chaos(chaos);
        driver.trace();
        let (chart, input) = (Arc::clone(&self.chart), self.input.clone());
        let turn = driver.start(ROOT_ID, &chart, input);
        self.driver = Some(driver);
        if turn? == DriverTurn::Crashed {
            self.restart()?;
        }
        self.settle()
    }

    /// Applies one stimulus and everything that follows from it.
    pub fn apply(&mut self, stimulus: &Stimulus) -> ReportLine {
        self.begin_line(Some(stimulus.to_json()));
        if self.root.is_some() {
            let applied = match stimulus {
                Stimulus::Event { name, data } => {
                    self.deliver(NamedEvent::new(Arc::clone(name), data.clone()))
                }
                Stimulus::Advance { ms, .. } => self.advance(*ms),
            };
            if let Err(error) = applied {
                self.line.fail(ErrorKind::of_instance(&error), error.to_string());
            }
        }
        self.end_line()
    }

    /// Sends an event with a key of its own until it is acknowledged, as a client does.
    fn deliver(&mut self, event: NamedEvent) -> Result<(), InstanceError> {
        let key: Arc<str> = format!("stimulus-{}", self.line.step).into();
        let fault = self.fault_of_answer(&event);
        if matches!(fault, Some(AnsweredFault::Lost)) {
            return Ok(());
        }
        for _ in 0..3 {
            let Some(driver) = &mut self.driver else { return Ok(()) };
            let input = Input::Event { event: event.clone(), key: Some(Arc::clone(&key)) };
            let request = driver.request(ROOT_ID, input)?;
            self.settle()?;
            let reply = self.driver.as_mut().and_then(|driver| driver.take_reply(request));
            match reply {
                // An ended instance takes no events; the line shows that nothing happened.
                Some(Ok(_) | Err(InstanceError::Over { .. } | InstanceError::Step(_))) => {
                    return self.repeat(fault);
                }
                Some(Err(InstanceError::EventRefused { refusal, .. })) => {
                    self.line.refused = Some(refusal.to_string());
                    return Ok(());
                }
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
        Ok(())
    }

    fn fault_of_answer(&self, event: &NamedEvent) -> Option<AnsweredFault> {
        let root = self.driver.as_ref()?.instance(ROOT)?;
        self.with_services(|services| services.fault_of_answer(root.snapshot(), event))
    }

    /// Delivers the result of a call again that a stimulus answered.
    fn repeat(&mut self, fault: Option<AnsweredFault>) -> Result<(), InstanceError> {
        if let (Some(AnsweredFault::Twice(effect, result)), Some(driver)) = (fault, &mut self.driver) {
            driver.request(ROOT_ID, Input::Result { effect, result })?;
            self.settle()?;
        }
        Ok(())
    }

    /// A long advance fires a whole chain in order: each timer at its own due time.
    fn advance(&mut self, ms: u64) -> Result<(), InstanceError> {
        let until = self.now_ms().saturating_add(i64::try_from(ms).unwrap_or(i64::MAX));
        for _ in 0..self.firings_max {
            let Some(driver) = &mut self.driver else { return Ok(()) };
            if !driver.advance_to_next(until)? {
                return Ok(());
            }
            self.settle()?;
            if self.line.error.is_some() {
                return Ok(());
            }
        }
        self.line
            .fail(ErrorKind::Runaway, format!("more than {} timers fired in one advance", self.firings_max));
        Ok(())
    }

    /// Takes everything that waits or is due at this moment.
    fn settle(&mut self) -> Result<(), InstanceError> {
        loop {
            let Some(driver) = &mut self.driver else { return Ok(()) };
            match driver.settle()? {
                DriverTurn::Took => {}
                DriverTurn::Idle => return Ok(()),
                DriverTurn::Crashed => self.restart()?,
                DriverTurn::Runaway => {
                    let message = "deliveries at one moment never end: events that the chart sends itself";
                    self.line.fail(ErrorKind::Runaway, message.to_owned());
                    return Ok(());
                }
            }
        }
    }

    fn restart(&mut self) -> Result<(), InstanceError> {
        match &mut self.driver {
            Some(driver) => Ok(driver.restart()?),
            None => Ok(()),
        }
    }

    fn begin_line(&mut self, stimulus: Option<Value>) {
        self.line = ReportLine {
            step: self.next_line,
            stimulus: stimulus.unwrap_or_default(),
            ..ReportLine::default()
        };
        if let Some(driver) = &self.driver
            && let Some(services) = driver.services_mut().as_any_mut().downcast_mut::<StubServices>()
        {
            services.line = self.next_line;
        }
        self.next_line += 1;
    }

    fn end_line(&mut self) -> ReportLine {
        let mut line = std::mem::take(&mut self.line);
        if let Some(driver) = &mut self.driver {
            if let Some(services) = driver.services_mut().as_any_mut().downcast_mut::<StubServices>() {
                services.note_commits();
            }
            for trace in driver.take_traces() {
                show(&mut line, trace);
            }
            let failures = driver.take_failures().into_iter().filter(|failure| failure.instance == ROOT);
            self.failures.extend(failures.map(|failure| (failure.message, failure.kind.into())));
            let (failed, undelivered) = failed_step(driver, ROOT, &mut self.seen);
            line.faults.extend(undelivered);
            if self.gate.is_some() {
                line.denied = self.denials.take(&**driver.store());
            }
            if let Some(message) = failed {
                let kind = kind_of(&self.failures, &message);
                line.error.get_or_insert(message);
                line.error_kind.get_or_insert(kind);
            }
            self.root = driver.instance(ROOT).cloned().or_else(|| {
                let row = driver.store().instance(ROOT).ok().flatten()?;
                driver.restore(&row).ok()
            });
        }
        if let Some(root) = &self.root {
            let snapshot = root.snapshot();
            line.configuration = self.chart.leaf_paths(snapshot.configuration()).map(str::to_owned).collect();
            line.context = snapshot.context_map(&self.chart);
            line.output = snapshot.output().clone();
            line.status = snapshot.status().as_str().to_owned();
            // An instance that rests after a runaway loop takes no further step by itself, as on a host.
            if let Some(fault) = root.head().fault.as_deref()
                && line.error.is_none()
            {
                line.fail(kind_of(&self.failures, fault), fault.to_owned());
            }
        }
        if line.error.is_some() {
            line.status = Status::Error.as_str().to_owned();
        }
        line
    }
}

fn kind_of(failures: &BTreeMap<String, ErrorKind>, message: &str) -> ErrorKind {
    failures.get(message).copied().unwrap_or(ErrorKind::Other)
}
