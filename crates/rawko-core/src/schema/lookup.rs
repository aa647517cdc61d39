//! Static lookups in a schema, without a value: the type of a part, and the possible keys. Chart checks use them, so
//! they claim only properties that every matching value has.

use std::sync::Arc;

use super::{Additional, RulePlace, Schema};
use crate::expr::Type;
use crate::value::Value;

/// References and alternatives that are followed.
const DEPTH_MAX: usize = 16;
const PARTS_MAX: usize = 16;

/// Result of looking up one key in a schema.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldLookup {
    /// Any of these describes the value, if it is there.
    Found(Vec<Schema>),
    /// No claim.
    Open,
    /// No key of this name. `closed`: the schema refuses it; else it merely does not mention it.
    Absent {
        /// True if the schema refuses unknown keys.
        closed: bool,
        /// Keys that the schema names.
        known: Vec<Arc<str>>,
    },
}

impl Schema {
    /// The type of every value that fits, where there is one. Null beside it adds nothing.
    pub fn value_type(&self) -> Type {
        self.type_of(self.part, 0)
    }

    /// Looks up a key.
    pub fn field(&self, key: &str) -> FieldLookup {
        self.lookup(self.part, key, 0)
    }

    /// The schema of a list's items, if all have one.
    pub fn items(&self) -> Option<Schema> {
        let rules = self.rules(self.part);
        let array = rules.array.as_ref().filter(|array| array.prefix.is_empty());
        match (array.and_then(|array| array.items), rules.reference) {
            (Some(part), _) => Some(self.at(part)),
            (None, Some(reference)) if reference != self.part => self.at(reference).items(),
            (None, _) => None,
        }
    }

    /// The keys that a value must have, and those it may have by name.
    pub fn required(&self) -> Vec<Arc<str>> {
        let rules = self.rules(self.part);
        rules.object.as_ref().map(|object| object.required.clone()).unwrap_or_default()
    }

    /// Returns the keys that `properties` names.
    pub fn keys(&self) -> Vec<Arc<str>> {
        let rules = self.rules(self.part);
        let properties = rules.object.iter().flat_map(|object| &object.properties);
        properties.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Returns true if the schema of an object has rules beyond those of its single keys (size, `anyOf`, …).
    pub fn has_joint_rules(&self) -> bool {
        let rules = self.rules(self.part);
        let sized = rules
            .object
            .as_ref()
            .is_some_and(|object| object.size.least.is_some() || object.size.most.is_some());
        let combined = !rules.any_of.is_empty() || !rules.one_of.is_empty() || !rules.all_of.is_empty();
        sized || combined || rules.not.is_some() || rules.reference.is_some()
    }

    fn type_of(&self, part: RulePlace, depth: usize) -> Type {
        let rules = self.rules(part);
        if depth > DEPTH_MAX {
            return Type::Any;
        }
        if let Some(types) = rules.types {
            return match types.0 & !1 {
                0 => Type::Null,
                2 => Type::Bool,
                4 | 8 | 12 => Type::Number,
                16 => Type::String,
                32 => Type::List,
                64 => Type::Map,
                _ => Type::Any,
            };
        }
        if let Some(constant) = &rules.constant {
            return Type::of(constant);
        }
        if let Some(choices) = &rules.choices {
            return common(choices.iter().map(Type::of));
        }
        if let Some(reference) = rules.reference {
            return self.type_of(reference, depth + 1);
        }
        for alternatives in [&rules.any_of, &rules.one_of] {
            if !alternatives.is_empty() {
                return common(alternatives.iter().map(|part| self.type_of(*part, depth + 1)));
            }
        }
        let all = rules.all_of.iter().map(|part| self.type_of(*part, depth + 1));
        all.into_iter().find(|found| *found != Type::Any).unwrap_or(Type::Any)
    }

    fn lookup(&self, part: RulePlace, key: &str, depth: usize) -> FieldLookup {
        let rules = self.rules(part);
        if depth > DEPTH_MAX {
            return FieldLookup::Open;
        }
        let mut all = vec![self.own_field(part, key)];
        all.extend(rules.reference.map(|part| self.lookup(part, key, depth + 1)));
        all.extend(rules.all_of.iter().map(|part| self.lookup(*part, key, depth + 1)));
        for alternatives in [&rules.any_of, &rules.one_of] {
            if !alternatives.is_empty() {
                all.push(any(alternatives.iter().map(|part| self.lookup(*part, key, depth + 1))));
            }
        }
        // All of them hold together: one that knows the key is enough.
        let mut verdict = FieldLookup::Open;
        for found in all {
            verdict = match (verdict, found) {
                (FieldLookup::Found(parts), _) => FieldLookup::Found(parts),
                (_, FieldLookup::Found(parts)) => FieldLookup::Found(parts),
                (known, FieldLookup::Open) => known,
                (FieldLookup::Open, absent) => absent,
                (
                    FieldLookup::Absent { closed, mut known },
                    FieldLookup::Absent { closed: also, known: more },
                ) => {
                    known.extend(more);
                    FieldLookup::Absent { closed: closed || also, known }
                }
            };
        }
        verdict
    }

    fn own_field(&self, part: RulePlace, key: &str) -> FieldLookup {
        let Some(object) = &self.rules(part).object else { return FieldLookup::Open };
        if let Some((_, part)) = object.properties.iter().find(|(name, _)| &**name == key) {
            return FieldLookup::Found(vec![self.at(*part)]);
        }
        let known = || object.properties.iter().map(|(name, _)| Arc::clone(name)).collect();
        match object.additional {
            Additional::Each(part) => FieldLookup::Found(vec![self.at(part)]),
            Additional::Allowed => FieldLookup::Open,
            Additional::Refused => FieldLookup::Absent { closed: true, known: known() },
            Additional::Unstated if object.properties.is_empty() => FieldLookup::Open,
            Additional::Unstated => FieldLookup::Absent { closed: false, known: known() },
        }
    }
}

/// A key that any alternative knows may be there; it is absent only if all agree.
fn any(alternatives: impl Iterator<Item = FieldLookup>) -> FieldLookup {
    let (mut parts, mut names, mut is_open, mut is_closed) = (Vec::new(), Vec::new(), false, true);
    for found in alternatives {
        match found {
            FieldLookup::Found(found) => parts.extend(found),
            FieldLookup::Open => is_open = true,
            FieldLookup::Absent { closed, known } => {
                is_closed &= closed;
                names.extend(known);
            }
        }
    }
    match (parts.is_empty(), is_open) {
        (false, false) if parts.len() <= PARTS_MAX => FieldLookup::Found(parts),
        (false, _) | (true, true) => FieldLookup::Open,
        (true, false) => FieldLookup::Absent { closed: is_closed, known: names },
    }
}

/// The type that all share; null beside another type adds nothing.
fn common(types: impl Iterator<Item = Type>) -> Type {
    let mut shared = Type::Null;
    for found in types {
        shared = match (shared, found) {
            (Type::Null, found) | (found, Type::Null) => found,
            (shared, found) if shared == found => shared,
            _ => return Type::Any,
        };
    }
    shared
}

impl Schema {
    /// The type of a value that is described by any of these.
    pub fn common_type(schemas: &[Schema]) -> Type {
        common(schemas.iter().map(Schema::value_type))
    }

    /// A schema that takes everything.
    pub fn any() -> Schema {
        Schema::compile(&Value::Bool(true)).0
    }
}
