//! The limit of instances below one root, with a worker that knows nothing of the last one for every step: what one worker
//! counts in memory bounds nothing.

use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Engine, Gate, Library};
use rawko_instance::InstanceLimits;
use rawko_restate::layout::family::FAMILY;
use rawko_restate::{RestateEngine, Worker, WorkerBuilder};

use crate::site::{Site, eventually};

const HEN: &str = "
statechart:
  id: hen
  initial: waiting
  context: {why: null}
  states:
    waiting: {on: {GO: brooding, END: done}}
    brooding:
      invoke:
        id: chick
        src: statechart:hen
        onDone: waiting
        onError: {target: waiting, actions: [{type: assign, context_updates: {why: event.data.code}}]}
      on: {LEAVE: waiting}
    done: {type: final}
";

const FLOCK: &str = "
statechart:
  id: flock
  initial: brooding
  context: {refused: []}
  states:
    brooding:
      invoke:
        id: chicks
        src: statechart:hen
        each: '[1, 2, 3, 4, 5]'
        join: settled
        onItemError: {actions: [{type: assign, context_updates: {refused: 'append(context.refused, event.data.code)'}}]}
        onDone: done
        onError: done
    done: {type: final, output: context.refused}
";

fn worker(most: u32) -> WorkerBuilder {
    let limits = InstanceLimits { family_instances_max: most, ..InstanceLimits::default() };
    let worker = Worker::builder().gate(Gate::open()).limits(limits);
    let read = |text: &str| Edition::read("chart.yaml", text).unwrap();
    [HEN, FLOCK].into_iter().map(read).fold(worker, WorkerBuilder::chart)
}

async fn start(engine: &RestateEngine, text: &str, id: &str) {
    let edition = Edition::read("chart.yaml", text).unwrap();
    engine.start(edition, Value::Null, Some(id.to_owned()), Value::Null).await.unwrap();
}

/// Waits until an instance is there, and sends it an event by another worker than the one before.
async fn send(site: &mut Site, engine: &RestateEngine, id: &str, event: &str) {
    eventually(id, || async { engine.activity(id).await.is_ok() }).await;
    site.work(worker(3)).await;
    engine.send(id.to_owned(), NamedEvent::new(event, Value::Null), None).await.unwrap();
}

/// Returns the state in which an instance rests, and the code of the last refusal.
async fn state_of(engine: &RestateEngine, id: &str) -> (String, Value) {
    let (reader, id) = (engine.reader().clone(), id.to_owned());
    let look = move || {
        let row = reader.find(&id).unwrap();
        let at = reader.snapshot(&row, None).unwrap();
        let leaves: Vec<_> = at.chart.leaf_paths(at.snapshot.configuration()).collect();
        (leaves.join(" "), at.snapshot.context_map(&at.chart).get("why").clone())
    };
    tokio::task::spawn_blocking(look).await.unwrap()
}

/// Returns the slots that descendants of a root hold.
async fn held(site: &Site, root: &str) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct HeldRow {
        value: String,
    }
    let sql = format!(
        "select value_utf8 as value from state where service_name = '{FAMILY}' and service_key = '{root}'"
    );
    let rows: Vec<HeldRow> = site.restate.admin().query(&sql).await.unwrap();
    rows.first().map(|row| row.value.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_together_keep_to_the_limit_of_a_family() {
    let mut site = Site::start().await;
    site.work(worker(3)).await;
    let engine = site.engine(Library::default());
    let state = async |id: &str| state_of(&engine, id).await;
    start(&engine, HEN, "h").await;
    send(&mut site, &engine, "h", "GO").await;
    send(&mut site, &engine, "h.hen.1", "GO").await;
    // The root and two descendants: that is all.
    send(&mut site, &engine, "h.hen.1.hen.1", "GO").await;
    assert_eq!(state("h.hen.1.hen.1").await, ("waiting".to_owned(), Value::str("family_instances")));

    // One that ends makes room for one.
    send(&mut site, &engine, "h.hen.1.hen.1", "END").await;
    eventually("the end arrives", || async { state("h.hen.1").await.0 == "waiting" }).await;
    eventually("its slot is free", || async { held(&site, "h").await == Some(1) }).await;
    send(&mut site, &engine, "h.hen.1", "GO").await;
    assert_eq!(state("h.hen.1").await, ("brooding".to_owned(), Value::Null));
    send(&mut site, &engine, "h.hen.1.hen.3", "GO").await;
    assert_eq!(state("h.hen.1.hen.3").await, ("waiting".to_owned(), Value::str("family_instances")));

    // So does one that is stopped, with those below it.
    send(&mut site, &engine, "h", "LEAVE").await;
    let is_over = async |id: &str| engine.activity(id).await.unwrap().status.is_over();
    eventually("all slots are free", || async { held(&site, "h").await.is_none() }).await;
    assert!(is_over("h.hen.1.hen.3").await);
    send(&mut site, &engine, "h", "GO").await;
    send(&mut site, &engine, "h.hen.3", "GO").await;
    assert_eq!(state("h.hen.3").await, ("brooding".to_owned(), Value::Null));

    // Another family has a limit of its own, also within one step.
    start(&engine, FLOCK, "f").await;
    let flock = engine.activity("f").await.unwrap();
    assert!(!flock.status.is_over(), "two of five chicks began");
    for id in ["f.hen.0", "f.hen.0.1"] {
        send(&mut site, &engine, id, "END").await;
    }
    eventually("the flock ends", || async { is_over("f").await }).await;
    let reader = engine.reader().clone();
    let look = move || reader.snapshot(&reader.find("f").unwrap(), None).unwrap().snapshot.output().to_json();
    let refused = tokio::task::spawn_blocking(look).await.unwrap();
    assert_eq!(refused, serde_json::json!(["family_instances", "family_instances", "family_instances"]));
}
