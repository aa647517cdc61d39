//! `HostStage`: the host on its SQLite file, with a clock by hand and the desk.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rawko_core::{NamedEvent, Value};
use rawko_host::{Clock, Gate, Host, HostError, PersonAnswer, ServiceCall, Services, closure};
use rawko_store::{OpenEffect, SqliteOptions, SqliteStore, Store};
use tempfile::TempDir;

use crate::desk::{Answer, Desk};
use crate::journal;
use crate::player::{ID, Member, Stage, missing_call};
use crate::script::Script;

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    pub(crate) fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) struct HostStage {
    host: Host,
    clock: Arc<HandClock>,
    store: Arc<dyn Store>,
    desk: Arc<Mutex<Desk>>,
    _folder: TempDir,
}

/// Services whose calls all wait at the desk.
pub(crate) fn services(desk: &Arc<Mutex<Desk>>) -> Services {
    let desk = Arc::clone(desk);
    Services::new().executor(closure(move |call: ServiceCall| {
        let answer = desk.lock().unwrap().call(call);
        async move {
            match answer.await {
                Ok(answer) => answer,
                // The scenario is over.
                Err(_) => std::future::pending().await,
            }
        }
    }))
}

/// Endpoints that take everything at once.
pub(crate) fn endpoints() -> Services {
    Services::new().executor(closure(|_| async { Ok(Value::Null) }))
}

impl HostStage {
    pub(crate) async fn new(script: &Script) -> HostStage {
        // In memory where there is such a folder: hundreds of stores would wait for their disk, and no crash is tested here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let store = SqliteStore::open(&folder.path().join("store.db"), SqliteOptions::default()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let clock = Arc::new(HandClock::default());
        let desk = Arc::new(Mutex::new(Desk::new(&script.stubs)));
        let mut builder = Host::builder()
            .store(Arc::clone(&store))
            .services(services(&desk))
            .endpoints(endpoints())
            .gate(Gate::open())
            .world(script.world.clone())
            .clock(Arc::clone(&clock) as Arc<dyn Clock>);
        for edition in script.charts.iter().rev() {
            builder = builder.chart(edition.clone());
        }
        let host = builder.start().await.unwrap();
        HostStage { host, clock, store, desk, _folder: folder }
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
        let running = journal::running(&*self.store);
        missing_call(&self.desk.lock().unwrap(), &running)
    }
}

impl Stage for HostStage {
    fn desk(&self) -> &Arc<Mutex<Desk>> {
        &self.desk
    }

    fn set_clock(&mut self, now_ms: i64) {
        self.clock.set(now_ms);
        self.host.clock_moved();
    }

    async fn begin(&mut self, script: &Script) {
        let (first, input) = (script.charts[0].clone(), script.input.clone());
        self.host.start_within(first, input, Some(ID.to_owned()), script.budget.clone()).await.unwrap();
    }

    async fn rest(&mut self) {
        let until = Instant::now() + PATIENCE;
        while let Some(why) = self.is_busy() {
            let journal = || journal::of(&*self.store, ID);
            assert!(Instant::now() < until, "the host does not come to rest: {why}\n{}", journal());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn family(&mut self) -> Vec<Member> {
        journal::family(&*self.store)
    }

    async fn send(&mut self, name: &Arc<str>, data: &Value) {
        match self.host.send(ID, NamedEvent::new(Arc::clone(name), data.clone()), None).await {
            Ok(_) | Err(HostError::Over { .. } | HostError::Step(_)) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }

    async fn result(&mut self, _: &str, effect: &OpenEffect, _: Answer) {
        panic!("the call of {} does not wait", effect.name);
    }

    async fn answer(&mut self, instance: &str, invoke: &str, answer: PersonAnswer) {
        let answered = self.host.answer(instance, Some(invoke), answer).await;
        assert!(answered.is_ok(), "{invoke}: {answered:?}");
    }

    async fn journal(&mut self) -> String {
        journal::of(&*self.store, ID)
    }
}
