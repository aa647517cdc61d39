//! Recovery of running work after the host was lost, and after the disk refused a write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rawko_core::Value;
use rawko_host::{HostError, OnRestart};
use rawko_store::*;
use serde_json::json;

use crate::bench::{Act, Bench, bench, rest, start, until_over};

const WORK: &str = "
statechart:
  id: work
  initial: busy
  context: {why: null}
  states:
    busy:
      invoke:
        id: job
        src: job
        onDone: {target: done}
        onError: {target: done, actions: [{type: assign, context_updates: {why: event.data.category}}]}
    done: {type: final, output: {why: context.why}}
";

async fn interrupted(restart: OnRestart) -> (Bench, String) {
    let bench = bench(&[WORK]).service("job", &[Act::Hang, Act::Answer(json!(1))]).on_restart("job", restart);
    let host = bench.host().await;
    start(&host, "work", json!({})).await;
    bench.until_called(1).await;
    host.close().await;
    let host = bench.host().await;
    let end = rest(&host, "i").await;
    (bench, end)
}

#[tokio::test]
async fn a_safe_call_is_run_again_with_the_same_key() {
    let (bench, end) = interrupted(OnRestart::Retry).await;
    assert_eq!(end, r#"done [done] {"why":null}"#);
    assert_eq!(bench.called(), ["job i/0/0 1", "job i/0/0 1"]);
}

#[tokio::test]
async fn the_outcome_of_an_unsafe_call_is_unknown() {
    let (bench, end) = interrupted(OnRestart::Unknown).await;
    assert_eq!(end, r#"done [done] {"why":"interrupted"}"#);
    assert_eq!(bench.called(), ["job i/0/0 1"]);
}

const OUTER: &str = "
statechart:
  id: outer
  initial: busy
  states:
    busy: {invoke: {id: kid, src: statechart:middle, onDone: done, onError: done}}
    done: {type: final}
";

const MIDDLE: &str = "
statechart:
  id: middle
  initial: busy
  states:
    busy: {invoke: {id: kid, src: statechart:work, onDone: done, onError: done}}
    done: {type: final}
";

#[tokio::test]
async fn a_cancel_after_a_crash_repeats_no_call_of_a_descendant() {
    for is_command in [true, false] {
        let bench = bench(&[OUTER, MIDDLE, WORK])
            .service("job", &[Act::Hang, Act::Answer(json!(1))])
            .on_restart("job", OnRestart::Retry);
        let host = bench.host().await;
        start(&host, "outer", json!({})).await;
        bench.until_called(1).await;
        host.close().await;
        // A command cancels; a server then finds the messages that stop the descendants.
        let host = bench.command().await;
        host.cancel("i", Value::Null).await.unwrap();
        let host = if is_command {
            host
        } else {
            host.close().await;
            bench.host().await
        };
        let only_child = |id: &str| bench.store.children(id).unwrap().remove(0).new.id;
        until_over(&host, &only_child(&only_child("i"))).await;
        assert_eq!(bench.called().len(), 1, "{:?}", bench.called());
    }
}

/// A store whose disk can be full, or that fails to look up known deliveries.
#[derive(Default)]
struct Fillable {
    inner: MemoryStore,
    full: Arc<AtomicBool>,
    forgetful: AtomicBool,
}

impl Store for Fillable {
    fn commit(&self, commits: &[Commit]) -> Result<(), StoreError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::Full("no space left".into()));
        }
        self.inner.commit(commits)
    }
    fn put_chart(&self, chart: &ChartRow) -> Result<(), StoreError> {
        self.inner.put_chart(chart)
    }
    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError> {
        self.inner.chart(hash)
    }
    fn charts(&self) -> Result<Vec<ChartRow>, StoreError> {
        self.inner.charts()
    }
    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError> {
        self.inner.find(id)
    }
    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError> {
        self.inner.instance(key)
    }
    fn list(&self, filter: &Filter) -> Result<InstancePage, StoreError> {
        self.inner.list(filter)
    }
    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError> {
        self.inner.children(id)
    }
    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<SnapshotBase>, StoreError> {
        self.inner.base(key, at)
    }
    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.inner.records(key, after, limit)
    }
    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.inner.tail(after, limit)
    }
    fn last_seq(&self) -> Result<u64, StoreError> {
        self.inner.last_seq()
    }
    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError> {
        self.inner.open_effects(key)
    }
    fn inbound(&self, key: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError> {
        self.inner.inbound(key)
    }
    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError> {
        self.inner.timers()
    }
    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError> {
        if self.forgetful.load(Ordering::SeqCst) {
            return Err(StoreError::Io("bad sector".into()));
        }
        self.inner.delivered(key, delivery)
    }
    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        self.inner.blob(hash)
    }
    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.inner.audit(instance, limit)
    }
    fn marks(&self) -> Result<HighestNumbers, StoreError> {
        self.inner.marks()
    }
    fn report(&self) -> Result<StoreReport, StoreError> {
        self.inner.report()
    }
}

const COUNT: &str = "
statechart:
  id: count
  initial: a
  context: {n: 0}
  states:
    a:
      on: {INC: {actions: [{type: assign, context_updates: {n: context.n + 1}}]}}
      after: {1s: {target: b}}
    b: {type: final, output: context.n}
";

#[tokio::test]
async fn a_delivery_that_may_have_been_taken_before_is_not_taken_again() {
    let store = Arc::new(Fillable::default());
    let bench = bench(&[COUNT]).store(Arc::clone(&store) as Arc<dyn Store>);
    let host = bench.host().await;
    start(&host, "count", json!({})).await;
    let event = || rawko_core::NamedEvent::new("INC", rawko_core::Value::Null);
    let first = host.send("i", event(), Some("k-1")).await.unwrap();
    store.forgetful.store(true, Ordering::SeqCst);
    let refused = host.send("i", event(), Some("k-1")).await;
    assert_eq!(refused, Err(HostError::Store(StoreError::Io("bad sector".into()))));
    store.forgetful.store(false, Ordering::SeqCst);
    assert_eq!(host.send("i", event(), Some("k-1")).await.unwrap().step, first.step);
    bench.advance(&host, 1_000);
    until_over(&host, "i").await;
    assert_eq!(rest(&host, "i").await, "done [b] 1");
}

#[tokio::test]
async fn a_full_disk_says_so_loses_nothing_and_goes_on_when_there_is_room() {
    let full = Arc::new(AtomicBool::new(false));
    let store = Arc::new(Fillable { full: Arc::clone(&full), ..Fillable::default() });
    let bench = bench(&[COUNT]).store(store);
    let host = bench.host().await;
    start(&host, "count", json!({})).await;
    let event = || rawko_core::NamedEvent::new("INC", rawko_core::Value::Null);
    host.send("i", event(), None).await.unwrap();
    full.store(true, Ordering::SeqCst);
    let refused = host.send("i", event(), None).await;
    assert_eq!(refused, Err(HostError::Store(StoreError::Full("no space left".into()))));
    assert_eq!(rest(&host, "i").await, "stuck: the store is full: no space left");
    // The timer fires while the disk is full and is retried until there is room.
    bench.advance(&host, 1_000);
    full.store(false, Ordering::SeqCst);
    bench.advance(&host, 1_000);
    until_over(&host, "i").await;
    assert_eq!(rest(&host, "i").await, "done [b] 1");
}
