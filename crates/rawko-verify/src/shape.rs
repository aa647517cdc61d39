//! `Shape`: the fields of a value that a chart reads, as a tree; and the values built from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::Value;

/// The fields that are read below a value. Without fields it is read as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    pub(crate) fields: BTreeMap<Arc<str>, Shape>,
}

/// Depth of fields that are built.
const DEPTH_MAX: usize = 6;

impl Shape {
    pub(crate) fn insert(&mut self, path: &[Arc<str>]) {
        if let Some((first, rest)) = path.split_first() {
            self.fields.entry(Arc::clone(first)).or_default().insert(rest);
        }
    }

    /// Adds another shape below a path: the data there is read again elsewhere.
    pub(crate) fn graft(&mut self, path: &[Arc<str>], below: &Shape) {
        match path.split_first() {
            Some((first, rest)) => self.fields.entry(Arc::clone(first)).or_default().graft(rest, below),
            None => self.merge(below),
        }
    }

    pub(crate) fn merge(&mut self, other: &Shape) {
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
