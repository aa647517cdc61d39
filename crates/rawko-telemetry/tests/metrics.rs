//! Metrics of a real host: an agent with a model and tools, a service that fails and is retried, a timer, a person. The
//! Prometheus text, with values that differ between runs masked.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use expect_test::expect_file;
use rawko_agents::work::{self, AgentServices};
use rawko_core::Value;
use rawko_host::{
    Category, Edition, Environment, Host, PersonAnswer, ServiceError, Services, Settings, SettleReason,
    StartOptions, closure,
};
use rawko_model::provider::Scripted;
use rawko_store::{MemoryStore, Store};
use rawko_telemetry::{Readings, Telemetry, TelemetryPlan};

const CHART: &str = "
statechart:
  id: order
  initial: writing
  states:
    writing: {invoke: {id: write, src: 'agent:writer', input: {prompt: \"'Write a note.'\"}, onDone: paying, onError: failed}}
    paying:
      invoke: {id: pay, src: pay, retry: {max_attempts: 2, initial_delay: 1ms}, onDone: resting, onError: failed}
    resting: {after: {5ms: asking}}
    asking: {invoke: {id: ask, src: human, onDone: done, onError: failed}}
    done: {type: final}
    failed: {type: final}
";
const SCRIPT: &str = "
- agent: writer
  steps:
    - error: {code: rate_limited, retry_after_ms: 1}
    - tool_calls: [{name: Write, input: {path: note.txt, content: hello}}]
      usage: {input_tokens: 120, output_tokens: 30, cached_tokens: 100, cost_usd: 0.002}
    - tool_calls: [{name: Read, input: {path: missing.txt}}]
      usage: {input_tokens: 200, output_tokens: 10}
    - text: Written.
      usage: {input_tokens: 220, output_tokens: 5}
";
const SETTINGS: &str = "
governance: {allow: ['agent:*', pay]}
providers: {default: demo/scripted, back_off: {first: 1ms, longest: 2ms}}
memories: {remember: false}
";

fn agent_services(root: &std::path::Path) -> (AgentServices, Settings) {
    std::fs::create_dir_all(root.join(".rawko/agents")).unwrap();
    std::fs::write(root.join(".rawko/config.yaml"), SETTINGS).unwrap();
    let writer = "---\nname: writer\nwhenToUse: To write.\n---\nYou write.\n";
    std::fs::write(root.join(".rawko/agents/writer.md"), writer).unwrap();
    let environment: Environment = [("HOME", "/nonexistent")].into_iter().collect();
    let (settings, problems) = Settings::read_in(root, &environment);
    assert!(problems.is_empty(), "{problems:?}");
    let (mut agent_services, problems) = AgentServices::read(root, &settings);
    assert!(problems.is_empty(), "{problems:?}");
    let script = Scripted::of_text("script.yaml", SCRIPT).unwrap();
    agent_services.providers = std::mem::take(&mut agent_services.providers).with("demo", Arc::new(script));
    (agent_services, settings)
}

/// Fails once, then succeeds.
fn paying() -> Services {
    let calls = AtomicUsize::new(0);
    let pay = closure(move |_| {
        let is_first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if is_first {
                Err(ServiceError::new(Category::Network, "the line is down"))
            } else {
                Ok(Value::Null)
            }
        }
    });
    Services::new().add("pay", pay)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_of_a_host_at_work() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let plan = TelemetryPlan { metrics: true, ..TelemetryPlan::default() };
    let telemetry = Telemetry::start(plan, Arc::clone(&store)).unwrap().unwrap();
    let (mut agent_services, settings) = agent_services(&root);
    agent_services.providers =
        rawko_agents::work::observed(std::mem::take(&mut agent_services.providers), telemetry.clone());
    let agent_services = Arc::new(agent_services);
    let builder = Host::builder()
        .store(store)
        .services(agent_services.join(paying()))
        .agents(agent_services)
        .gate(settings.gate())
        .observer(telemetry.clone())
        .chart(Edition::read("order.yaml", CHART).unwrap());
    let builder = work::editions().into_iter().fold(builder, |builder, edition| builder.chart(edition));
    let host = builder.start().await.unwrap();
    let looked = host.clone();
    telemetry.metrics().look_at(move || Readings::of(&looked));

    let start = StartOptions { chart: "order".into(), id: Some("o-1".into()), ..StartOptions::default() };
    host.start(start).await.unwrap();
    let settled = host.settled("o-1", Duration::from_secs(3600)).await.unwrap();
    assert!(matches!(&settled, SettleReason::Waiting(activity) if activity.person), "{settled:?}");
    let answer = PersonAnswer {
        approved: true,
        by: None,
        claimed: None,
        asked_ms: None,
        comment: None,
        data: Value::Null,
    };
    host.answer("o-1", None, answer).await.unwrap();
    // Reported by a server.
    telemetry.metrics().request("GET", "/v1/instances/{id}", 200, Duration::from_millis(3));
    let client = telemetry.metrics().stream_client();
    let shown = masked(&telemetry.metrics().render());
    drop(client);
    expect_file!["golden/metrics.txt"].assert_eq(&shown);
    assert!(telemetry.metrics().render().contains("rawko_event_stream_clients 0\n"));
    host.close().await;
    telemetry.close().await;
}

/// Masks times and commit grouping, which differ between runs.
fn masked(text: &str) -> String {
    let is_steady = |line: &str| {
        line.starts_with('#')
            || ![
                "_bucket",
                "_sum",
                "process_start",
                "commits_total",
                "fsyncs_total",
                "in_memory",
                "queue_length",
            ]
            .iter()
            .any(|part| line.contains(part))
    };
    let shown = |line: &str| match line.rsplit_once(' ') {
        Some((series, _)) if !is_steady(line) => format!("{series} …\n"),
        _ => format!("{line}\n"),
    };
    // One bucket bound represents all.
    let is_shown = |line: &&str| !line.contains("le=\"") || line.contains("le=\"0.1\"");
    text.lines().filter(is_shown).map(shown).collect()
}
