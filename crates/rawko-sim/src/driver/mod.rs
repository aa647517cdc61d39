//! `SimDriver`: the instance machine in virtual time, over a real [`Store`]. It does what a host does (commit, then perform)
//! one operation at a time, so that a crash or a fault can be placed between any two of them.

mod calls;
mod chaos;
mod environment;
mod recovery;
mod turn;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use rawko_chart::Resolution;
use rawko_core::{Chart, Value, World};
use rawko_instance::{
    AgentResolver, FamilyCounts, ForkSource, Gate, Input, Instance, InstanceError, InstanceLimits, NewRoot,
    Receipt, ServiceError, StepFailure, StepTrace,
};
use rawko_store::{Commit, InstanceKey, Store, StoreError};

pub use calls::{CallAnswer, CallRequest, SimServices};
pub use chaos::{Calm, Chaos, CommitFate, Point};

/// Inputs that one moment may set off before the driver stops: events that never end.
const INPUTS_MAX: usize = 20_000;
/// Inputs that each item of an `each` may add to them, and the most that items may add.
const INPUTS_PER_ITEM: usize = 8;
const INPUTS_OF_ITEMS_MAX: usize = 2_000_000;

/// Configuration of the simulated project.
#[derive(Clone, Default)]
pub struct SimSetup {
    /// Charts that instances can be started from and invoke.
    pub charts: Vec<Arc<Chart>>,
    /// Rules about the services that may be called.
    pub gate: Gate,
    /// Limits of the machine, as in the `host` settings.
    pub limits: InstanceLimits,
    /// Settings and agents that expressions see.
    pub world: World,
    /// Resolves `agent:` names; without it they are services.
    pub agents: Option<Arc<dyn AgentResolver>>,
    /// Events from outside may report results by name, as stimuli do.
    pub takes_facts: bool,
}

impl SimSetup {
    /// The newest chart that `id` or `id@range` means, as on a host.
    pub fn resolve(&self, reference: &str) -> Result<Arc<Chart>, ServiceError> {
        let (id, wanted) = reference.split_once('@').unwrap_or((reference, "latest"));
        let editions = || self.charts.iter().filter(|chart| chart.id() == id);
        let versions: Vec<String> = editions().map(|chart| chart.version().to_owned()).collect();
        match Resolution::among(&versions, wanted) {
            Resolution::Found(version) => editions()
                .find(|chart| chart.version() == version)
                .cloned()
                .ok_or_else(|| ServiceError::no_chart(id)),
            Resolution::NoVersion(known) => {
                Err(ServiceError::no_chart_version(id, wanted, &known.join(", ")))
            }
            Resolution::BadRange => Err(ServiceError::bad_chart_range(wanted)),
            Resolution::Unknown => Err(ServiceError::no_chart(id)),
        }
    }
}

/// Result of the last operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverTurn {
    /// Something was taken.
    Took,
    /// Nothing waits at this moment.
    Idle,
    /// The process died; [`SimDriver::restart`] continues from the store.
    Crashed,
    /// Too many inputs at one moment.
    Runaway,
}

/// Reply to an input from outside, once it is committed.
pub type SimReply = Result<Receipt, InstanceError>;

/// An input on its way to an instance, and the number of the request that waits for its commit.
#[derive(Clone, Debug)]
pub(crate) struct SimDelivery {
    pub(crate) to: InstanceKey,
    pub(crate) input: Input,
    pub(crate) request: Option<u64>,
}

/// The driver and its volatile state: everything but the store is lost in a crash.
pub struct SimDriver {
    pub(crate) setup: SimSetup,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) services: RefCell<Box<dyn SimServices>>,
    pub(crate) chaos: Box<dyn Chaos>,
    pub(crate) now_ms: i64,
    pub(crate) epoch: u64,
    pub(crate) live: BTreeMap<InstanceKey, Instance>,
    pub(crate) queue: VecDeque<SimDelivery>,
    /// Answers of running calls, by the time they arrive and the order in which the calls began.
    pub(crate) agenda: BTreeMap<(i64, u64), (SimDelivery, bool)>,
    /// When each instance does something by itself next, and in which order these deadlines were set.
    pub(crate) deadlines: BTreeMap<InstanceKey, (i64, u64)>,
    /// Traces of the steps at this moment, if tracing is on.
    pub(crate) traces: Option<Vec<StepTrace>>,
    /// Failures of steps since they were taken last.
    pub(crate) failures: Vec<StepFailure>,
    pub(crate) replies: BTreeMap<u64, SimReply>,
    /// A commit that was reported as failed and is found by the next start ([`CommitFate::Torn`]).
    pub(crate) torn: Vec<Commit>,
    pub(crate) next_request: u64,
    pub(crate) next_order: u64,
    pub(crate) next_key: Cell<i64>,
    pub(crate) next_message: Cell<i64>,
    /// Items of an `each` that were planned so far, without the first of each. A loop that starts a list again adds none.
    pub(crate) items: RefCell<HashSet<(InstanceKey, Arc<str>)>>,
    pub(crate) families: RefCell<FamilyCounts>,
}

impl SimDriver {
    /// Creates a driver over a store and recovers the instances in it.
    pub fn new(
        setup: SimSetup,
        store: Arc<dyn Store>,
        services: Box<dyn SimServices>,
    ) -> Result<Self, StoreError> {
        let mut driver = Self {
            setup,
            store,
            services: RefCell::new(services),
            chaos: Box::new(Calm),
            now_ms: 0,
            epoch: 0,
            live: BTreeMap::new(),
            queue: VecDeque::new(),
            agenda: BTreeMap::new(),
            failures: Vec::new(),
            replies: BTreeMap::new(),
            torn: Vec::new(),
            next_request: 0,
            next_order: 0,
            deadlines: BTreeMap::new(),
            traces: None,
            next_key: Cell::new(0),
            next_message: Cell::new(0),
            items: RefCell::default(),
            families: RefCell::default(),
        };
        driver.restart()?;
        Ok(driver)
    }

    /// The instance in memory; `None` if it was read from the store last or never began.
    pub fn instance(&self, key: InstanceKey) -> Option<&Instance> {
        self.live.get(&key)
    }

    /// Faults from now on.
    pub fn set_chaos(&mut self, chaos: Box<dyn Chaos>) {
        self.chaos = chaos;
    }

    /// Returns the virtual time in milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Returns the store, which survives a crash.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The world that calls reach.
    pub fn services(&self) -> std::cell::Ref<'_, Box<dyn SimServices>> {
        self.services.borrow()
    }

    /// Borrows the services, to change their answers during a run.
    pub fn services_mut(&self) -> std::cell::RefMut<'_, Box<dyn SimServices>> {
        self.services.borrow_mut()
    }

    /// Keeps traces of steps from now on; [`SimDriver::take_traces`] has them.
    pub fn trace(&mut self) {
        self.traces = Some(Vec::new());
    }

    /// Drains the failures of steps, of every instance, in order.
    pub fn take_failures(&mut self) -> Vec<StepFailure> {
        std::mem::take(&mut self.failures)
    }

    /// Drains the traces recorded since the last call; empty unless tracing is on.
    pub fn take_traces(&mut self) -> Vec<StepTrace> {
        self.traces.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Numbers deadlines and answers in the order in which they were set.
    pub(crate) fn next_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    /// Starts an instance; after [`DriverTurn::Took`] it exists.
    pub fn start(&mut self, id: &str, chart: &Arc<Chart>, input: Value) -> Result<DriverTurn, InstanceError> {
        self.start_within(id, chart, input, Value::Null)
    }

    /// The same with a budget for all its life; null for none.
    pub fn start_within(
        &mut self,
        id: &str,
        chart: &Arc<Chart>,
        input: Value,
        budget: Value,
    ) -> Result<DriverTurn, InstanceError> {
        let root = NewRoot { id: id.into(), chart: Arc::clone(chart), input, budget };
        let (instance, tx) = rawko_instance::start(root, &*self, self.now_ms)?;
        self.commit(instance, tx, &[])
    }

    /// Starts an instance from a past step of another, with context keys set to the values of expressions.
    pub fn fork(
        &mut self,
        id: &str,
        source: ForkSource,
        set: &[(String, String)],
    ) -> Result<DriverTurn, InstanceError> {
        let (instance, tx) = source.fork(set, id, &*self, self.now_ms)?;
        self.commit(instance, tx, &[])
    }

    /// Queues an input from outside; [`SimDriver::take_reply`] has the answer once it is committed.
    pub fn request(&mut self, id: &str, input: Input) -> Result<u64, StoreError> {
        let request = self.next_request;
        self.next_request += 1;
        match self.store.find(id)? {
            Some(row) => self.queue.push_back(SimDelivery { to: row.key, input, request: Some(request) }),
            None => return Err(StoreError::Refused(format!("there is no instance `{id}`"))),
        }
        Ok(request)
    }

    /// Takes the reply to a request; `None` while its commit is pending.
    pub fn take_reply(&mut self, request: u64) -> Option<SimReply> {
        self.replies.remove(&request)
    }

    /// Takes everything that waits at this moment.
    pub fn settle(&mut self) -> Result<DriverTurn, InstanceError> {
        let mut taken = 0;
        while taken < INPUTS_MAX + (INPUTS_PER_ITEM * self.items.borrow().len()).min(INPUTS_OF_ITEMS_MAX) {
            match self.turn()? {
                DriverTurn::Took => taken += 1,
                turn @ (DriverTurn::Idle | DriverTurn::Crashed | DriverTurn::Runaway) => return Ok(turn),
            }
        }
        Ok(DriverTurn::Runaway)
    }

    /// When the next timer fires, approval expires or call answers.
    pub fn next_due_ms(&self) -> Result<Option<i64>, StoreError> {
        let call = self.agenda.keys().next().map(|(due_ms, _)| *due_ms);
        let instance = self.deadlines.values().map(|(due_ms, _)| *due_ms).min();
        Ok([call, instance].into_iter().flatten().min())
    }

    /// Moves the clock to the next thing that is due, at most to `until_ms`. `false`: nothing is due by then.
    pub fn advance_to_next(&mut self, until_ms: i64) -> Result<bool, StoreError> {
        match self.next_due_ms()?.filter(|due_ms| *due_ms <= until_ms) {
            Some(due_ms) => {
                self.now_ms = self.now_ms.max(due_ms);
                Ok(true)
            }
            None => {
                self.now_ms = self.now_ms.max(until_ms);
                Ok(false)
            }
        }
    }

    /// Sets the clock, also backwards.
    pub fn set_clock(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }
}
