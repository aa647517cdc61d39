//! The crate as another project uses it: a path in, a report out.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::panic::catch_unwind;
use std::sync::Arc;

use expect_test::expect;
use rawko_testing::{ProjectContent, Suite, TestError, assert_scenarios, run};

const LIGHT: &str = "{id: light, initial: off, states: {off: {on: {PRESSED: on}}, on: {after: {1h: off}}}}";

/// A directory with a chart and its scenarios.
fn project(scenarios: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("light.yaml"), LIGHT).unwrap();
    fs::write(dir.path().join("light.scenario.yaml"), scenarios).unwrap();
    dir
}

#[test]
fn scenarios_of_a_directory_a_chart_or_a_file_pass() {
    for path in ["tests/charts", "tests/charts/door.yaml", "tests/charts/door.scenario.yaml"] {
        assert_scenarios(path);
    }
}

#[test]
fn a_report_is_data_and_text() {
    let report = run("tests/charts").unwrap();
    assert!(report.is_success());
    let coverage = &report.coverage[0];
    assert_eq!((coverage.id.as_str(), coverage.percent), ("door", 100));
    expect![[r#"
        tests/charts/door.scenario.yaml
          ok      closes by itself
          ok      reports how often it was opened

        coverage of tests/charts/door.yaml: 100% (3 of 3 states, 4 of 4 transitions)

        2 scenarios: 2 passed
    "#]]
    .assert_eq(&report.to_string());
    assert_eq!(report.to_json()["passed"], 2);
    assert!(report.to_junit().contains("<testcase classname=\"tests/charts/door.scenario.yaml\""));
}

#[test]
fn a_failing_scenario_panics_with_the_readable_report() {
    let dir = project(
        "scenarios: [{name: saves energy, steps: [{send: PRESSED}, {advance: 30m, expect: {configuration: off}}]}]",
    );
    let path = dir.path().to_owned();
    let panic = catch_unwind(move || assert_scenarios(path)).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap().replace(&*dir.path().to_string_lossy(), "DIR");
    expect![[r#"

        DIR/light.scenario.yaml
          FAILED  saves energy
                  line 1, after advance 30m: configuration
                    expected  [off]
                    actual    [on]

        1 scenario: 0 passed, 1 failed
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_path_without_scenarios_is_an_error_that_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let error = run(dir.path()).unwrap_err();
    assert!(matches!(error, TestError::NoScenarios { place: "below", .. }), "{error}");
    assert_eq!(run("tests/nothing.yaml").unwrap_err().to_string(), "file `tests/nothing.yaml` not found");
}

#[test]
fn a_project_adds_charts_that_can_be_invoked() {
    let dir = tempfile::tempdir().unwrap();
    let parent = "{id: parent, initial: a, states: {a: {invoke: {id: c, src: 'statechart:child', onDone: b, onError: failed}}, b: {type: final}, failed: {type: final}}}";
    fs::write(dir.path().join("parent.yaml"), parent).unwrap();
    let scenario = "scenarios: [{name: waits for its child, steps: [{expect: {configuration: b}}]}]";
    fs::write(dir.path().join("parent.scenario.yaml"), scenario).unwrap();
    let suite = Suite::load(dir.path()).unwrap();
    assert_eq!(suite.run().failed(), 1);

    let child =
        rawko_chart::SourceFile::new("child.yaml", "{id: child, initial: x, states: {x: {type: final}}}");
    let child = Arc::new(rawko_chart::load(&child, &rawko_chart::Registry::default()).chart.unwrap());
    let suite = suite.with_project(move |_| ProjectContent {
        charts: vec![Arc::clone(&child)],
        ..ProjectContent::default()
    });
    assert_eq!(suite.run().passed(), 1);
}
