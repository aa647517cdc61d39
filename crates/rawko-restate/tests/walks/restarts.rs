//! Calls whose worker dies, and calls that are no longer awaited.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{
    Closure, Edition, Engine, Gate, Library, OnRestart, Service, ServiceCall, Services, SettleReason, closure,
};
use rawko_restate::{RestateEngine, Worker, WorkerBuilder};

use crate::site::{Site, eventually};
use crate::trace;

const CALLER: &str = "
statechart:
  id: caller
  initial: working
  context: {safe: null, unsafe: null}
  states:
    working:
      regions:
        one:
          initial: a
          states:
            a:
              invoke:
                id: safe
                src: safe
                onDone: {target: b, actions: [{type: assign, context_updates: {safe: event.data}}]}
                onError: b
            b: {type: final}
        two:
          initial: a
          states:
            a:
              invoke:
                id: unsafe
                src: unsafe
                onDone: b
                onError: {target: b, actions: [{type: assign, context_updates: {unsafe: event.data.category}}]}
            b: {type: final}
      onDone: done
    done: {type: final, output: {safe: context.safe, unsafe: context.unsafe}}
";

/// Calls hang at the first worker, and return their key at the next.
fn worker(begun: &Arc<AtomicUsize>, is_first: bool) -> WorkerBuilder {
    let service = |on_restart| {
        let begun = Arc::clone(begun);
        let call = move |call: ServiceCall| {
            let begun = Arc::clone(&begun);
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                if is_first {
                    std::future::pending::<()>().await;
                }
                Ok(Value::Str(call.idempotency))
            }
        };
        Closure::new(call).on_restart(on_restart).into_service()
    };
    let services =
        Services::new().add("safe", service(OnRestart::Retry)).add("unsafe", service(OnRestart::Unknown));
    Worker::builder().services(services).gate(Gate::open())
}

async fn settled(engine: &RestateEngine, id: &str) -> SettleReason {
    engine.settled(id.to_owned(), Duration::from_secs(10)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_safe_is_called_again_and_the_rest_is_reported() {
    let begun = Arc::new(AtomicUsize::new(0));
    let mut site = Site::start().await;
    site.work(worker(&begun, true)).await;
    let engine = site.engine(Library::default());
    let edition = Edition::read("caller.yaml", CALLER).unwrap();
    engine.start(edition, Value::Null, Some("c".into()), Value::Null).await.unwrap();
    eventually("both calls begin", || async { begun.load(Ordering::SeqCst) == 2 }).await;
    site.work(worker(&begun, false)).await;
    assert_eq!(settled(&engine, "c").await, SettleReason::Over(rawko_core::Status::Done));
    assert_eq!(begun.load(Ordering::SeqCst), 3, "only the safe one is called again");
    let trace = trace::of(&engine, "c").await;
    for expected in [
        r#""safe":"c/0/0""#,
        r#""unsafe":"interrupted""#,
        "audit c/0/0 safe repeated the host stopped while it ran",
        "audit c/0/1 unsafe interrupted the host stopped while it ran",
    ] {
        assert!(trace.contains(expected), "{expected} is not in\n{trace}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_nobody_waits_for_is_dropped() {
    const LEAVER: &str = "
statechart:
  id: leaver
  initial: working
  states:
    working: {invoke: {id: call, src: never, onDone: left, onError: left}, on: {LEAVE: left}}
    left: {}
";
    let (begun, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut site = Site::start().await;
    let services = Services::new().add("never", never(&begun, &dropped));
    site.work(Worker::builder().services(services).gate(Gate::open())).await;
    let engine = site.engine(Library::default());
    let edition = Edition::read("leaver.yaml", LEAVER).unwrap();
    engine.start(edition, Value::Null, Some("l".into()), Value::Null).await.unwrap();
    eventually("the call begins", || async { begun.load(Ordering::SeqCst) == 1 }).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    engine.send("l".into(), NamedEvent::new("LEAVE", Value::Null), None).await.unwrap();
    eventually("the call ends", || async { dropped.load(Ordering::SeqCst) == 1 }).await;
    assert!(matches!(settled(&engine, "l").await, SettleReason::Waiting(_)));
}

/// Never returns, and counts how often it began and was dropped.
fn never(begun: &Arc<AtomicUsize>, dropped: &Arc<AtomicUsize>) -> Arc<dyn Service> {
    struct Noted(Arc<AtomicUsize>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (begun, dropped) = (Arc::clone(begun), Arc::clone(dropped));
    closure(move |_| {
        let noted = Noted(Arc::clone(&dropped));
        begun.fetch_add(1, Ordering::SeqCst);
        async move {
            let _noted = noted;
            std::future::pending().await
        }
    })
}
