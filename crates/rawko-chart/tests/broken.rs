//! One broken chart for each finding, and its report. `broken/<code>.yaml` (or `.json`) must give the finding of that
//! name; `<code>.txt` beside it is the report, which `UPDATE_EXPECT=1` rewrites.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{Finding, KnownTools, Registry, load_bytes};
use rawko_core::ServiceSpec;

#[test]
fn each_broken_chart_gets_its_finding() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let charts = charts(&folder);
    assert!(!charts.is_empty());
    for path in charts {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (source, loaded) = load_bytes(name, &fs::read(&path).unwrap(), &registry());
        let code = path.file_stem().unwrap().to_str().unwrap();
        assert_names_it(code, name, &loaded.findings);
        let report = render::report(&loaded.findings, &source, ReportStyle { color: false });
        expect_file![path.with_extension("txt")].assert_eq(&report);
    }
}

/// A second chart for the same code is named `<code>~what.yaml`.
fn assert_names_it(stem: &str, name: &str, findings: &[Finding]) {
    let code = format!("rawko::chart::{}", stem.split('~').next().unwrap());
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&code.as_str()), "{name} gives {codes:?}, not {code}");
}

#[test]
fn no_report_is_left_without_its_chart() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "txt") {
            let charts = ["yaml", "json"].map(|ending| path.with_extension(ending));
            assert!(charts.iter().any(|chart| chart.exists()), "{} has no chart", path.display());
        }
    }
}

/// Returns the broken charts, in order.
fn charts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut charts: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "json"))
        .collect();
    charts.sort();
    charts
}

/// A small project, for valid and invalid references.
fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.add_chart("review_workflow", "1.2.0");
    registry.add_chart("review_workflow", "2.0.0");
    registry.add_agent("reviewer");
    registry.add_service("agent_executor");
    let suggestion = |name: &str| rawko_chart::nearest(name, ["Read", "Bash"]);
    let is_unknown =
        |rule: &str| !["Read", "Write", "Grep", "Bash"].contains(&rule) && !rule.starts_with("mcp__");
    registry.add_service("echo");
    let amount = serde_json::json!({
        "type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}},
        "additionalProperties": false
    });
    registry.add_spec(ServiceSpec::named("echo").taking(&amount));
    for name in ["work:open", "model:complete", "git:merge", "tool:Read"] {
        registry.add_built_in(name);
    }
    registry.add_tool_alias("readfile");
    registry.with_tools(KnownTools { is_unknown, suggestion }).complete()
}
