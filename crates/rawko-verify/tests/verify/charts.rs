//! The charts that rawko ships and its examples: verified within a bound, with the verdicts that are not `holds`.

use std::path::Path;

use expect_test::expect;
use rawko_core::World;
use rawko_verify::{Limits, Model, verify};

use crate::support::model;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn summary(path: &str, any_input: bool) -> String {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    let mut models: Vec<Model> = vec![model(&text)];
    models[0].any_input = any_input;
    let limits = Limits { states_max: 2_000, stop: &|| false };
    let report = verify(&models, &World::default(), &limits).unwrap();
    let mut text = format!("{path}: {} states, {} transitions\n", report.states, report.transitions);
    for property in &report.properties {
        if property.verdict.as_str() != "holds" {
            let first = property.bound.split(';').next().unwrap();
            let why = property.trace.as_ref().map_or(first, |trace| &trace.reason);
            text.push_str(&format!("  {} {}: {why}\n", property.name, property.verdict.as_str()));
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
        "examples/traffic-light/traffic-light.yaml",
        "examples/order/order.yaml",
    ];
    let text: String = paths.iter().map(|path| summary(path, false)).collect();
    expect![[r#"
        charts/agent_lifecycle.yaml: 22 states, 1320 transitions
        charts/channel.yaml: 2 states, 2 transitions
        charts/dry_run.yaml: 4 states, 82 transitions
        charts/speaker.yaml: 3 states, 9 transitions
        examples/traffic-light/traffic-light.yaml: 56 states, 150 transitions
        examples/order/order.yaml: 13 states, 29 transitions
    "#]]
    .assert_eq(&text);
}

#[test]
fn charts_that_do_the_work_with_any_input() {
    let paths = ["charts/agent.yaml", "charts/orchestrator.yaml", "charts/plan_build.yaml"];
    let text: String = paths.iter().map(|path| summary(path, true)).collect();
    expect![[r#"
        charts/agent.yaml: 1648 states, 56582 transitions
          approval_respected unknown: the first 1239 states, with the default input
          bounded_by_budget unknown: the first 1239 states, with the default input
        charts/orchestrator.yaml: 357 states, 47763 transitions
          no_trap unknown: the first 217 states, with the default input
          approval_respected unknown: the first 217 states, with the default input
          bounded_by_budget unknown: the first 217 states, with the default input
        charts/plan_build.yaml: 111 states, 1334 transitions
          approval_respected unknown: all 1 reachable states, with the default input
    "#]]
    .assert_eq(&text);
}
