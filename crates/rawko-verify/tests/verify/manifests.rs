//! Ceilings of a manifest, with what child charts start.

use rawko_core::{Value, World};
use rawko_verify::{ExplorationLimits, Model, Storage, manifest};

use crate::support::model;

fn ceiling(charts: &[&str]) -> String {
    let models: Vec<Model> = charts.iter().map(|text| model(text)).collect();
    let limits = ExplorationLimits { states_max: 2_000, stop: &|_| false, storage: Storage::Exact };
    let manifest = manifest(&models, &World::default(), &limits).unwrap();
    let ceiling = manifest.get("ceiling");
    let shown = |key: &str| match ceiling.get(key) {
        Value::Null => "no limit".to_owned(),
        count => count.to_string(),
    };
    ["agents", "completions", "tool_calls"].map(shown).join(", ")
}

/// Starts `each` twice, one after the other.
const PARENT: &str = "
id: par
initial: a
states:
  a: {invoke: {id: one, src: 'statechart:kid', onDone: b, onError: done}}
  b: {invoke: {id: two, src: 'statechart:kid', onDone: done, onError: done}}
  done: {type: final}
";

fn child(src: &str) -> String {
    format!(
        "
id: kid
initial: k
states:
  k: {{invoke: {{id: x, src: '{src}', onDone: l, onError: done}}}}
  l: {{invoke: {{id: y, src: 'tool:Read', onDone: done, onError: done}}}}
  done: {{type: final}}
"
    )
}

#[test]
fn a_ceiling_counts_what_children_start() {
    assert_eq!(ceiling(&[PARENT, &child("tool:Bash")]), "0, 0, 4");
    assert_eq!(ceiling(&[PARENT, &child("model:small")]), "0, 2, 2");
    // An agent calls its model and tools as often as its budget allows, and there is none.
    assert_eq!(ceiling(&[PARENT, &child("agent:writer")]), "2, no limit, no limit");
}

#[test]
fn a_child_that_is_not_known_has_no_ceiling() {
    assert_eq!(ceiling(&[PARENT]), "no limit, no limit, no limit");
}

#[test]
fn a_loop_over_a_child_has_no_ceiling() {
    let looping =
        PARENT.replace("id: two, src: 'statechart:kid', onDone: done", "id: two, src: svc, onDone: a");
    assert_eq!(ceiling(&[&looping, &child("tool:Bash")]), "0, 0, no limit");
    let bounded = looping.replace("initial: a", "initial: a\nbudget: {tool_calls: 9}");
    assert_eq!(ceiling(&[&bounded, &child("tool:Bash")]), "0, 0, 9");
}
