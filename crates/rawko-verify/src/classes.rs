//! `Classes`: representative values by field name. Names that data flows between are one class, so that a constant that
//! a context key is compared with is also tried for the field that the key is assigned from.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::Value;
use rawko_core::expr::DataUseKind;

#[derive(Debug, Default)]
pub(crate) struct Classes {
    parents: BTreeMap<Arc<str>, Arc<str>>,
    uses: BTreeMap<Arc<str>, Vec<DataUseKind>>,
}

impl Classes {
    /// Returns true if the chart needs the field to be a number, a text or a list.
    pub(crate) fn needs_value(&self, name: &str) -> bool {
        let is_typed = |kind: &&DataUseKind| {
            matches!(kind, DataUseKind::Order(_) | DataUseKind::Length(_) | DataUseKind::Number)
        };
        self.uses_of(name).iter().any(is_typed)
    }

    /// Returns true if the field is a condition by itself.
    pub(crate) fn is_condition(&self, name: &str) -> bool {
        self.uses_of(name).contains(&&DataUseKind::Truth)
    }

    pub(crate) fn add(&mut self, name: &Arc<str>, kind: &DataUseKind) {
        let uses = self.uses.entry(Arc::clone(name)).or_default();
        if !uses.contains(kind) {
            uses.push(kind.clone());
        }
    }

    pub(crate) fn join(&mut self, one: &Arc<str>, other: &Arc<str>) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.parents.insert(one, other);
        }
    }

    fn root(&self, name: &Arc<str>) -> Arc<str> {
        let mut at = name;
        while let Some(parent) = self.parents.get(at) {
            at = parent;
        }
        Arc::clone(at)
    }

    fn uses_of(&self, name: &str) -> Vec<&DataUseKind> {
        let root = self.root(&name.into());
        self.uses.iter().filter(|(known, _)| self.root(known) == root).flat_map(|(_, uses)| uses).collect()
    }

    /// Returns true if the chart distinguishes values of this field.
    pub(crate) fn is_distinguished(&self, name: &str) -> bool {
        self.uses_of(name).iter().any(|kind| !matches!(kind, DataUseKind::Flow | DataUseKind::Text))
    }

    /// Returns true if the chart compares this field with constants and does nothing else with it.
    pub(crate) fn is_exact(&self, name: &str) -> bool {
        let is_compared = |kind: &&DataUseKind| {
            use DataUseKind::{Equal, Flow, Member, Order, Truth};
            matches!(kind, Truth | Equal(_) | Order(_) | Member(_) | Flow)
        };
        self.is_distinguished(name) && self.uses_of(name).iter().all(is_compared)
    }

    /// Returns one value of each kind that the chart distinguishes; a single one if it distinguishes none.
    pub(crate) fn values(&self, name: &str) -> Vec<Value> {
        let mut values = ClassValues::default();
        for kind in self.uses_of(name) {
            match kind {
                DataUseKind::Truth => values.truth(),
                DataUseKind::Equal(value) => values.equal(value),
                DataUseKind::Member(members) => members.iter().for_each(|value| values.equal(value)),
                DataUseKind::Order(value) => values.order(value),
                DataUseKind::Length(length) => values.lengths.push(*length),
                DataUseKind::Number => values.is_number = true,
                DataUseKind::Text => values.is_text = true,
                DataUseKind::Flow | DataUseKind::Opaque => {}
            }
        }
        values.finish()
    }
}

#[derive(Default)]
struct ClassValues {
    found: Vec<Value>,
    /// Numbers that the field is compared with.
    numbers: Vec<Value>,
    /// One of them is compared by order, so that numbers between two of them make a difference.
    is_ordered: bool,
    lengths: Vec<i64>,
    /// Texts that the field is compared with by order.
    ordered_texts: Vec<Arc<str>>,
    has_text: bool,
    has_null: bool,
    is_number: bool,
    is_text: bool,
}

impl ClassValues {
    fn push(&mut self, value: Value) {
        if !self.found.iter().any(|known| known.is_identical(&value)) {
            self.found.push(value);
        }
    }

    fn truth(&mut self) {
        self.push(Value::Bool(true));
        self.push(Value::Bool(false));
    }

    fn equal(&mut self, value: &Value) {
        match value {
            // Neither true nor false: the field may be missing.
            Value::Bool(_) => {
                self.has_null = true;
                self.truth();
            }
            Value::Null => self.has_null = true,
            Value::Str(_) => {
                self.has_text = true;
                self.push(value.clone());
            }
            Value::Int(_) | Value::Float(_) => self.numbers.push(value.clone()),
            Value::List(_) | Value::Map(_) => {
                self.has_null = true;
                self.push(value.clone());
            }
        }
    }

    fn order(&mut self, value: &Value) {
        match value {
            Value::Int(_) | Value::Float(_) => {
                self.is_ordered = true;
                self.numbers.push(value.clone());
            }
            Value::Str(text) => {
                self.ordered_texts.push(Arc::clone(text));
                self.equal(value);
            }
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => {}
        }
    }

    /// Adds each number, one below, one above, and one between each two of them.
    fn finish_numbers(&mut self) {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.sort_by(in_order);
        numbers.dedup_by(|one, other| in_order(one, other).is_eq());
        let (Some(least), Some(most)) = (numbers.first().cloned(), numbers.last().cloned()) else { return };
        let mut tried = vec![below(&least)];
        let mut fractions = Vec::new();
        for (at, number) in numbers.iter().enumerate() {
            tried.push(number.clone());
            let Some(next) = numbers.get(at + 1) else { continue };
            match whole_between(number, next) {
                Some(between) => tried.push(between),
                None if self.is_ordered => {
                    // Half of each: their difference may be too large for a number.
                    fractions.push(Value::float(size(number) / 2.0 + size(next) / 2.0));
                }
                None => {}
            }
        }
        tried.push(above(&most));
        tried.into_iter().chain(fractions).for_each(|number| self.push(number));
    }

    fn finish(mut self) -> Vec<Value> {
        self.finish_numbers();
        for length in std::mem::take(&mut self.lengths) {
            for length in [length - 1, length, length + 1].into_iter().filter_map(|n| usize::try_from(n).ok())
            {
                self.push(Value::list(vec![Value::Null; length]));
            }
        }
        for text in std::mem::take(&mut self.ordered_texts) {
            self.push(Value::str(""));
            self.push(Value::from(format!("{text}a")));
        }
        if self.has_text {
            let mut other = "another".to_owned();
            while self.found.iter().any(|known| known.as_str() == Some(&other)) {
                other.push('2');
            }
            self.push(Value::from(other));
        }
        if self.found.is_empty() {
            let sample = match (self.is_number, self.is_text || self.has_null) {
                (true, _) => Some(Value::Int(1)),
                (false, true) => Some(Value::str("text")),
                (false, false) => None,
            };
            sample.into_iter().for_each(|value| self.push(value));
        }
        // Nothing can be divided by it.
        if self.is_number {
            self.push(Value::Int(0));
        }
        if self.has_null || self.found.is_empty() {
            self.push(Value::Null);
        }
        self.found
    }
}

/// Floating point numbers from here on have no fractions, and not every whole number is one.
const WHOLE_MAX: f64 = 9e15;

fn size(number: &Value) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// Whole numbers that are too large to be exact as floating point numbers differ nevertheless.
fn in_order(one: &Value, other: &Value) -> Ordering {
    let whole = |number: &Value| match number {
        Value::Int(number) if size(&Value::Int(*number)).abs() >= WHOLE_MAX => Some(*number),
        _ => None,
    };
    size(one).total_cmp(&size(other)).then_with(|| whole(one).cmp(&whole(other)))
}

/// Returns a number below: a whole one, if one is near.
fn below(number: &Value) -> Value {
    match number {
        Value::Int(number) => number.checked_sub(1).map_or_else(|| far(*number as f64, -1.0), Value::Int),
        other if size(other).abs() < WHOLE_MAX => Value::Int((size(other).ceil() - 1.0) as i64),
        other => far(size(other), -1.0),
    }
}

/// Returns a number above: a whole one, if one is near.
fn above(number: &Value) -> Value {
    match number {
        Value::Int(number) => number.checked_add(1).map_or_else(|| far(*number as f64, 1.0), Value::Int),
        other if size(other).abs() < WHOLE_MAX => Value::Int((size(other).floor() + 1.0) as i64),
        other => far(size(other), 1.0),
    }
}

/// Returns a large number further up or down: the double or the half, as far as there is one.
fn far(number: f64, sign: f64) -> Value {
    let further = if number * sign > 0.0 { number * 2.0 } else { number / 2.0 };
    Value::float(further.clamp(f64::MIN, f64::MAX))
}

/// Returns the first whole number between two numbers, if there is one.
fn whole_between(one: &Value, other: &Value) -> Option<Value> {
    let next = above(one);
    let is_below = match (&next, other) {
        (Value::Int(next), Value::Int(other)) => next < other,
        (next, other) => in_order(next, other).is_lt(),
    };
    is_below.then_some(next)
}
