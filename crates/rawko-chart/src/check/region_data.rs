//! Data with which guards of eventless transitions may hold, for the steps of `region_cycles`: values that the guards
//! compare with, as input and as data of the events that assign them.

use std::sync::Arc;

use rawko_core::expr::{ClaimSubject, DataUseKind, SubjectRoot};
use rawko_core::{ActionBlueprint, ActionKind, Blueprint, Guard, Slot, Value};

/// Combinations that are tried, and values of one name.
const COMBINATIONS_MAX: usize = 16;
const VALUES_MAX: usize = 3;

/// One choice of data.
pub(crate) struct DataChoice {
    /// For the start; null without a key.
    pub(crate) input: Value,
    /// For every event; null without a key.
    pub(crate) event: Value,
}

/// A name that a guard reads, and what it is compared with.
struct ReadName {
    subject: ClaimSubject,
    values: Vec<Value>,
}

/// Returns the choices worth trying for these guards; none if they read no data.
pub(crate) fn choices(blueprint: &Blueprint, guards: &[&Guard]) -> Vec<DataChoice> {
    let mut names: Vec<ReadName> = Vec::new();
    for data_use in guards.iter().flat_map(|guard| guard.expr.data_uses(true)) {
        let values = candidates(&data_use.kind);
        let name = match names.iter().position(|name| name.subject == data_use.subject) {
            Some(at) => &mut names[at],
            None => {
                names.push(ReadName { subject: data_use.subject, values: Vec::new() });
                let last = names.len() - 1;
                &mut names[last]
            }
        };
        for value in values {
            if name.values.len() < VALUES_MAX && !name.values.contains(&value) {
                name.values.push(value);
            }
        }
    }
    names.retain(|name| !name.values.is_empty());
    if names.is_empty() {
        return Vec::new();
    }
    let assigned = assigned(blueprint);
    let combinations = names.iter().fold(1, |count: usize, name| count.saturating_mul(name.values.len()));
    (0..combinations.min(COMBINATIONS_MAX))
        .map(|number| choice(blueprint, &names, &assigned, number))
        .collect()
}

/// The values with which a part of a guard may hold, the likeliest first.
fn candidates(kind: &DataUseKind) -> Vec<Value> {
    match kind {
        DataUseKind::Truth => vec![Value::Bool(true), Value::Bool(false)],
        DataUseKind::Equal(Value::Bool(value)) => vec![Value::Bool(*value), Value::Bool(!value)],
        DataUseKind::Equal(value) => vec![value.clone(), Value::Null],
        DataUseKind::Order(Value::Int(number)) => {
            [1, -1, 0].map(|more| Value::Int(number.saturating_add(more))).to_vec()
        }
        DataUseKind::Order(Value::Float(number)) => {
            [1.0, -1.0, 0.0].map(|more| Value::Float(number + more)).to_vec()
        }
        DataUseKind::Member(values) => values.first().cloned().into_iter().collect(),
        _ => Vec::new(),
    }
}

fn choice(
    blueprint: &Blueprint,
    names: &[ReadName],
    assigned: &[(Slot, Vec<Arc<str>>)],
    mut number: usize,
) -> DataChoice {
    let mut choice = DataChoice { input: Value::Null, event: Value::Null };
    for ReadName { subject, values } in names {
        let value = &values[number % values.len()];
        number /= values.len();
        match subject.root {
            SubjectRoot::Context(slot) => {
                if let Some(key) = blueprint.context.get(slot.index()) {
                    let path = std::iter::once(&key.name).chain(&subject.path);
                    choice.input = with(&choice.input, &path.collect::<Vec<_>>(), value);
                }
                for (_, path) in assigned.iter().filter(|(other, _)| *other == slot) {
                    let path = path.iter().chain(&subject.path);
                    choice.event = with(&choice.event, &path.collect::<Vec<_>>(), value);
                }
            }
            SubjectRoot::EventData => {
                choice.event = with(&choice.event, &subject.path.iter().collect::<Vec<_>>(), value);
            }
            SubjectRoot::Input => {
                choice.input = with(&choice.input, &subject.path.iter().collect::<Vec<_>>(), value);
            }
            SubjectRoot::EventType => {}
        }
    }
    choice
}

/// Sets a value below a map.
fn with(whole: &Value, path: &[&Arc<str>], value: &Value) -> Value {
    let Some((key, rest)) = path.split_first() else { return value.clone() };
    let part = with(whole.get(key), rest, value);
    let others = whole.as_map().into_iter().flatten().filter(|(other, _)| other.as_ref() != key.as_ref());
    Value::map(others.map(|(key, value)| (Arc::clone(key), value.clone())).chain([(Arc::clone(key), part)]))
}

/// The context keys that actions set from the data of an event, with the path of that data.
fn assigned(blueprint: &Blueprint) -> Vec<(Slot, Vec<Arc<str>>)> {
    let mut found = Vec::new();
    for node in &blueprint.nodes {
        let transitions = node.transitions.iter().map(|transition| &transition.actions);
        for actions in [&node.entry, &node.exit].into_iter().chain(transitions) {
            collect(actions, &mut found);
        }
    }
    found
}

fn collect(actions: &[ActionBlueprint], found: &mut Vec<(Slot, Vec<Arc<str>>)>) {
    for action in actions {
        match &action.kind {
            ActionKind::Assign(updates) => {
                for (slot, expr) in updates {
                    let data = expr.subject().filter(|subject| subject.root == SubjectRoot::EventData);
                    found.extend(data.map(|subject| (*slot, subject.path)));
                }
            }
            ActionKind::Choose { branches } => {
                branches.iter().for_each(|(_, actions)| collect(actions, found));
            }
            ActionKind::Foreach(each) => collect(&each.actions, found),
            _ => {}
        }
    }
}
