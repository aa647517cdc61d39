//! `ReadShape`: the fields of a value that a chart reads, as a tree; and the values built from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::expr::{DataUseKind, SubjectRoot};
use rawko_core::{Slot, Value};

use crate::parts::{ChartPart, PartKind};

/// The fields that are read below a value. Without fields it is read as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReadShape {
    pub(crate) fields: BTreeMap<Arc<str>, ReadShape>,
    /// The value itself is compared, besides its fields.
    pub(crate) is_compared: bool,
}

/// Depth of fields that are built.
const DEPTH_MAX: usize = 6;
/// Copies between context keys that are followed.
const COPIES_MAX: usize = 32;

impl ReadShape {
    pub(crate) fn insert(&mut self, path: &[Arc<str>], kind: &DataUseKind) {
        match path.split_first() {
            Some((first, rest)) => self.fields.entry(Arc::clone(first)).or_default().insert(rest, kind),
            None => self.is_compared |= *kind != DataUseKind::Flow,
        }
    }

    fn depth(&self) -> usize {
        self.fields.values().map(|field| 1 + field.depth()).max().unwrap_or(0)
    }

    /// Returns true if fields are read that are too deep to be built.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.depth() > DEPTH_MAX
    }

    /// Returns the paths of values that are compared and have fields, innermost first.
    pub(crate) fn wholes(&self) -> Vec<Vec<Arc<str>>> {
        let mut wholes = Vec::new();
        self.collect_wholes(&mut Vec::new(), &mut wholes);
        wholes
    }

    fn collect_wholes(&self, path: &mut Vec<Arc<str>>, wholes: &mut Vec<Vec<Arc<str>>>) {
        if self.fields.is_empty() || path.len() >= DEPTH_MAX {
            return;
        }
        for (name, shape) in &self.fields {
            path.push(Arc::clone(name));
            shape.collect_wholes(path, wholes);
            path.pop();
        }
        if self.is_compared {
            wholes.push(path.clone());
        }
    }

    /// Adds another shape below a path: the data there is read again elsewhere.
    pub(crate) fn graft(&mut self, path: &[Arc<str>], below: &ReadShape) {
        match path.split_first() {
            Some((first, rest)) => self.fields.entry(Arc::clone(first)).or_default().graft(rest, below),
            None => self.merge(below),
        }
    }

    pub(crate) fn merge(&mut self, other: &ReadShape) {
        self.is_compared |= other.is_compared;
        for (name, shape) in &other.fields {
            self.fields.entry(Arc::clone(name)).or_default().merge(shape);
        }
    }

    /// Returns the paths of the innermost fields.
    pub(crate) fn leaves(&self) -> Vec<Vec<Arc<str>>> {
        let mut leaves = Vec::new();
        self.collect(&mut Vec::new(), &mut leaves);
        leaves
    }

    fn collect(&self, path: &mut Vec<Arc<str>>, leaves: &mut Vec<Vec<Arc<str>>>) {
        if self.fields.is_empty() || path.len() >= DEPTH_MAX {
            leaves.push(path.clone());
            return;
        }
        for (name, shape) in &self.fields {
            path.push(Arc::clone(name));
            shape.collect(path, leaves);
            path.pop();
        }
    }
}

/// Writes a value at a path, with maps on the way. Null leaves the field out.
pub(crate) fn put(into: &mut Value, path: &[Arc<str>], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *into = value;
        return;
    };
    let mut map = into.as_map().cloned().unwrap_or_default();
    if rest.is_empty() && value.is_null() {
        map.shift_remove(first);
        *into = if into.is_null() { Value::Null } else { Value::Map(Arc::new(map)) };
        return;
    }
    let mut inner = map.get(first).cloned().unwrap_or_default();
    put(&mut inner, rest, value);
    map.insert(Arc::clone(first), inner);
    *into = Value::Map(Arc::new(map));
}

/// The fields that are read below each context key, also after it was copied to another. False if these are not all: a
/// key is assigned from below itself.
pub(crate) fn slot_shapes(parts: &[ChartPart<'_>]) -> (BTreeMap<Slot, ReadShape>, bool) {
    let mut slots: BTreeMap<Slot, ReadShape> = BTreeMap::new();
    for usage in parts.iter().flat_map(|part| part.expr.data_uses(part.is_condition())) {
        if let SubjectRoot::Context(slot) = usage.subject.root {
            slots.entry(slot).or_default().insert(&usage.subject.path, &usage.kind);
        }
    }
    for _ in 0..COPIES_MAX {
        let before = slots.clone();
        for part in parts {
            if let (PartKind::Assign(to), Some(subject)) = (&part.kind, part.expr.subject())
                && let SubjectRoot::Context(from) = subject.root
                && let Some(below) = slots.get(to).cloned()
            {
                slots.entry(from).or_default().graft(&subject.path, &below);
            }
        }
        if slots == before {
            return (slots, true);
        }
        if slots.values().any(ReadShape::is_too_deep) {
            break;
        }
    }
    (slots, false)
}
