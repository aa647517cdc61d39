//! Children that cannot start because their chart was not given: the error is that of a host, and a chart that stimuli
//! answer is a stub by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::sync::Arc;

use expect_test::expect;
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Chart, Value, World};
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};

fn chart(text: &str) -> Arc<Chart> {
    Arc::new(
        load(&SourceFile::new("c.yaml", text), &Registry::default()).chart.expect("the chart is well formed"),
    )
}

fn parent(reference: &str) -> Arc<Chart> {
    chart(&format!(
        "{{id: p, initial: a, states: {{a: {{invoke: {{id: kid, src: 'statechart:{reference}', onDone: done,
          onError: {{target: failed, actions: [{{type: log, message: \"event.data.category ~ ' ' ~ event.data.code ~
          ': ' ~ event.data.message\"}}]}}}}}}, done: {{type: final}}, failed: {{type: final}}}}}}"
    ))
}

fn simulation(reference: &str) -> Simulation {
    let child = |version: &str| {
        chart(&format!(
            "{{id: child, version: {version}, initial: v, states: {{v: {{entry: [{{type: log, message: 'version {version}'}}], always: w}}, w: {{type: final}}}}}}"
        ))
    };
    let others = vec![child("1.1.0"), child("1.10.0"), child("2.0.0")];
    Simulation::new(parent(reference), others, Stubs::default(), World::default(), Value::Null)
}

#[test]
fn references_mean_what_they_mean_on_a_host() {
    let mut text = String::new();
    for reference in [
        "child",
        "child@latest",
        "child@^1",
        "child@1.1.0",
        "child@~1.1",
        "child@>=1 <2",
        "child@3",
        "child@?",
        "kid",
    ] {
        let ReportLine { log, .. } = simulation(reference).with_stimuli([]).start();
        text.push_str(&format!("{reference:15} {}\n", log.join(", ")));
    }
    expect![[r#"
        child           version 2.0.0
        child@latest    version 2.0.0
        child@^1        version 1.10.0
        child@1.1.0     version 1.1.0
        child@~1.1      version 1.1.0
        child@>=1 <2    version 1.10.0
        child@3         unknown chart_version_not_found: no version of chart `child` matches `3`; available: 1.1.0, 1.10.0, 2.0.0
        child@?         unknown invalid_version_range: `?` is not a version or version range
        kid             unknown chart_not_found: chart `kid` not found
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_stimulus_that_answers_it_makes_it_wait() {
    let done = Stimulus::event("done.invoke.kid", Value::Null);
    for simulation in [simulation("nowhere"), simulation("nowhere").with_stimuli([&done])] {
        let mut simulation = simulation;
        assert_eq!(simulation.start().configuration, ["a"]);
        assert_eq!(simulation.apply(&done).configuration, ["done"]);
    }
    let other = Stimulus::event("done.invoke.other", Value::Null);
    assert_eq!(simulation("nowhere").with_stimuli([&other]).start().configuration, ["failed"]);
}
