//! The walks in the simulation: the same project, in virtual time. Calls answer a moment later, so that nothing happens
//! between two acts unless a walk waits for it.

use std::any::Any;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::{NamedEvent, Status, Value};
use rawko_host::{
    Activity, CallProgress, ContentReader, HostError, HostProject, PersonAnswer, Receipt, RuntimeGate,
    SnapshotReader, past_step,
};
use rawko_instance::{Input, InstanceError};
use rawko_sim::driver::{CallAnswer, CallRequest, DriverTurn, SimDriver, SimServices, SimSetup};
use rawko_store::{EffectKind, InstanceRow, MemoryStore, OpenEffect, Store};
use tokio::sync::broadcast;

use crate::walk::{Act, Walk, json, settled_text, told};
use crate::{project, trace};

/// Real time that a service gets before it counts as one that never answers.
const PATIENCE: Duration = Duration::from_millis(200);
/// Virtual time until an answer arrives.
const ANSWER_MS: u64 = 5;
/// Virtual time that a walk waits for timers, as on the hosts.
const TIMERS: Duration = Duration::from_secs(10);

/// The services of the project, as the simulation calls them.
struct ProjectServices {
    project: HostProject,
    runtime: tokio::runtime::Handle,
    watchers: broadcast::Sender<CallProgress>,
}

impl SimServices for ProjectServices {
    fn call(&mut self, request: &CallRequest) -> Vec<CallAnswer> {
        let (effect, instance) = (&request.effect, &request.instance);
        let call = request.request.clone();
        let contents = ContentReader::default();
        let answer = match self.project.prepare(
            effect,
            instance,
            call,
            &self.watchers,
            (RuntimeGate::absent(), contents),
        ) {
            Ok(running) => {
                let answer = tokio::time::timeout(PATIENCE, running.answer());
                self.runtime.block_on(answer).ok().flatten()
            }
            Err(error) => Some(Err(error)),
        };
        answer.map(|answer| CallAnswer::new(ANSWER_MS, request.result(answer))).into_iter().collect()
    }

    fn has(&self, name: &str, kind: EffectKind) -> bool {
        self.project.find_service(name, kind).is_some()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

pub(crate) struct Simulated {
    driver: SimDriver,
    reader: SnapshotReader,
    project: HostProject,
}

/// Runs a walk in the simulation and returns its trace.
pub(crate) fn walked(walk: &Walk, runtime: tokio::runtime::Handle) -> String {
    let mut simulated = Simulated::new(runtime);
    let mut out = String::new();
    let start = simulated.start(walk.chart, walk.input, walk.budget, walk.name);
    let _ = writeln!(out, "start: {}", told(start));
    for act in walk.acts {
        let told = simulated.perform(walk.name, *act);
        let _ = writeln!(out, "{act:?}: {told}");
    }
    out.push_str(&trace::all(&simulated.reader, walk.name).unwrap());
    out
}

impl Simulated {
    fn new(runtime: tokio::runtime::Handle) -> Self {
        let project = project::whole();
        let charts = project.library.offered().into_iter().map(|edition| edition.chart).collect();
        let setup = SimSetup {
            charts,
            gate: project.gate.clone(),
            agents: project.agents.clone(),
            limits: project.limits,
            ..SimSetup::default()
        };
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        for edition in project.library.offered() {
            store.put_chart(&project::row(&edition)).unwrap();
        }
        let watchers = broadcast::channel(16).0;
        let services = ProjectServices { project: project.clone(), runtime, watchers };
        let driver = SimDriver::new(setup, Arc::clone(&store), Box::new(services)).unwrap();
        Self { driver, reader: SnapshotReader::new(store), project }
    }

    fn start(&mut self, chart: &str, input: &str, budget: &str, id: &str) -> Result<Receipt, HostError> {
        if self.driver.store().find(id)?.is_some() {
            return Err(HostError::Exists(id.to_owned()));
        }
        let chart = self.project.library.resolve(chart)?.chart;
        self.driver.start_within(id, &chart, json(input), json(budget)).map_err(HostError::from)?;
        self.receipt(id)
    }

    fn fork(
        &mut self,
        id: &str,
        at: u64,
        set: &[(String, String)],
        new_id: &str,
    ) -> Result<Receipt, HostError> {
        let source = past_step(&self.reader, id, Some(at), &Value::Null)?;
        self.driver.fork(new_id, source, set).map_err(HostError::from)?;
        self.receipt(new_id)
    }

    /// Returns the receipt of an instance that began.
    fn receipt(&mut self, id: &str) -> Result<Receipt, HostError> {
        let row = self.reader.find(id)?;
        self.settle();
        Ok(Receipt {
            instance: id.into(),
            step: row.step,
            handled: true,
            status: row.head.status,
            queued: false,
        })
    }

    fn request(&mut self, id: &str, input: Input) -> Result<Receipt, HostError> {
        self.reader.find(id)?;
        // Time passes between two acts, as on the hosts: usage of an agent includes its duration.
        self.driver.set_clock(self.driver.now_ms() + 1);
        let request = self.driver.request(id, input)?;
        self.settle();
        let reply = self.driver.take_reply(request).unwrap();
        reply.map_err(|error: InstanceError| HostError::from(error))
    }

    /// Takes what waits at this moment.
    fn settle(&mut self) {
        assert_eq!(self.driver.settle().unwrap(), DriverTurn::Idle);
    }

    fn perform(&mut self, id: &str, act: Act) -> String {
        let event = |name: &str, data: &str, key: Option<&str>| Input::Event {
            event: NamedEvent::new(name, json(data)),
            key: key.map(Into::into),
        };
        match act {
            Act::Send(name, data) => told(self.request(id, event(name, data, None))),
            Act::SendTo(suffix, name) => {
                told(self.request(&format!("{id}{suffix}"), event(name, "null", None)))
            }
            Act::SendOnce(name, key) => told(self.request(id, event(name, "null", Some(key)))),
            Act::Settle => self.settled(id),
            Act::Until(suffix, records) => self.until(&format!("{id}{suffix}"), records),
            Act::Approve(invoke) => self.answer(id, invoke, true),
            Act::Deny(invoke) => self.answer(id, invoke, false),
            Act::Cancel => told(self.request(id, Input::Cancel { reason: Value::str("enough") })),
            Act::Retry => told(self.request(id, Input::Retry)),
            Act::Fork(suffix, at, (key, value)) => {
                let set = [(key.to_owned(), value.to_owned())];
                told(self.fork(id, at, &set, &format!("{id}{suffix}")))
            }
            Act::Beside(suffix, chart, input) => {
                told(self.start(chart, input, "null", &format!("{id}{suffix}")))
            }
        }
    }

    fn answer(&mut self, id: &str, invoke: Option<&str>, approved: bool) -> String {
        let answer = PersonAnswer {
            approved,
            by: Some("ada".into()),
            claimed: None,
            asked_ms: None,
            comment: None,
            data: Value::Null,
        };
        told(self.request(id, Input::Answer { invoke: invoke.map(str::to_owned), answer, key: None }))
    }

    fn settled(&mut self, id: &str) -> String {
        loop {
            self.settle();
            let row = self.reader.find(id).unwrap();
            if let Some(settled) = self.activity(&row).settled(self.driver.now_ms(), TIMERS) {
                return settled_text(settled);
            }
            self.advance();
        }
    }

    fn until(&mut self, id: &str, records: usize) -> String {
        loop {
            self.settle();
            let row = self.driver.store().find(id).unwrap();
            let count =
                |row: &InstanceRow| self.driver.store().records(row.key, 0, usize::MAX).unwrap().len();
            if row.as_ref().map_or(0, count) >= records {
                return "there".to_owned();
            }
            self.advance();
        }
    }

    fn advance(&mut self) {
        assert!(self.driver.advance_to_next(i64::MAX / 2).unwrap(), "nothing is due any more");
    }

    /// What an instance and everything below it is at.
    fn activity(&self, row: &InstanceRow) -> Activity {
        let open = self.driver.store().open_effects(Some(row.key)).unwrap();
        let is_work =
            |effect: &OpenEffect| rawko_instance::is_work(effect.kind) && effect.kind != EffectKind::Child;
        let mut activity = Activity {
            paused: false,
            status: row.head.status,
            busy: open.iter().any(is_work),
            person: open.iter().any(|effect| effect.kind == EffectKind::Person),
            next_due_ms: row.head.next_due_ms,
            fault: row.head.fault.as_deref().map(str::to_owned),
        };
        if activity.status != Status::Done {
            for effect in open.iter().filter(|effect| effect.kind == EffectKind::Child) {
                let child = self.driver.store().find(&rawko_instance::child_id(&row.new.id, effect)).unwrap();
                activity.add_child(child.map(|child| self.activity(&child)));
            }
        }
        activity
    }
}
