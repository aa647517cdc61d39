//! `Classes`: representative values by field name. Names that data flows between are one class, so that a constant that
//! a context key is compared with is also tried for the field that the key is assigned from.

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
        let mut values = Values::default();
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
struct Values {
    found: Vec<Value>,
    numbers: Vec<i64>,
    lengths: Vec<i64>,
    has_text: bool,
    has_null: bool,
    is_number: bool,
    is_text: bool,
}

impl Values {
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
            Value::Bool(_) => self.truth(),
            Value::Null => self.has_null = true,
            Value::Str(_) => {
                self.has_text = true;
                self.push(value.clone());
            }
            Value::Int(_) | Value::Float(_) => self.order(value),
            Value::List(_) | Value::Map(_) => self.push(value.clone()),
        }
    }

    fn order(&mut self, value: &Value) {
        match value {
            Value::Int(number) => self.numbers.push(*number),
            Value::Float(number) => {
                for value in [number - 1.0, *number, number + 1.0] {
                    self.push(Value::float(value));
                }
            }
            Value::Str(_) => self.equal(value),
            _ => {}
        }
    }

    fn finish(mut self) -> Vec<Value> {
        self.numbers.sort_unstable();
        self.numbers.dedup();
        if let Some(least) = self.numbers.first().copied() {
            let mut tried = vec![least.saturating_sub(1)];
            for number in std::mem::take(&mut self.numbers) {
                tried.extend([number, number.saturating_add(1)]);
            }
            tried.sort_unstable();
            tried.dedup();
            tried.into_iter().for_each(|number| self.push(Value::Int(number)));
        }
        for length in std::mem::take(&mut self.lengths) {
            for length in [length - 1, length, length + 1].into_iter().filter_map(|n| usize::try_from(n).ok())
            {
                self.push(Value::list(vec![Value::Null; length]));
            }
        }
        if self.has_text {
            self.push(Value::str("another"));
        }
        if self.found.is_empty() {
            let sample = match (self.is_number, self.is_text || self.has_null) {
                (true, _) => Some(Value::Int(1)),
                (false, true) => Some(Value::str("text")),
                (false, false) => None,
            };
            sample.into_iter().for_each(|value| self.push(value));
        }
        if self.has_null || self.found.is_empty() {
            self.push(Value::Null);
        }
        self.found
    }
}
