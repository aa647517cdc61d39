//! A host on a SQLite file with a clock by hand and services that answer as a scenario's stubs do: each answer is held
//! back until its time has come, and nothing else happens until all that followed is on disk.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rawko_core::{NamedEvent, Value, duration};
use rawko_host::{
    Category, Clock, Edition, Gate, Host, HostError, ServiceCall, ServiceError, Services, closure,
};
use rawko_store::{EffectKind, SqliteOptions, SqliteStore, Store};
use rawko_testing::ScenarioPlan;
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::journal;

/// The id that the simulation gives its instance.
const ID: &str = "simulated";
const PATIENCE: Duration = Duration::from_secs(60);

type Answer = Result<Value, ServiceError>;
/// The instance, the idempotency key and the number of the attempt.
type Attempt = (String, String, u64);

#[derive(Default)]
struct HandClock(AtomicI64);

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A call that waits for its time; without an answer it waits for ever.
struct Waiting {
    attempt: Attempt,
    answer: Option<(i64, Answer)>,
    sender: oneshot::Sender<Answer>,
}

#[derive(Clone)]
struct Stub {
    after_ms: i64,
    answer: Answer,
    /// The values that the input of the call must have.
    input: Option<Value>,
}

#[derive(Default)]
struct Desk {
    stubs: BTreeMap<String, Vec<Stub>>,
    given: BTreeMap<String, usize>,
    waiting: Vec<Waiting>,
}

pub(crate) struct StubHost {
    host: Host,
    clock: Arc<HandClock>,
    store: Arc<dyn Store>,
    desk: Arc<Mutex<Desk>>,
    _folder: TempDir,
}

/// The error of a stub as a service would report it.
fn service_error(error: &Value) -> ServiceError {
    let category = error.get("category").as_str().and_then(Category::claimed);
    let message = error.get("message").as_str().unwrap_or_default();
    let mut known = ServiceError::new(category.unwrap_or(Category::Failed), message);
    if let Value::Bool(retryable) = error.get("retryable") {
        known.retryable = Some(*retryable);
    }
    let own = ["category", "message", "retryable"];
    let more = error.as_map().into_iter().flat_map(|map| map.iter());
    let more: Vec<_> = more.filter(|(key, _)| !own.contains(&&***key)).collect();
    if more.is_empty() {
        return known;
    }
    known.with_details(Value::map(more.into_iter().map(|(key, value)| (&**key, value.clone()))))
}

/// The same stubs with errors as a service can report them: with a category and a message.
pub(crate) fn as_services_fail(stubs: &Value) -> Value {
    let mut json = stubs.to_json();
    for answers in json.as_object_mut().into_iter().flat_map(|stubs| stubs.values_mut()) {
        let all = match answers {
            Json::Array(all) => all.iter_mut().collect::<Vec<_>>(),
            one => vec![one],
        };
        for answer in all {
            if let Some(error) = answer.get_mut("error") {
                *error = service_error(&error.clone().into()).to_value().to_json();
            }
        }
    }
    json.into()
}

fn read(stubs: &Value) -> BTreeMap<String, Vec<Stub>> {
    let one = |answer: &Value| {
        let after_ms = match answer.get("after") {
            Value::Int(ms) => *ms,
            Value::Str(text) => duration::parse_ms(text).unwrap() as i64,
            _ => 0,
        };
        let input = Some(answer.get("input").clone()).filter(|input| !input.is_null());
        let error = answer.get("error");
        let answer = if error.is_null() { Ok(answer.get("done").clone()) } else { Err(service_error(error)) };
        Stub { after_ms, answer, input }
    };
    let all = |answers: &Value| match answers {
        Value::List(list) => list.iter().map(one).collect(),
        answer => vec![one(answer)],
    };
    let stubs = stubs.as_map().into_iter().flat_map(|stubs| stubs.iter());
    stubs.map(|(name, answers)| (name.to_string(), all(answers))).collect()
}

impl Desk {
    /// Notes a call; the receiver has its answer once its time has come.
    fn call(&mut self, call: &ServiceCall, now_ms: i64) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let whole = call.id.split_once('[').map_or(&*call.id, |(whole, _)| whole);
        let names = [&*call.id, whole, &*call.name].into_iter().filter(|name| self.stubs.contains_key(*name));
        let answer = names.into_iter().find_map(|name| {
            let is_meant = |stub: &&Stub| {
                let wanted = stub.input.as_ref().and_then(Value::as_map)?;
                wanted.iter().all(|(key, value)| call.input.get(key) == value).then_some(())
            };
            if let Some(stub) = self.stubs[name].iter().find(|stub| is_meant(stub).is_some()) {
                return Some((now_ms + stub.after_ms, stub.answer.clone()));
            }
            let any: Vec<&Stub> = self.stubs[name].iter().filter(|stub| stub.input.is_none()).collect();
            let last = any.len().checked_sub(1)?;
            let given = self.given.entry(name.to_owned()).or_default();
            let stub = any[(*given).min(last)];
            *given += 1;
            Some((now_ms + stub.after_ms, stub.answer.clone()))
        });
        let attempt = (call.instance.to_string(), call.idempotency.to_string(), u64::from(call.attempt));
        self.waiting.push(Waiting { attempt, answer, sender });
        receiver
    }

    fn next_due_ms(&self) -> Option<i64> {
        self.waiting.iter().filter_map(|waiting| Some(waiting.answer.as_ref()?.0)).min()
    }

    /// Takes the earliest answer that is due.
    fn take_due(&mut self, now_ms: i64) -> Option<Waiting> {
        let due = |(at, waiting): (usize, &Waiting)| Some((waiting.answer.as_ref()?.0, at));
        let (due_ms, first) = self.waiting.iter().enumerate().filter_map(due).min()?;
        // Calls of one instance that begin together reach the desk in any order.
        let instance = self.waiting[first].attempt.0.clone();
        let same = self.waiting.iter().enumerate().filter(|(_, waiting)| {
            waiting.attempt.0 == instance && waiting.answer.as_ref().is_some_and(|answer| answer.0 == due_ms)
        });
        let first = same.min_by_key(|(_, waiting)| place_of(&waiting.attempt.1)).map_or(first, |(at, _)| at);
        (due_ms <= now_ms).then(|| self.waiting.remove(first))
    }
}

impl StubHost {
    pub(crate) async fn start(plan: &ScenarioPlan) -> StubHost {
        // In memory where there is such a folder: hundreds of stores would wait for their disk, and no crash is tested here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let store = SqliteStore::open(&folder.path().join("store.db"), SqliteOptions::default()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let clock = Arc::new(HandClock::default());
        let desk = Arc::new(Mutex::new(Desk { stubs: read(&plan.stubs), ..Desk::default() }));
        let (at, calls, open) = (Arc::clone(&clock), Arc::clone(&desk), Arc::clone(&store));
        let service = closure(move |call: ServiceCall| {
            let is_handler = is_handler(&*open, &call);
            let answer = (!is_handler).then(|| calls.lock().unwrap().call(&call, at.now_ms()));
            async move {
                let Some(answer) = answer else { return Ok(Value::Null) };
                match answer.await {
                    Ok(answer) => answer,
                    // The scenario is over.
                    Err(_) => std::future::pending().await,
                }
            }
        });
        let mut builder = Host::builder()
            .store(Arc::clone(&store))
            .services(Services::new().executor(service))
            .endpoints(Services::new().executor(closure(|_| async { Ok(Value::Null) })))
            .gate(Gate::open())
            .world(plan.world.clone())
            .clock(Arc::clone(&clock) as Arc<dyn Clock>);
        let edition = |chart| Edition { chart, name: "chart.yaml".into(), text: "".into() };
        for chart in plan.charts.iter().rev() {
            builder = builder.chart(edition(Arc::clone(chart)));
        }
        let host = builder.start().await.unwrap();
        let first = edition(Arc::clone(&plan.charts[0]));
        host.start_within(first, plan.input.clone(), Some(ID.to_owned()), Value::Null).await.unwrap();
        let mut started = StubHost { host, clock, store, desk, _folder: folder };
        started.settle().await;
        started
    }

    pub(crate) async fn send(&mut self, name: &Arc<str>, data: Value) {
        match self.host.send(ID, NamedEvent::new(Arc::clone(name), data), None).await {
            Ok(_) | Err(HostError::Over { .. } | HostError::Step(_)) => {}
            Err(error) => panic!("{name}: {error}"),
        }
        self.settle().await;
    }

    /// Moves the clock from one moment to the next at which something is due.
    pub(crate) async fn advance(&mut self, ms: u64) {
        let until_ms = self.clock.now_ms() + ms as i64;
        loop {
            let timer = self.store.timers().unwrap().first().map(|(_, due_ms)| *due_ms);
            let answer = self.desk.lock().unwrap().next_due_ms();
            let next = [timer, answer].into_iter().flatten().min().filter(|due_ms| *due_ms <= until_ms);
            let now_ms = next.unwrap_or(until_ms).max(self.clock.now_ms());
            self.clock.0.store(now_ms, Ordering::SeqCst);
            self.host.clock_moved();
            self.settle().await;
            if next.is_none() {
                return;
            }
        }
    }

    pub(crate) fn journal(&self) -> String {
        journal::of(&*self.store)
    }

    /// Gives all answers whose time has come, one after the other.
    async fn settle(&mut self) {
        self.rest().await;
        loop {
            let due = self.desk.lock().unwrap().take_due(self.clock.now_ms());
            let Some(Waiting { answer: Some((_, answer)), sender, .. }) = due else { return };
            // A call that was stopped meanwhile hears nothing.
            let _ = sender.send(answer);
            self.rest().await;
        }
    }

    /// Waits until nothing happens by itself at this moment.
    async fn rest(&self) {
        let until = Instant::now() + PATIENCE;
        while let Some(why) = self.is_busy() {
            assert!(Instant::now() < until, "the host does not come to rest: {why}\n{}", self.journal());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Returns pending work: an undelivered message, a due timer, or a call that is not waiting at the desk.
    fn is_busy(&self) -> Option<String> {
        if let Some(message) = self.store.inbound(None).unwrap().first() {
            return Some(format!("message {}", message.seq));
        }
        let due = self.store.timers().unwrap().first().copied();
        if let Some((key, _)) = due.filter(|(_, due_ms)| *due_ms <= self.clock.now_ms()) {
            return Some(format!("a timer of {key:?}"));
        }
        let open = self.store.open_effects(None).unwrap();
        let desk = self.desk.lock().unwrap();
        let is_waiting = |attempt: &Attempt| desk.waiting.iter().any(|waiting| waiting.attempt == *attempt);
        let busy = open.iter().find(|effect| match effect.kind {
            EffectKind::Service | EffectKind::Agent => {
                let row = self.store.instance(effect.instance).unwrap().unwrap();
                let body: Json = serde_json::from_str(&effect.body).unwrap_or_default();
                let number = body["attempt"].as_u64().unwrap_or(1);
                !is_waiting(&(row.new.id.to_string(), effect.idempotency.to_string(), number))
            }
            EffectKind::Call | EffectKind::Send => true,
            EffectKind::Child | EffectKind::Person | EffectKind::Unknown | EffectKind::Held => false,
        });
        busy.map(|effect| format!("a call of {}", effect.name))
    }
}

/// The step and the index of an effect, from its key `instance/step/index`.
fn place_of(key: &str) -> (u64, u64) {
    let mut parts = key.rsplit('/').map(|part| part.parse().unwrap_or(0));
    let index = parts.next().unwrap_or(0);
    (parts.next().unwrap_or(0), index)
}

/// Handlers of actions answer at once in a simulation, without a stub.
fn is_handler(store: &dyn Store, call: &ServiceCall) -> bool {
    let open = store.open_effects(None).unwrap();
    open.iter().any(|effect| effect.idempotency == call.idempotency && effect.kind == EffectKind::Call)
}
