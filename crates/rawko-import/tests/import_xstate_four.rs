//! Machines of XState 4 behave as in XState 4 where it goes another way than version 5. The expected steps were taken
//! from XState 4.38.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::sync::Arc;

use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Value, World};
use rawko_import::{self as import, ImportOptions, NoteKind};
use rawko_sim::{Simulation, Stimulus, Stubs};

/// Returns the active states and the log after the start and after each event.
fn walk(json: &str, events: &[&str]) -> Vec<String> {
    let imported = import::xstate(json, ImportOptions::default()).unwrap();
    assert_eq!(lost(json), Vec::<String>::new(), "{}", imported.yaml);
    let loaded = load(&SourceFile::new("machine.yaml", imported.yaml.as_str()), &Registry::default());
    let chart = Arc::new(loaded.chart.expect(&imported.yaml));
    let mut simulation = Simulation::new(chart, Vec::new(), Stubs::default(), World::default(), Value::Null);
    let mut lines = vec![simulation.start()];
    lines.extend(events.iter().map(|event| simulation.apply(&Stimulus::event(event, Value::Null))));
    let text = |line: rawko_sim::ReportLine| {
        let log: Vec<_> = line.log.iter().map(ToString::to_string).collect();
        format!("{}: {}", line.configuration.join(" "), log.join(" "))
    };
    lines.into_iter().map(text).collect()
}

/// The constructs that an import does not carry over.
fn lost(json: &str) -> Vec<String> {
    let notes = import::xstate(json, ImportOptions::default()).unwrap().notes;
    notes.into_iter().filter(|note| note.kind == NoteKind::Lost).map(|note| note.message).collect()
}

#[test]
fn an_active_target_of_an_internal_transition_is_not_entered_again_and_the_machine_itself_is_left() {
    let machine = r##"{
  "id": "m", "predictableActionArguments": true, "initial": "b",
  "entry": {"type": "xstate.log", "value": "+"}, "exit": {"type": "xstate.log", "value": "-"},
  "on": {"IN": {"target": ".a", "actions": {"type": "xstate.log", "value": "in"}}},
  "states": {
    "a": {
      "entry": {"type": "xstate.log", "value": "+a"}, "exit": {"type": "xstate.log", "value": "-a"},
      "on": {"ALL": {"target": "#m", "actions": {"type": "xstate.log", "value": "all"}}}
    },
    "b": {
      "entry": {"type": "xstate.log", "value": "+b"}, "exit": {"type": "xstate.log", "value": "-b"},
      "on": {"x.*": "a"}
    }
  }
}"##;
    assert_eq!(
        walk(machine, &["x.y", "IN", "IN", "ALL"]),
        ["b: + +b", "b: ", "a: -b in +a", "a: in", "b: -a - all + +b"]
    );
}

#[test]
fn what_version_4_does_without_a_counterpart_is_refused() {
    let into_compound = r##"{"predictableActionArguments": true, "initial": "a", "on": {"IN": ".a"}, "states": {
        "a": {"entry": "greet", "initial": "x", "states": {"x": {}, "y": {}}}}}"##;
    assert!(lost(into_compound)[0].starts_with("an internal transition of version 4"));
    let with_code = r##"{"predictableActionArguments": true, "initial": "a",
        "on": {"IN": {"target": ".a", "cond": "isReady"}}, "states": {"a": {"entry": "greet"}, "b": {}}}"##;
    assert!(lost(with_code)[0].starts_with("an internal transition of version 4"));
    let without_work = r##"{"predictableActionArguments": true, "initial": "a", "on": {"IN": ".a"}, "states": {
        "a": {"initial": "x", "states": {"x": {}, "y": {}}}}}"##;
    assert_eq!(lost(without_work), Vec::<String>::new());
    let swallowed = r##"{"strict": true, "initial": "a", "states": {
        "a": {"on": {"*": {"actions": "note"}}, "after": {"100": "b"}}, "b": {}}}"##;
    assert_eq!(
        lost(swallowed),
        ["delays of a state with `*` in version 4, where `*` takes the event of the timer"]
    );
}

#[test]
fn completion_and_history_of_version_4_are_refused_where_they_differ() {
    let region = r##"{"strict": true, "type": "parallel", "states": {"a": {"type": "final"}, "b": {}}}"##;
    assert!(lost(region)[0].starts_with("a final state as a region in version 4"));
    let any = r##"{"strict": true, "initial": "a", "on": {"*": {"actions": "note"}},
        "states": {"a": {"initial": "b", "states": {"b": {"type": "final"}}}}}"##;
    assert!(lost(any)[0].starts_with("a final state inside others beside `*` in version 4"));
    let history = |target: &str| {
        format!(
            r##"{{"strict": true, "initial": "a", "states": {{"a": {{"on": {{"GO": "c.hist"}}}},
            "c": {{"initial": "x", "states": {{"x": {{}}, "y": {{}}, "hist": {{"type": "history", "target": "{target}"}}}}}}}}}}"##
        )
    };
    assert!(lost(&history("y"))[0].starts_with("the default of a history state in version 4"));
    assert_eq!(lost(&history("x")), Vec::<String>::new());
}

#[test]
fn keys_of_both_versions_are_refused() {
    let mixed = r##"{"initial": "a", "states": {
        "a": {"on": {"GO": {"target": "b", "cond": "isReady"}, "STAY": {"guard": "isTired"}}}, "b": {}}}"##;
    assert!(lost(mixed)[0].starts_with("`cond` of version 4 in a document with keys of version 5"));
}
