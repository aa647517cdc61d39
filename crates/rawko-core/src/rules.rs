//! `ContextRules`: the context's schema as steps enforce it. Each key has its own part, so that an assignment costs no
//! more than checking the values it writes; rules over several keys look at the whole context.

use crate::blueprint::ContextKey;
use crate::chart::Chart;
use crate::ids::Slot;
use crate::schema::{FieldLookup, Schema, Violation};
use crate::snapshot::Snapshot;
use crate::value::{Map, Value};

#[derive(Debug)]
pub(crate) struct ContextRules {
    schema: Schema,
    keys: Vec<KeyRules>,
    names: Vec<std::sync::Arc<str>>,
    /// True if the schema has rules beyond those of its single keys.
    joint: bool,
}

#[derive(Debug)]
struct KeyRules {
    /// Schemas of which one must fit; empty for anything.
    any_of: Vec<Schema>,
    /// The key may be null: it begins so, and the schema does not require it.
    may_be_null: bool,
    /// The schema refuses this key by name.
    refused: bool,
}

impl ContextRules {
    pub(crate) fn new(schema: Schema, context: &[ContextKey]) -> Self {
        let required = schema.required();
        let keys = context.iter().map(|key| {
            let may_be_null = key.initial.is_null() && !required.contains(&key.name);
            match schema.field(&key.name) {
                FieldLookup::Found(any_of) => KeyRules { any_of, may_be_null, refused: false },
                FieldLookup::Open | FieldLookup::Absent { closed: false, .. } => {
                    KeyRules { any_of: Vec::new(), may_be_null: true, refused: false }
                }
                FieldLookup::Absent { closed: true, .. } => {
                    KeyRules { any_of: Vec::new(), may_be_null, refused: !key.declared }
                }
            }
        });
        let keys = keys.collect();
        let names = context.iter().map(|key| key.name.clone()).collect();
        Self { joint: schema.has_joint_rules(), schema, keys, names }
    }

    /// Why these values may not be written over the context together; `None` if they may.
    pub(crate) fn refuse<'v>(
        &self,
        context: &[Value],
        updates: impl Iterator<Item = (Slot, &'v Value)> + Clone,
    ) -> Option<String> {
        for (slot, value) in updates.clone() {
            if let Some(violations) = self.key_violations(slot, value) {
                return Some(self.words(slot, &violations));
            }
        }
        if !self.joint {
            return None;
        }
        let mut after = context.to_vec();
        for (slot, value) in updates {
            if let Some(place) = after.get_mut(slot.index()) {
                *place = value.clone();
            }
        }
        // A key that is null counts as one that is not there.
        let present = self.names.iter().zip(after).filter(|(_, value)| !value.is_null());
        let whole = Value::Map(present.map(|(name, value)| (name.clone(), value)).collect::<Map>().into());
        let violations = self.schema.violations(&whole);
        let first = violations.first()?;
        Some(format!("the context does not match its schema: {first}"))
    }

    fn key_violations(&self, slot: Slot, value: &Value) -> Option<Vec<Violation>> {
        let rules = self.keys.get(slot.index())?;
        if rules.refused {
            let message = "the schema has no such key".to_owned();
            return Some(vec![Violation { path: String::new(), message }]);
        }
        if value.is_null() && rules.may_be_null {
            return None;
        }
        let mut first = None;
        for schema in &rules.any_of {
            let violations = schema.violations(value);
            if violations.is_empty() {
                return None;
            }
            first.get_or_insert(violations);
        }
        first
    }

    fn words(&self, slot: Slot, violations: &[Violation]) -> String {
        let name = self.names.get(slot.index()).map_or("?", |name| name);
        let first = violations.first();
        let (path, message) = first.map_or(("", ""), |first| (first.path.as_str(), first.message.as_str()));
        format!("`context.{name}{path}` does not match the context's schema: {message}")
    }
}

impl Chart {
    /// Why a key of the context may not have this value, by the context's schema; `None` if it may.
    pub fn refuse_value(&self, snapshot: &Snapshot, key: &str, value: &Value) -> Option<String> {
        let slot = self.context_names().iter().position(|name| &**name == key)?;
        let update = std::iter::once((Slot(slot as u32), value));
        self.context_rules.as_ref()?.refuse(snapshot.context(), update)
    }
}
