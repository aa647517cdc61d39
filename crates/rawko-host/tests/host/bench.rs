//! The test bench of these tests: a store that outlives hosts, a manual clock, services with scripted results.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rawko_core::{NamedEvent, Status, Value};
use rawko_host::{
    Category, Clock, Closure, Edition, ExecutionResults, Gate, Host, HostBuilder, InstanceLimits, OnRestart,
    Receipt, ServiceCall, ServiceError, Services, SettleReason, StartOptions,
};
use rawko_store::{MemoryStore, Store};
use serde_json::json;
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct HandClock(AtomicI64);

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The behaviour of a service for one call.
#[derive(Clone)]
pub(crate) enum Act {
    Answer(serde_json::Value),
    Fail(Category, &'static str),
    /// Runs until it is stopped.
    Hang,
}

#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
    clock: Arc<HandClock>,
    charts: Vec<&'static str>,
    acts: Arc<Mutex<HashMap<&'static str, Vec<Act>>>>,
    pub(crate) calls: Arc<Mutex<Vec<ServiceCall>>>,
    stopped: Arc<Mutex<Vec<String>>>,
    /// Instances whose clean-up is complete.
    pub(crate) cleaned: Arc<Mutex<Vec<String>>>,
    restart: HashMap<&'static str, OnRestart>,
    gate: Gate,
    cast: Option<Arc<dyn rawko_host::AgentResolver>>,
    in_memory: Option<usize>,
    pub(crate) limits: InstanceLimits,
    called: Arc<Notify>,
}

pub(crate) fn bench(charts: &[&'static str]) -> Bench {
    Bench {
        store: Arc::new(MemoryStore::new()),
        clock: Arc::new(HandClock(AtomicI64::new(1_000_000))),
        charts: charts.to_vec(),
        acts: Arc::default(),
        calls: Arc::default(),
        stopped: Arc::default(),
        cleaned: Arc::default(),
        restart: HashMap::new(),
        gate: Gate::open(),
        cast: None,
        limits: InstanceLimits::default(),
        in_memory: None,
        called: Arc::default(),
    }
}

/// Records when a call is dropped.
struct Running(String, Arc<Mutex<Vec<String>>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0.clone());
    }
}

impl Bench {
    /// Adds a service with one act per call; the last act repeats.
    pub(crate) fn service(self, name: &'static str, acts: &[Act]) -> Self {
        self.acts.lock().unwrap().insert(name, acts.to_vec());
        self
    }

    pub(crate) fn on_restart(mut self, name: &'static str, what: OnRestart) -> Self {
        self.restart.insert(name, what);
        self
    }

    pub(crate) fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    pub(crate) fn agents(mut self, cast: Arc<dyn rawko_host::AgentResolver>) -> Self {
        self.cast = Some(cast);
        self
    }

    pub(crate) fn in_memory(mut self, instances: usize) -> Self {
        self.in_memory = Some(instances);
        self
    }

    pub(crate) fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    fn services(&self) -> Services {
        let names: Vec<&'static str> = self.acts.lock().unwrap().keys().copied().collect();
        let cleaned = Arc::clone(&self.cleaned);
        let mut services = Services::new().on_end(Arc::new(move |instance| {
            let cleaned = Arc::clone(&cleaned);
            Box::pin(async move {
                tokio::task::yield_now().await;
                cleaned.lock().unwrap().push(instance.to_string());
            })
        }));
        for name in names {
            let bench = self.clone();
            let run = move |call: ServiceCall| {
                let bench = bench.clone();
                async move { bench.act(name, call).await }
            };
            let restart = self.restart.get(name).copied().unwrap_or(OnRestart::Unknown);
            services = services.add(name, Closure::new(run).on_restart(restart).into_service());
        }
        services
    }

    async fn act(&self, name: &'static str, call: ServiceCall) -> Result<Value, ServiceError> {
        let running = Running(call.idempotency.to_string(), Arc::clone(&self.stopped));
        self.calls.lock().unwrap().push(call);
        self.called.notify_waiters();
        let act = {
            let mut acts = self.acts.lock().unwrap();
            let acts = acts.get_mut(name).unwrap();
            if acts.len() > 1 { acts.remove(0) } else { acts[0].clone() }
        };
        match act {
            Act::Answer(value) => {
                std::mem::forget(running);
                Ok(value.into())
            }
            Act::Fail(category, message) => {
                std::mem::forget(running);
                Err(ServiceError::new(category, message))
            }
            Act::Hang => std::future::pending().await,
        }
    }

    /// Starts a host on this bench's store. Drop or close the previous one first.
    pub(crate) async fn host(&self) -> Host {
        self.builder().start().await.unwrap()
    }

    /// Starts a host that drives only the instances that it is asked about, as a command does.
    pub(crate) async fn command(&self) -> Host {
        self.builder().only_requested().start().await.unwrap()
    }

    fn builder(&self) -> HostBuilder {
        let mut builder = Host::builder()
            .store(Arc::clone(&self.store))
            .services(self.services())
            .endpoints(self.services())
            .gate(self.gate.clone())
            .limits(self.limits)
            .in_memory_max(self.in_memory)
            .clock(self.clock.clone());
        for (number, chart) in self.charts.iter().enumerate() {
            builder = builder.chart(Edition::read(&format!("chart{number}.yaml"), chart).unwrap());
        }
        if let Some(cast) = &self.cast {
            builder = builder.agents(Arc::clone(cast));
        }
        builder
    }

    /// Replaces the acts of the service `job`.
    pub(crate) fn acts(&self, acts: &[Act]) {
        self.acts.lock().unwrap().insert("job", acts.to_vec());
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    pub(crate) fn advance(&self, host: &Host, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
        host.clock_moved();
    }

    /// Returns `service key attempt` of each call so far.
    pub(crate) fn called(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|call| format!("{} {} {}", call.name, call.idempotency, call.attempt)).collect()
    }

    /// Returns the keys of stopped calls.
    pub(crate) fn stopped(&self) -> Vec<String> {
        self.stopped.lock().unwrap().clone()
    }

    /// Waits until services were called this often.
    pub(crate) async fn until_called(&self, times: usize) {
        loop {
            let notified = self.called.notified();
            if self.calls.lock().unwrap().len() >= times {
                return;
            }
            notified.await;
        }
    }
}

pub(crate) async fn start(host: &Host, chart: &str, input: serde_json::Value) -> Receipt {
    let start = StartOptions { chart: chart.into(), input: input.into(), id: Some("i".into()) };
    host.start(start).await.unwrap()
}

pub(crate) async fn send(host: &Host, id: &str, event: &str) -> Receipt {
    host.send(id, NamedEvent::new(event, Value::Null), None).await.unwrap()
}

/// Waits until the instance settles, and returns its status.
pub(crate) async fn rest(host: &Host, id: &str) -> String {
    let settled = host.settled(id, Duration::ZERO).await.unwrap();
    let results = host.results(id).unwrap();
    shown(&settled, &results)
}

/// Waits until the instance is over, even while the store fails.
pub(crate) async fn until_over(host: &Host, id: &str) {
    loop {
        let activity = host.activity(id).unwrap();
        if activity.status.is_over() && !activity.busy {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until the instance is over, and returns its status.
pub(crate) async fn over(host: &Host, id: &str) -> String {
    until_over(host, id).await;
    rest(host, id).await
}

fn shown(settled: &SettleReason, results: &ExecutionResults) -> String {
    let states = results.configuration.join(" ");
    match settled {
        SettleReason::Over(Status::Done) => format!("done [{states}] {}", results.output.to_json()),
        SettleReason::Over(status) => format!("{} [{states}]", status.as_str()),
        SettleReason::Failed => format!("failed [{states}] {}", results.error.get("message").to_json()),
        SettleReason::Waiting(activity) if activity.person => format!("asks [{states}]"),
        SettleReason::Waiting(_) => format!("waits [{states}]"),
        SettleReason::Paused => format!("paused [{states}]"),
        SettleReason::Stuck(error) => format!("stuck: {error}"),
    }
}

/// Returns the journal of an instance, one line per record.
pub(crate) fn journal(host: &Host, id: &str) -> Vec<String> {
    let row = host.reader().find(id).unwrap();
    let records = host.reader().store().records(row.key, 0, 1_000).unwrap();
    let name = |event: &str| {
        let event: serde_json::Value = serde_json::from_str(event).unwrap_or(json!(null));
        event["type"].as_str().or(event["kind"].as_str()).unwrap_or("").to_owned()
    };
    let line =
        |record: &rawko_store::Record| format!("{} {:?} {}", record.step, record.kind, name(&record.event));
    records.iter().map(line).collect()
}
