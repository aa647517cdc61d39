//! The orchestrator on a real host: resuming with a higher limit and after a restart of the host. In both cases no
//! decision is repeated.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rawko_core::Value;
use rawko_host::{
    Closure, Edition, ExecutionResults, Fork, Gate, Host, OnRestart, ServiceCall, ServiceError, Services,
    StartOptions,
};
use rawko_store::{MemoryStore, Store};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

const CHART: &str = include_str!("../../../charts/orchestrator.yaml");

/// A store that outlives hosts, and the recorded calls. The call with this number never returns.
#[derive(Clone, Default)]
struct Stage {
    store: Arc<MemoryStore>,
    calls: Arc<Mutex<Vec<String>>>,
    hangs: Arc<Mutex<Option<usize>>>,
    hung: Arc<Notify>,
}

/// The planner, then the developer, then done.
fn answer(call: &ServiceCall) -> Json {
    let iterations = call.input.get("iterationCount").as_i64();
    match (&*call.name, iterations) {
        ("work:select", _) => json!({"agent": {"name": "planner"}, "decision": {"type": "SELECT_MODE"}}),
        ("work:evaluate", Some(1)) => {
            json!({"type": "SELECT_MODE", "mode": "developer", "reason": "there is a plan"})
        }
        ("work:evaluate", _) => json!({"type": "COMPLETE", "summary": "Done."}),
        ("checks:base", _) => json!({"base": {}, "progress": {"without": 0, "forgiven": 0, "returns": 0}}),
        ("checks:round", _) => json!({
            "standing": "progress",
            "notice": null,
            "progress": {"without": 0, "forgiven": 0, "returns": 0},
            "evidence": {"verified": true, "clean": true, "tree": "t", "text": "", "restored": [], "report": {}},
        }),
        _ => json!({"text": "Done.", "messages": [{"role": "user", "parts": []}]}),
    }
}

impl Stage {
    async fn host(&self) -> Host {
        let stage = self.clone();
        let run = move |call: ServiceCall| {
            let stage = stage.clone();
            async move { stage.act(call).await }
        };
        let service = Closure::new(run).on_restart(OnRestart::Retry).into_service();
        Host::builder()
            .store(Arc::clone(&self.store) as Arc<dyn Store>)
            .chart(Edition::read("orchestrator.yaml", CHART).unwrap())
            .services(Services::new().executor(service))
            .gate(Gate::open())
            .start()
            .await
            .unwrap()
    }

    async fn act(&self, call: ServiceCall) -> Result<Value, ServiceError> {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(call.name.to_string());
            calls.len()
        };
        if *self.hangs.lock().unwrap() == Some(number) {
            self.hung.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(Value::from_json(answer(&call)))
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

async fn start(host: &Host, input: Json) {
    let start = StartOptions { chart: "rawko".into(), input: Value::from_json(input), id: Some("t".into()) };
    host.start(start).await.unwrap();
}

async fn end(host: &Host, id: &str) -> ExecutionResults {
    host.settled(id, Duration::MAX).await.unwrap();
    host.results(id).unwrap()
}

/// Like `rawko resume ID --max-iterations N`: a fork from the step before the last, with the cap raised.
#[tokio::test]
async fn a_task_at_its_limit_goes_on_with_a_higher_one() {
    let stage = Stage::default();
    let host = stage.host().await;
    start(&host, json!({"task": "t", "maxIterations": 1, "remember": false})).await;
    let limited = end(&host, "t").await;
    assert_eq!(limited.configuration, ["limit_reached"]);
    assert_eq!(limited.output.get("problem").get("code").as_str(), Some("max_iterations"));
    assert_eq!(
        stage.calls(),
        ["checks:base", "work:select", "agent:planner", "checks:round", "work:evaluate", "checks:close"]
    );

    let set =
        [("maxIterations", "2"), ("raised", "true")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let fork = Fork { at: Some(limited.steps - 1), set: set.to_vec(), id: None };
    let forked = host.fork("t", fork).await.unwrap();
    let results = end(&host, &forked.instance).await;
    assert_eq!(results.configuration, ["complete"]);
    assert_eq!(results.output.get("iterations"), &Value::Int(2));
    // Neither the planner nor the evaluation of its work runs again.
    assert_eq!(stage.calls()[6..], ["agent:developer", "checks:round", "work:evaluate", "checks:round"]);
    host.close().await;
}

/// Without times, which differ.
fn decisions(results: &ExecutionResults) -> (Vec<String>, String, String) {
    let history = results.context.get("history").as_list().unwrap().iter();
    let history = history.map(|entry| format!("{} {}", entry.get("agent"), entry.get("result")));
    (history.collect(), results.context.get("lastArbiterDecision").to_string(), results.output.to_string())
}

/// In any state: only the call that never returned is repeated.
#[tokio::test]
async fn a_host_that_goes_away_in_any_state_costs_one_call() {
    let undisturbed = Stage::default();
    let host = undisturbed.host().await;
    start(&host, json!({"task": "t"})).await;
    let expected = decisions(&end(&host, "t").await);
    host.close().await;
    let calls = undisturbed.calls();
    assert_eq!(calls.len(), 11, "{calls:?}");

    for number in 1..=calls.len() {
        let stage = Stage { hangs: Arc::new(Mutex::new(Some(number))), ..Stage::default() };
        let host = stage.host().await;
        start(&host, json!({"task": "t"})).await;
        stage.hung.notified().await;
        host.close().await;
        *stage.hangs.lock().unwrap() = None;
        let host = stage.host().await;
        assert_eq!(decisions(&end(&host, "t").await), expected, "call {number}");
        let mut again = calls.clone();
        again.insert(number, calls[number - 1].clone());
        assert_eq!(stage.calls(), again, "call {number}");
        host.close().await;
    }
}
