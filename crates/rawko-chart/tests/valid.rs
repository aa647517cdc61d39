//! Realistic charts. Each must load without a single finding, because a checker with false positives gets disabled.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::fs;
use std::path::Path;

use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{Registry, load_bytes};

#[test]
fn nothing_is_found_in_a_valid_chart() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/valid");
    let mut reports = String::new();
    let mut charts = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (source, loaded) = load_bytes(name, &fs::read(&path).unwrap(), &registry());
        if !loaded.findings.is_empty() {
            reports += &render::report(&loaded.findings, &source, ReportStyle { color: false });
        }
        charts += 1;
    }
    assert!(charts >= 12, "only {charts} charts in {}", folder.display());
    assert!(reports.is_empty(), "\n{reports}");
}

/// References of the charts.
fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.add_chart("review_workflow", "1.2.0");
    registry.add_agent("reviewer");
    registry.add_service("agent_executor");
    registry.add_endpoint("heater");
    registry.complete()
}
