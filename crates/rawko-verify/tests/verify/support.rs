//! Verifies charts from text, and replays traces in the simulation.

#![allow(dead_code, reason = "two test programs share this file")]

use std::sync::Arc;

use rawko_chart::{Registry, SourceFile};
use rawko_core::{Value, World};
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};
use rawko_verify::{
    Counterexample, ExplorationLimits, Model, PropertyVerdict, Storage, VerifyReport, verify,
};

pub(crate) fn model(text: &str) -> Model {
    let (model, findings) = Model::load(&SourceFile::new("test.yaml", text), &Registry::default());
    model.unwrap_or_else(|| panic!("{findings:?}"))
}

/// Verifies the first chart; the others are its children.
pub(crate) fn report(texts: &[&str]) -> VerifyReport {
    let models: Vec<Model> = texts.iter().map(|text| model(text)).collect();
    let limits = ExplorationLimits { states_max: 20_000, stop: &|_| false, storage: Storage::Exact };
    verify(&models, &World::default(), &limits).unwrap()
}

/// Replays a trace in the simulation and returns its lines, the start first.
pub(crate) fn replay(texts: &[&str], trace: &Counterexample) -> Vec<ReportLine> {
    let mut charts = texts.iter().map(|text| model(text).chart);
    let chart = charts.next().unwrap();
    let stubs = Stubs::from_value(&trace.services).unwrap();
    let input = Value::Map(Arc::default());
    let mut simulation = Simulation::new(chart, charts.collect(), stubs, World::default(), input);
    let mut lines = vec![simulation.start()];
    for event in &trace.events {
        let line = simulation.apply(&Stimulus::from_value(event).unwrap());
        assert_eq!(line.refused, None, "{}", Value::list(trace.events.clone()));
        lines.push(line);
    }
    lines
}

/// The verdict of a property, and for a violation its events, the reason and the last line of the replay.
pub(crate) fn shown(texts: &[&str], name: &str) -> String {
    let report = report(texts);
    let property = report.property(name).unwrap_or_else(|| panic!("no property `{name}`"));
    let Some(trace) = &property.trace else {
        return format!("{}: {}\n", property.verdict.as_str(), property.bound);
    };
    assert_eq!(property.verdict, PropertyVerdict::Violated);
    let mut text = format!("violated: {}\n", trace.reason);
    for (number, event) in trace.events.iter().enumerate() {
        let mark = if trace.loop_from == Some(number) { "loop: " } else { "" };
        text.push_str(&format!("  {mark}{event}\n"));
    }
    let lines = replay(texts, trace);
    let last = lines.last().unwrap();
    text.push_str(&format!("  → {} ({})", last.configuration.join(", "), last.status));
    if let Some(error) = &last.error {
        text.push_str(&format!(" {error}"));
    }
    for invoked in &last.invoked {
        text.push_str(&format!(" invokes {}", invoked.src));
    }
    text.push('\n');
    text
}
