//! The host that gets killed: it keeps instances running, sends them events, and prints every acknowledgement to
//! standard output. Every line that the harness reads there must stay in the journal for ever.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use rawko_core::{NamedEvent, Status, Value};
use rawko_host::{Edition, Host, HostError, Settings, StartOptions};
use rawko_store::{Filter, SqliteOptions, SqliteStore, Store};
use serde::{Deserialize, Serialize};

use crate::charts::PARCEL;
use crate::hub::{HUB, reporting_order};
use crate::tear::TearingStore;

/// The instructions of the harness to a host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) project: PathBuf,
    /// Keep this many running; 0: finish the existing ones, then stop.
    pub(crate) working: usize,
    /// Lose power at this commit, with this share of the write on disk (thousandths).
    pub(crate) tear: Option<(i64, u64)>,
    pub(crate) size_max: Option<u64>,
}

pub(crate) fn store_path(project: &Path) -> PathBuf {
    project.join(".rawko/state/rawko.db")
}

pub(crate) fn main(orders: &str) {
    let orders: Orders = serde_json::from_str(orders).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work(orders));
}

async fn work(orders: Orders) {
    let path = store_path(&orders.project);
    let options = SqliteOptions { size_max_bytes: orders.size_max, read_only: false };
    let inner = SqliteStore::open(&path, options).expect("the store opens after every crash");
    let store: Arc<dyn Store> = match orders.tear {
        Some((commits, share)) => {
            Arc::new(TearingStore { inner, path, left: AtomicI64::new(commits), share })
        }
        None => Arc::new(inner),
    };
    let (settings, problems) = Settings::read(&orders.project);
    assert!(problems.is_empty(), "{problems:?}");
    let host = Host::builder()
        .store(store)
        .services(settings.services(&orders.project))
        .gate(settings.gate())
        .chart(Edition::read("order.yaml", &reporting_order()).unwrap())
        .chart(Edition::read("parcel.yaml", PARCEL).unwrap())
        .chart(Edition::read("hub.yaml", HUB).unwrap())
        .in_memory_max(40)
        .start()
        .await
        .expect("a host goes on after every crash");
    let hub = StartOptions { chart: "hub".into(), id: Some("hub".into()), ..StartOptions::default() };
    while let Err(error) = host.start(hub.clone()).await {
        if matches!(error, HostError::Exists(_)) {
            break;
        }
        complain(&error);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let orders_only = Filter { roots_only: true, chart: Some("order".into()), ..Filter::default() };
    let filter = Filter { statuses: vec![Status::Active], ..orders_only.clone() };
    let active = host.reader().store().list(&filter).unwrap();
    for row in &active.rows {
        tokio::spawn(tick(host.clone(), row.new.id.to_string()));
    }
    let all = host.reader().store().list(&Filter { limit: 1, ..orders_only }).unwrap();
    let mut next = all.total;
    let mut working = active.rows.len();
    let mut changes = host.changes();
    loop {
        while working < orders.working {
            let name = format!("order-{next}");
            let input = Value::map([("name", Value::str(&name))]);
            match host.start(StartOptions { chart: "order".into(), input, id: Some(name.clone()) }).await {
                Ok(_) => println!("started {name}"),
                // The instance exists: this host died after the commit and before it could print the acknowledgement.
                Err(HostError::Exists(_)) => {}
                Err(error) => {
                    complain(&error);
                    break;
                }
            }
            tokio::spawn(tick(host.clone(), name));
            next += 1;
            working += 1;
        }
        if orders.working == 0 && working == 0 {
            host.close().await;
            println!("finished");
            return;
        }
        let _ = tokio::time::timeout(Duration::from_millis(20), changes.changed()).await;
        match host.reader().store().list(&filter) {
            Ok(page) => working = page.rows.len(),
            // During the simulated power loss, the log is rewritten while this process reads it.
            Err(_) if orders.tear.is_some() => {}
            Err(error) => panic!("{error}"),
        }
        for complaint in host.take_complaints() {
            println!("trouble {complaint}");
        }
    }
}

/// Sends numbered events, each with a key, and repeats some of the last ones.
async fn tick(host: Host, id: String) {
    let seen =
        host.results(&id).ok().and_then(|results| results.context.get("ticks").as_list().map(<[_]>::len));
    let mut n = seen.unwrap_or(0).saturating_sub(3) as i64;
    loop {
        let event = NamedEvent::new("TICK", Value::map([("n", Value::Int(n))]));
        match host.send(&id, event, Some(&format!("tick-{n}"))).await {
            Ok(_) => println!("ticked {id} {n}"),
            Err(HostError::Over { .. } | HostError::NoInstance(_)) => return,
            Err(error) => {
                complain(&error);
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        }
        n += 1;
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
}

fn complain(error: &HostError) {
    println!("trouble {error}");
}
