//! Imports of graphs: DOT workflows and LangGraph, as goldens, as walks with stubbed services, and with hostile texts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

mod dot;
mod hostile;
mod langgraph;

use std::sync::Arc;

use expect_test::Expect;
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Value, World};
use rawko_import::{self as import, ImportOptions, ImportResult, NoteKind};
use rawko_sim::{Simulation, Stimulus, Stubs};

fn imported(text: &str) -> ImportResult {
    let imported = import::import(text, ImportOptions { id: Some("example"), ..ImportOptions::default() });
    imported.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn chart(imported: &ImportResult) -> Arc<rawko_core::Chart> {
    let loaded = load(&SourceFile::new("imported.yaml", imported.yaml.as_str()), &Registry::default());
    let chart = loaded.chart.unwrap_or_else(|| panic!("{}\n{:#?}", imported.yaml, loaded.findings));
    let wrong = loaded.findings.iter().filter(|finding| finding.code.ends_with("::unknown_field"));
    assert_eq!(wrong.count(), 0, "{}\n{:#?}", imported.yaml, loaded.findings);
    Arc::new(chart)
}

fn golden(text: &str, expected: Expect) {
    let imported = imported(text);
    chart(&imported);
    expected.assert_eq(&imported.yaml);
}

/// Answers each invoke in turn and returns the configurations: `id=json` for a result, `id!` for an error.
fn walk(text: &str, answers: &[&str]) -> String {
    let imported = imported(text);
    let lost: Vec<_> = imported.notes.iter().filter(|note| note.kind == NoteKind::Lost).collect();
    assert!(lost.is_empty(), "{lost:?}\n{}", imported.yaml);
    let mut simulation =
        Simulation::new(chart(&imported), Vec::new(), Stubs::default(), World::default(), Value::Null);
    let mut seen = vec![simulation.start().configuration.join(" ")];
    for answer in answers {
        let stimulus = match (answer.split_once('='), answer.strip_suffix('!')) {
            (Some((id, data)), _) => {
                let data: Value = serde_json::from_str(data).unwrap();
                Stimulus::event(&format!("done.invoke.{id}"), data)
            }
            (None, Some(id)) => Stimulus::event(&format!("error.invoke.{id}"), Value::Null),
            (None, None) => Stimulus::event(answer, Value::Null),
        };
        let line = simulation.apply(&stimulus);
        assert_eq!(line.error, None, "{answer}\n{}", imported.yaml);
        seen.push(line.configuration.join(" "));
    }
    seen.join(" | ")
}

fn notes(text: &str) -> String {
    let notes: Vec<_> = imported(text).notes.iter().map(ToString::to_string).collect();
    notes.join("\n")
}
