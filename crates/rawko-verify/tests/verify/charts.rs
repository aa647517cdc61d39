//! The charts that rawko ships and its examples: verified within a bound, with the verdicts that are not `holds`.

use std::path::Path;

use expect_test::expect;
use rawko_core::World;
use rawko_verify::{ExplorationLimits, Model, Storage, verify};

use crate::support::model;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn summary(path: &str, any_input: bool) -> String {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    let mut models: Vec<Model> = vec![model(&text)];
    models[0].any_input = any_input;
    let limits = ExplorationLimits { states_max: 2_000, stop: &|_| false, storage: Storage::Exact };
    let report = verify(&models, &World::default(), &limits).unwrap();
    assert!(report.states > 0);
    let mut text = format!("{path}\n");
    for property in &report.properties {
        if property.verdict.as_str() != "holds" {
            text.push_str(&format!("  {} {}\n", property.name, property.verdict.as_str()));
        }
    }
    text
}

#[test]
fn charts_and_examples_with_their_default_input() {
    let paths = [
        "charts/agent_lifecycle.yaml",
        "charts/channel.yaml",
        "charts/dry_run.yaml",
        "charts/speaker.yaml",
        "charts/trigger_log.yaml",
        "examples/traffic-light/traffic-light.yaml",
        "examples/order/order.yaml",
    ];
    let text: String = paths.iter().map(|path| summary(path, false)).collect();
    expect![[r#"
        charts/agent_lifecycle.yaml
        charts/channel.yaml
        charts/dry_run.yaml
        charts/speaker.yaml
        charts/trigger_log.yaml
        examples/traffic-light/traffic-light.yaml
        examples/order/order.yaml
    "#]]
    .assert_eq(&text);
}

/// Charts that ship as patterns of work, and small ones of rawko itself. Open verdicts depend on data or on child charts
/// that are not known here; nothing is violated.
#[test]
fn patterns_of_work_with_any_input() {
    let paths = [
        "charts/issue_to_patch.yaml",
        "charts/parallel.yaml",
        "charts/pipeline.yaml",
        "charts/program_agent.yaml",
        "charts/refactor_files.yaml",
        "charts/research.yaml",
        "charts/review_diff.yaml",
        "charts/sequential.yaml",
    ];
    let text: String = paths.iter().map(|path| summary(path, true)).collect();
    expect![[r#"
        charts/issue_to_patch.yaml
          no_stall unknown
          approval_respected unknown
        charts/parallel.yaml
          no_trap unknown
          no_stall unknown
          bounded_eventless unknown
          failures_handled unknown
          approval_respected unknown
          read_only_phases unknown
          bounded_children unknown
          bounded_by_budget unknown
          prepared_first unknown
        charts/pipeline.yaml
          no_stall unknown
          bounded_by_budget unknown
          success_has_no_problem unknown
        charts/program_agent.yaml
        charts/refactor_files.yaml
        charts/research.yaml
        charts/review_diff.yaml
        charts/sequential.yaml
          no_stall unknown
          bounded_by_budget unknown
          failure_is_told unknown
          success_has_no_problem unknown
    "#]]
    .assert_eq(&text);
}

/// The lists of the queue grow with data from outside.
#[test]
fn the_task_queue_is_proved() {
    let text = [false, true].map(|any_input| summary("charts/task_queue.yaml", any_input)).concat();
    assert_eq!(text, "charts/task_queue.yaml\n".repeat(2));
}

#[test]
fn charts_that_do_the_work_with_any_input() {
    let paths = ["charts/agent.yaml", "charts/orchestrator.yaml", "charts/plan_build.yaml"];
    let text: String = paths.iter().map(|path| summary(path, true)).collect();
    expect![[r#"
        charts/agent.yaml
          approval_respected unknown
        charts/orchestrator.yaml
          approval_respected unknown
        charts/plan_build.yaml
    "#]]
    .assert_eq(&text);
}
