//! Required and forbidden keys for each kind of state. The kind is given by `type`, or implied by the other keys, as in
//! the reader.

use rawko_core::{HistoryVariant, NodeKind};
use serde_json::{Map, Value, json};

use super::reference;
use crate::def::{CHART, REGION, RecordShape, STATE, STATE_TYPES, kind_of_word, misplaced};

/// Returns the rules, by the names that `rules_for` refers to.
pub(super) fn definitions() -> Vec<(String, Value)> {
    let kinds =
        STATE_TYPES.iter().filter_map(|word| Some((*word, kind_of_word(word, HistoryVariant::Shallow)?)));
    let mut all: Vec<(String, Value)> =
        kinds.map(|(word, kind)| (format!("{word}_state"), rules(kind))).collect();
    all.push(("state_by_kind".into(), by_kind()));
    all.push(("chart_by_kind".into(), chart_by_kind()));
    all
}

/// Returns the rules for a record beyond its keys, if it is a state of some kind.
pub(super) fn rules_for(record: &RecordShape) -> Option<Value> {
    let is = |other: &RecordShape| record.name == other.name;
    if is(&CHART) {
        Some(reference("chart_by_kind"))
    } else {
        (is(&STATE) || is(&REGION)).then(|| reference("state_by_kind"))
    }
}

fn rules(kind: NodeKind) -> Value {
    let mut properties: Map<String, Value> =
        misplaced(kind).iter().map(|key| ((*key).to_owned(), Value::Bool(false))).collect();
    let mut rules = match kind {
        NodeKind::Compound => some_states(),
        NodeKind::Parallel => two_regions(),
        NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => {
            properties.insert("states".into(), json!({ "maxProperties": 0 }));
            properties.insert("regions".into(), Value::Bool(false));
            json!({})
        }
    };
    if kind == NodeKind::Final {
        properties.extend(never_happens());
    }
    rules["properties"] = properties.into();
    rules
}

/// A compound state has at least one state and an initial one.
fn some_states() -> Value {
    json!({ "required": ["initial"], "anyOf": [with("states", 1), with("regions", 1)] })
}

/// Regions are under `regions` or `states`, or some under each.
fn two_regions() -> Value {
    let both = json!({ "allOf": [with("regions", 1), with("states", 1)] });
    json!({ "anyOf": [with("regions", 2), with("states", 2), both] })
}

/// A key with at least this many entries, in a map or a list.
fn with(key: &str, least: u32) -> Value {
    json!({ "required": [key], "properties": { key: { "minProperties": least, "minItems": least } } })
}

/// Transitions and invokes of a final state would never happen, so they must be empty.
fn never_happens() -> impl Iterator<Item = (String, Value)> {
    let no_list = json!({ "type": "array", "maxItems": 0 });
    let nothing = json!({ "maxItems": 0, "additionalProperties": no_list });
    [("on", nothing.clone()), ("after", nothing), ("always", no_list.clone()), ("invoke", no_list)]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
}

fn by_kind() -> Value {
    let said = STATE_TYPES.iter().map(|word| {
        json!({
            "if": { "required": ["type"], "properties": { "type": { "const": word } } },
            "then": kind(word),
        })
    });
    json!({
        "if": { "required": ["type"] },
        "then": { "allOf": said.collect::<Vec<_>>() },
        "else": {
            "if": { "required": ["regions"] },
            "then": kind("parallel"),
            "else": {
                "if": with("states", 1),
                "then": kind("compound"),
                "else": { "if": { "required": ["variant"] }, "then": kind("history"), "else": kind("atomic") },
            },
        },
    })
}

/// A chart is compound or parallel. Its own record has none of the keys that would be misplaced.
fn chart_by_kind() -> Value {
    let parallel = json!({ "properties": { "type": { "const": "parallel" } }, "required": ["type"] });
    json!({
        "if": { "anyOf": [parallel, { "not": { "required": ["type"] }, "required": ["regions"] }] },
        "then": two_regions(),
        "else": some_states(),
    })
}

fn kind(word: &str) -> Value {
    reference(&format!("{word}_state"))
}
