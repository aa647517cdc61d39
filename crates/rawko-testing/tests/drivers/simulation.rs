//! `SimStage`: the driver of the simulation with the desk, for scripts that the simulation of a scenario plays otherwise.

use std::any::Any;
use std::sync::{Arc, Mutex};

use rawko_core::{NamedEvent, Value};
use rawko_host::PersonAnswer;
use rawko_instance::{EffectPlace, EffectResult, Gate, Input, InstanceError, ServiceRequest};
use rawko_sim::driver::{CallAnswer, CallRequest, DriverTurn, SimDriver, SimServices, SimSetup};
use rawko_store::{MemoryStore, OpenEffect, Store};

use crate::desk::{Answer, Desk, WaitingCall};
use crate::journal;
use crate::player::{ID, Member, Stage};
use crate::script::Script;

struct DeskServices(Arc<Mutex<Desk>>);

impl SimServices for DeskServices {
    fn call(&mut self, request: &CallRequest) -> Vec<CallAnswer> {
        let (id, attempt) = match &request.request {
            ServiceRequest::Invoke(invoke) => (Arc::clone(&invoke.id), u64::from(invoke.attempt)),
            ServiceRequest::Call { handler, .. } => (Arc::clone(handler), 1),
            ServiceRequest::Send(_) => return vec![CallAnswer::new(0, request.result(Ok(Value::Null)))],
        };
        self.0.lock().unwrap().waiting.push(WaitingCall {
            instance: Arc::clone(&request.instance),
            id,
            name: Arc::clone(&request.effect.name),
            input: request.input().clone(),
            key: Arc::clone(&request.effect.idempotency),
            attempt,
            sender: None,
            plan: None,
        });
        Vec::new()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

pub(crate) struct SimStage {
    driver: SimDriver,
    store: Arc<dyn Store>,
    desk: Arc<Mutex<Desk>>,
}

impl SimStage {
    pub(crate) fn new(script: &Script) -> Self {
        let setup = SimSetup {
            charts: script.charts.iter().map(|edition| Arc::clone(&edition.chart)).collect(),
            gate: Gate::open(),
            world: script.world.clone(),
            ..SimSetup::default()
        };
        let desk = Arc::new(Mutex::new(Desk::new(&script.stubs)));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let services = Box::new(DeskServices(Arc::clone(&desk)));
        Self { driver: SimDriver::new(setup, Arc::clone(&store), services).unwrap(), store, desk }
    }

    /// The states in which the root rests.
    pub(crate) fn configuration(&self) -> Vec<String> {
        let row = self.store.find(ID).unwrap().unwrap();
        let root = self.driver.restore(&row).unwrap();
        root.chart().leaf_paths(root.snapshot().configuration()).map(str::to_owned).collect()
    }

    fn request(&mut self, id: &str, input: Input) {
        let request = self.driver.request(id, input).unwrap();
        assert_eq!(self.driver.settle().unwrap(), DriverTurn::Idle);
        match self.driver.take_reply(request) {
            Some(Ok(_) | Err(InstanceError::Over { .. } | InstanceError::Step(_))) => {}
            reply => panic!("{id}: {reply:?}"),
        }
    }
}

impl Stage for SimStage {
    fn desk(&self) -> &Arc<Mutex<Desk>> {
        &self.desk
    }

    fn set_clock(&mut self, now_ms: i64) {
        self.driver.set_clock(now_ms);
    }

    async fn begin(&mut self, script: &Script) {
        let (input, budget) = (script.input.clone(), script.budget.clone());
        self.driver.start_within(ID, &script.charts[0].chart, input, budget).unwrap();
    }

    async fn rest(&mut self) {
        assert_eq!(self.driver.settle().unwrap(), DriverTurn::Idle);
    }

    async fn family(&mut self) -> Vec<Member> {
        journal::family(&*self.store)
    }

    async fn send(&mut self, name: &Arc<str>, data: &Value) {
        let event = NamedEvent::new(Arc::clone(name), data.clone());
        self.request(ID, Input::Event { event, key: None });
    }

    async fn result(&mut self, instance: &str, effect: &OpenEffect, answer: Answer) {
        let place = EffectPlace { step: effect.step, index: effect.index };
        let result = EffectResult::of(effect, answer);
        self.request(instance, Input::Result { effect: place, result });
    }

    async fn answer(&mut self, instance: &str, invoke: &str, answer: PersonAnswer) {
        self.request(instance, Input::Answer { invoke: Some(invoke.to_owned()), answer, key: None });
    }

    async fn journal(&mut self) -> String {
        journal::of(&*self.store, ID)
    }
}
