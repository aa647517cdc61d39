//! The load of the kill tests: starts orders, sends them numbered events, and records the acknowledgements.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rawko_core::{NamedEvent, Status, Value};
use rawko_host::{Edition, Engine, HostError, Library, SnapshotReader};
use rawko_restate::RestateEngine;
use rawko_restate::client::Restate;
use rawko_store::{Filter, InstanceRow};

use crate::support::{PATIENCE, patient_order};

/// Keeps orders running until it is finished.
pub(crate) struct Load {
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

struct Shared {
    engine: RestateEngine,
    order: Edition,
    acknowledged: Mutex<BTreeMap<String, i64>>,
    started: AtomicU64,
    /// Number of tasks that start orders and send events.
    working: AtomicUsize,
    finishing: AtomicBool,
    paused: AtomicBool,
}

impl Load {
    pub(crate) fn begin(restate: &Restate, working: usize) -> Load {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let within = runtime.enter();
        let engine = RestateEngine::new(restate.clone(), Library::default()).unwrap();
        drop(within);
        let shared = Arc::new(Shared {
            engine,
            order: Edition::read("order.yaml", &patient_order()).unwrap(),
            acknowledged: Mutex::default(),
            started: AtomicU64::new(0),
            working: AtomicUsize::new(working),
            finishing: AtomicBool::new(false),
            paused: AtomicBool::new(false),
        });
        for _ in 0..working {
            runtime.spawn(orders(Arc::clone(&shared)));
        }
        Load { shared, _runtime: runtime }
    }

    /// Pauses sending, so that the journal settles and can be read to its end.
    pub(crate) fn paused<T>(&self, check: impl FnOnce() -> T) -> T {
        self.shared.paused.store(true, Ordering::SeqCst);
        let checked = check();
        self.shared.paused.store(false, Ordering::SeqCst);
        checked
    }

    /// Starts no more orders and waits until the running ones are complete.
    pub(crate) fn finish(&self, reader: &SnapshotReader) {
        self.shared.finishing.store(true, Ordering::SeqCst);
        let until = Instant::now() + 3 * PATIENCE;
        // A task may still be starting an order that is not visible yet.
        while self.shared.working.load(Ordering::SeqCst) > 0 || !unfinished(reader).is_empty() {
            assert!(Instant::now() < until, "these do not finish: {:#?}", unfinished(reader));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn started(&self) -> u64 {
        self.shared.started.load(Ordering::SeqCst)
    }

    /// Returns the last acknowledged event, by instance.
    pub(crate) fn acknowledged(&self) -> BTreeMap<String, i64> {
        self.shared.acknowledged.lock().unwrap().clone()
    }
}

fn unfinished(reader: &SnapshotReader) -> Vec<InstanceRow> {
    let filter = Filter { statuses: vec![Status::Active, Status::Error], ..Filter::default() };
    reader.store().list(&filter).unwrap().rows
}

/// Runs one order after the other.
async fn orders(shared: Arc<Shared>) {
    while !shared.finishing.load(Ordering::SeqCst) {
        while_paused(&shared).await;
        let name = format!("order-{}", shared.started.fetch_add(1, Ordering::SeqCst));
        let input = Value::map([("name", Value::str(&name))]);
        loop {
            let order = shared.order.clone();
            match shared.engine.start(order, input.clone(), Some(name.clone()), Value::Null).await {
                // The instance exists: the response to the first attempt was lost.
                Ok(_) | Err(HostError::Exists(_)) => break,
                Err(error) if error.is_transient() => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{name}: {error}"),
            }
        }
        tick(&shared, &name).await;
    }
    shared.working.fetch_sub(1, Ordering::SeqCst);
}

/// Sends numbered events, each with a key and some of them twice, until the order is over.
async fn tick(shared: &Shared, id: &str) {
    for n in 0.. {
        for _ in 0..=(n % 7 == 0) as usize {
            if !send(shared, id, n).await {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn while_paused(shared: &Shared) {
    while shared.paused.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn send(shared: &Shared, id: &str, n: i64) -> bool {
    while_paused(shared).await;
    loop {
        let event = NamedEvent::new("TICK", Value::map([("n", Value::Int(n))]));
        match shared.engine.send(id.to_owned(), event, Some(format!("tick-{n}"))).await {
            Ok(_) => {
                shared.acknowledged.lock().unwrap().insert(id.to_owned(), n);
                return true;
            }
            Err(HostError::Over { .. }) => return false,
            Err(error) if error.is_transient() => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("{id}: {error}"),
        }
    }
}
