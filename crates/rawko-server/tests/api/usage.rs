//! Usage: of a task whose agent still runs, and over all instances by day, agent and model.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rawko_core::Value as Data;
use rawko_host::{Clock, Edition, Gate, Host, Services, closure};
use rawko_store::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};

use crate::support::{Api, keys};

const DAY_MS: i64 = 24 * 3_600_000;

/// Spends, then waits for an event.
const SPENDER: &str = "
statechart:
  id: spender
  version: 1.0.0
  initial: at_work
  states:
    at_work: {invoke: {src: 'tool:spend', onDone: resting}}
    resting: {on: {AGAIN: at_work, END: done}}
    done: {type: final}
";

/// Invokes one spender, and another one after an event.
const TASK: &str = "
statechart:
  id: task
  version: 1.0.0
  initial: first
  states:
    first: {invoke: {id: one, src: 'statechart:spender', onDone: limited}}
    limited: {on: {MORE: second}}
    second: {invoke: {id: two, src: 'statechart:spender', onDone: over}}
    over: {type: final}
";

struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

async fn start() -> (Api, Arc<SetClock>) {
    let spend = closure(|_| async {
        let usage = Data::map([("tokens", Data::Int(100)), ("cost_usd", Data::Float(0.5))]);
        Ok(Data::map([("usage", usage), ("model", Data::str("demo/x"))]))
    });
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let clock = Arc::new(SetClock(AtomicI64::new(0)));
    let store = SqliteStore::open(&folder.path().join("rawko.db"), SqliteOptions::default()).unwrap();
    let mut builder = Host::builder()
        .store(Arc::new(store))
        .services(Services::new().add("tool:spend", spend))
        .gate(Gate::open())
        .clock(Arc::clone(&clock) as Arc<dyn Clock>);
    for text in [SPENDER, TASK] {
        builder = builder.chart(Edition::read("chart.yaml", text).unwrap());
    }
    let host = builder.start().await.unwrap();
    (Api::on(host, folder, |_| {}), clock)
}

async fn send(api: &Api, id: &str, event: &str) {
    api.send(id, event, json!(null)).await;
    api.host.settled(id, Duration::ZERO).await.unwrap();
}

async fn begin(api: &Api, chart: &str, id: &str) {
    // Calls are counted within a budget.
    let body = json!({"chart": chart, "id": id, "budget": {"tokens": 10_000}});
    api.post("/v1/instances", body).await.ok();
    api.host.settled(id, Duration::ZERO).await.unwrap();
}

async fn parts(api: &Api) -> Vec<String> {
    let usage = api.get("/v1/usage").await.ok();
    let told = ["day", "model", "tokens", "cost_usd", "tool_calls", "runs"];
    usage["parts"].as_array().unwrap().iter().map(|part| keys(part, &told)).collect()
}

#[tokio::test]
async fn a_task_costs_what_its_running_agent_has_spent() {
    let (api, _) = start().await;
    begin(&api, "task", "t").await;
    let spent = json!({"tokens": 100, "cost_usd": 0.5, "time_ms": 0, "tool_calls": 1});
    let table = [("/v1/instances/t", ""), ("/v1/instances", "/instances/0")];
    for (path, row) in table {
        let answer = api.get(path).await.ok();
        assert_eq!(answer.pointer(&format!("{row}/spent")), Some(&spent), "{path}");
    }
    send(&api, "t.spender.0", "END").await;
    api.host.settled("t", Duration::ZERO).await.unwrap();
    let ended: Value = api.get("/v1/instances/t").await.ok();
    assert_eq!((&ended["configuration"], &ended["spent"]), (&json!(["limited"]), &spent), "counted once");
    api.stop().await;
}

#[tokio::test]
async fn a_fork_has_not_spent_what_its_origin_had() {
    let (api, _) = start().await;
    begin(&api, "task", "t").await;
    let one = r#""1970-01-01" "demo/x" 100 0.5 0 1"#;
    let calls = |calls: u64| format!(r#""1970-01-01" null 0 0.0 {calls} 0"#);
    assert_eq!(parts(&api).await, [calls(1), one.to_owned()], "the agent runs");
    send(&api, "t.spender.0", "END").await;
    api.host.settled("t", Duration::ZERO).await.unwrap();
    api.post("/v1/instances/t/fork", json!({"id": "f"})).await.ok();
    assert_eq!(parts(&api).await, [calls(1), one.to_owned()], "the fork has done nothing");
    send(&api, "f", "MORE").await;
    let children = api.get("/v1/instances/f").await.ok()["children"].take();
    send(&api, children[0].as_str().unwrap(), "END").await;
    api.host.settled("f", Duration::ZERO).await.unwrap();
    assert_eq!(api.get("/v1/instances/f").await.ok()["spent"]["cost_usd"], 1.0, "its budget counts both");
    let two = r#""1970-01-01" "demo/x" 200 1.0 0 2"#;
    assert_eq!(parts(&api).await, [calls(2), two.to_owned()]);
    api.stop().await;
}

#[tokio::test]
async fn usage_belongs_to_the_day_on_which_it_arose() {
    let (api, clock) = start().await;
    begin(&api, "spender", "s").await;
    clock.0.store(2 * DAY_MS, Ordering::SeqCst);
    send(&api, "s", "AGAIN").await;
    send(&api, "s", "AGAIN").await;
    let expected = [
        r#""1970-01-01" null 0 0.0 1 0"#,
        r#""1970-01-01" "demo/x" 100 0.5 0 1"#,
        r#""1970-01-03" null 0 0.0 2 0"#,
        r#""1970-01-03" "demo/x" 200 1.0 0 0"#,
    ];
    assert_eq!(parts(&api).await, expected);
    api.stop().await;
}
