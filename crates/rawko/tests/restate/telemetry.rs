//! Telemetry of workers: the trace of a task is the same as on a single machine, and log lines and metrics are
//! available.

use std::collections::BTreeSet;
use std::process::Command;

use rawko_testkit::RestateOptions;
use serde_json::Value as Json;

use crate::collector::{Collector, tree};
use crate::support::{PATIENCE, Place, RAWKO, Site, demo_task, directory, free_address, worker_with};

const SHOWN: [&str; 5] = [
    "gen_ai.agent.name",
    "gen_ai.request.model",
    "gen_ai.tool.call.id",
    "gen_ai.response.finish_reasons",
    "error.type",
];

/// Returns a trace as sorted lines, indented by depth: concurrent spans end in any order.
fn lines(collector: &Collector) -> Vec<String> {
    let mut lines: Vec<String> = tree(&collector.spans(), &SHOWN).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn steps(collector: &Collector) -> Vec<String> {
    let spans = collector.spans();
    let of_steps = spans.iter().filter(|span| span.name.starts_with("step"));
    let mut steps: Vec<String> =
        of_steps.map(|span| format!("{} {}", span.has("rawko.instance"), span.name)).collect();
    steps.sort();
    steps
}

fn get(url: &str) -> String {
    let curl = Command::new("curl").args(["-s", url]).output().unwrap();
    String::from_utf8(curl.stdout).unwrap()
}

#[test]
fn a_task_on_restate_is_one_trace_as_on_one_machine() {
    let (here, there) = (directory(&[]), directory(&[]));
    for project in [&here, &there] {
        let made = Command::new(RAWKO).args(["init", "--demo"]).current_dir(project.path()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let task = demo_task();
    let words = ["task", &task, "--id", "demo"];
    let (embedded, workers) = (Collector::start(), Collector::start());
    let place = Place::embedded(here.path()).with("OTEL_EXPORTER_OTLP_ENDPOINT", &embedded.url());
    assert_eq!(place.run_words(&words).code, Some(0));

    let site = Site::new(there.path(), &RestateOptions::default());
    let watched =
        site.place.clone().with("OTEL_EXPORTER_OTLP_ENDPOINT", &workers.url()).with("RAWKO_LOG", "debug");
    let metrics = free_address();
    let worker =
        worker_with(&watched, &free_address(), "worker", &["--log-format", "json", "--metrics", &metrics]);
    worker.says("registered", 0, PATIENCE).unwrap();
    assert_eq!(site.place.run_words(&words).code, Some(0), "{}", worker.said());

    let measured = get(&format!("http://{metrics}/metrics"));
    let samples = [
        "rawko_instances_ended_total{chart=\"rawko\",status=\"done\"} 1",
        "rawko_tool_calls_total{tool=\"PlanWrite\",outcome=\"answered\"} 1",
        "rawko_model_calls_total{provider=\"demo\",model=\"scripted\"",
    ];
    for sample in samples {
        assert!(measured.contains(sample), "{sample}\n{measured}");
    }

    // The remaining spans are sent before it ends.
    let log = there.path().join("worker.log");
    assert_eq!(worker.terminate().unwrap(), Some(143));
    assert_eq!(lines(&workers), lines(&embedded));
    assert_eq!(steps(&workers), steps(&embedded));
    let spans = workers.spans();
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace.as_str()).collect();
    assert_eq!(traces.len(), 1, "one task, one trace");

    let said = std::fs::read_to_string(log).unwrap();
    let logged: Vec<Json> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let ended = logged.iter().find(|line| line["message"] == "ended" && line["instance"] == "demo").unwrap();
    assert_eq!(ended["trace_id"].as_str(), traces.first().copied());
    assert!(logged.iter().any(|line| line["level"] == "debug"), "{said}");
}
