//! Random charts to draw: every kind of state, transitions from anywhere to anywhere.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

/// The shape of a state: the number of its children, and its kind.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    kind: u8,
    children: Vec<Shape>,
}

#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    top: Vec<Shape>,
    /// Source, target (several: a list of targets), and the kind of label.
    transitions: Vec<(usize, Vec<usize>, u8)>,
}

pub(crate) fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = (0u8..8).prop_map(|kind| Shape { kind, children: Vec::new() });
    let shape = leaf.prop_recursive(3, 20, 4, |inner| {
        (0u8..8, prop::collection::vec(inner, 1..4)).prop_map(|(kind, children)| Shape { kind, children })
    });
    let transition = (0usize..60, prop::collection::vec(0usize..60, 0..2), 0u8..6);
    (prop::collection::vec(shape, 1..6), prop::collection::vec(transition, 0..24))
        .prop_map(|(top, transitions)| Recipe { top, transitions })
}

/// Returns the same few random charts every time.
#[allow(dead_code, reason = "not every test program that has this module needs them")]
pub(crate) fn some(count: usize) -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let strategy = recipe();
    (0..count).map(|_| chart(&strategy.new_tree(&mut runner).unwrap().current())).collect()
}

/// Renders the recipe as a chart's text. Keys are `s0`, `s1` … in document order.
pub(crate) fn chart(recipe: &Recipe) -> String {
    let mut states = Vec::new();
    let top: Vec<usize> = recipe.top.iter().map(|shape| flatten(shape, &mut states)).collect();
    let plain: Vec<usize> = (0..states.len()).filter(|i| states[*i].can_act()).collect();
    for (from, to, look) in &recipe.transitions {
        let Some(from) = plain.get(from % plain.len().max(1)).copied() else { continue };
        let targets: Vec<Value> = to.iter().map(|t| json!(format!("#s{}", t % states.len()))).collect();
        let event = format!("E{}", states[from].on.len());
        states[from].on.insert(event, look_of(*look, targets));
    }
    let body: Map<String, Value> = top.iter().map(|i| (format!("s{i}"), body(*i, &states))).collect();
    let first = top.iter().find(|i| states[**i].kind != 7).copied();
    let mut root = json!({ "id": "random", "version": "1.0.0", "context": {}, "states": body });
    root["initial"] = json!(format!("s{}", first.unwrap_or(top[0])));
    json!({ "statechart": root }).to_string()
}

struct Flat {
    kind: u8,
    children: Vec<usize>,
    on: Map<String, Value>,
}

impl Flat {
    /// Final and history states have no transitions.
    fn can_act(&self) -> bool {
        !self.children.is_empty() || self.kind < 6
    }
}

fn flatten(shape: &Shape, states: &mut Vec<Flat>) -> usize {
    let at = states.len();
    states.push(Flat { kind: shape.kind, children: Vec::new(), on: Map::new() });
    let children: Vec<usize> = shape.children.iter().map(|child| flatten(child, states)).collect();
    states[at].children = children;
    at
}

fn look_of(look: u8, targets: Vec<Value>) -> Value {
    let mut transition = json!({});
    if !targets.is_empty() {
        transition["target"] = Value::Array(targets);
    }
    if look > 2 {
        transition["guard"] = json!("1 < 2 and 'a long guard that will not fit into one line' != 'x'");
    }
    if look % 2 == 1 {
        transition["actions"] = json!([{ "type": "log", "message": "hi" }]);
    }
    transition
}

fn body(at: usize, states: &[Flat]) -> Value {
    let state = &states[at];
    let mut out = json!({});
    if !state.on.is_empty() {
        out["on"] = Value::Object(state.on.clone());
    }
    if state.children.is_empty() {
        match state.kind {
            6 => out["type"] = json!("final"),
            7 => out["type"] = json!("history"),
            _ => {}
        }
        return out;
    }
    let inside: Map<String, Value> =
        state.children.iter().map(|c| (format!("s{c}"), body(*c, states))).collect();
    out["states"] = Value::Object(inside);
    let real: Vec<usize> = state
        .children
        .iter()
        .copied()
        .filter(|c| states[*c].kind != 7 || !states[*c].children.is_empty())
        .collect();
    if state.kind.is_multiple_of(2) && real.len() >= 2 {
        out["type"] = json!("parallel");
    } else {
        out["initial"] = json!(format!("s{}", real.first().unwrap_or(&state.children[0])));
    }
    out
}
