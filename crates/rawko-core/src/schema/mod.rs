//! `Schema`: JSON Schema as far as charts need it, compiled once. A validator of our own because this crate runs at every
//! commit without IO: it has no formats, no regular expressions and no remote references, and its cost is bounded.
//! Keywords it does not know are reported when a schema is compiled, never skipped in silence.

mod compile;
mod lookup;
mod shape;
mod validate;

use std::fmt;
use std::sync::Arc;

pub use lookup::FieldLookup;
use serde::{Deserialize, Serialize};
pub use shape::schema_of;

use crate::value::Value;

/// A compiled schema, or a part of one. Cloning is cheap.
#[derive(Clone)]
pub struct Schema {
    compiled: Arc<Compiled>,
    part: RulePlace,
}

/// One value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// `.items[3].price`; empty for the value itself.
    pub path: String,
    /// The problem: `expected a number, found a string`.
    pub message: String,
}

/// A problem of a schema itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaProblem {
    /// The keys that lead to the place.
    pub path: Vec<String>,
    /// One sentence without the path.
    pub message: String,
    /// Class of the problem; readers map it to a finding code.
    pub kind: SchemaProblemKind,
}

/// The class of a schema problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaProblemKind {
    /// The keyword's value means nothing.
    Invalid,
    /// The keyword means something elsewhere, but is not enforced here.
    Unsupported,
}

#[derive(Debug)]
struct Compiled {
    source: Value,
    rules: Vec<SchemaRules>,
}

/// The place of a part's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RulePlace(u32);

/// Rules of one schema object.
#[derive(Clone, Debug, Default)]
struct SchemaRules {
    /// `false` as a schema: nothing fits.
    never: bool,
    reference: Option<RulePlace>,
    types: Option<JsonTypes>,
    constant: Option<Value>,
    choices: Option<Vec<Value>>,
    object: Option<Box<ObjectRules>>,
    array: Option<Box<ArrayRules>>,
    number: Option<Box<NumberRules>>,
    text: Option<LengthRules>,
    all_of: Vec<RulePlace>,
    any_of: Vec<RulePlace>,
    one_of: Vec<RulePlace>,
    not: Option<RulePlace>,
}

#[derive(Clone, Debug, Default)]
struct ObjectRules {
    properties: Vec<(Arc<str>, RulePlace)>,
    required: Vec<Arc<str>>,
    additional: Additional,
    size: LengthRules,
}

/// Keys that `properties` does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Additional {
    /// Not stated: they are allowed, but reading one is probably a slip.
    #[default]
    Unstated,
    Allowed,
    Refused,
    Each(RulePlace),
}

#[derive(Clone, Debug, Default)]
struct ArrayRules {
    /// One for each of the first items.
    prefix: Vec<RulePlace>,
    items: Option<RulePlace>,
    unique: bool,
    size: LengthRules,
}

#[derive(Clone, Debug, Default)]
struct NumberRules {
    minimum: Option<f64>,
    maximum: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    multiple_of: Option<f64>,
}

/// Characters, items or keys.
#[derive(Clone, Copy, Debug, Default)]
struct LengthRules {
    least: Option<u64>,
    most: Option<u64>,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct JsonTypes(u8);

impl JsonTypes {
    const WORDS: [(&'static str, u8); 7] = [
        ("null", 1),
        ("boolean", 2),
        ("integer", 4),
        ("number", 8 | 4),
        ("string", 16),
        ("array", 32),
        ("object", 64),
    ];

    fn word(word: &str) -> Option<JsonTypes> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, bits)| JsonTypes(*bits))
    }

    fn of(value: &Value) -> JsonTypes {
        JsonTypes(match value {
            Value::Null => 1,
            Value::Bool(_) => 2,
            Value::Int(_) => 4,
            Value::Float(number) if number.fract() == 0.0 => 4 | 8,
            Value::Float(_) => 8,
            Value::Str(_) => 16,
            Value::List(_) => 32,
            Value::Map(_) => 64,
        })
    }

    fn and(self, other: JsonTypes) -> JsonTypes {
        JsonTypes(self.0 | other.0)
    }

    fn meets(self, other: JsonTypes) -> bool {
        self.0 & other.0 != 0
    }
}

impl Schema {
    /// Compiles a schema. What cannot be used enforces nothing and is reported.
    pub fn compile(source: &Value) -> (Schema, Vec<SchemaProblem>) {
        compile::compile(source)
    }

    /// Everything that is wrong with a value, up to a bound; nothing if it fits.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        validate::violations(&self.compiled.rules, self.part, value)
    }

    /// As it was written; for a part, the whole that it is a part of.
    pub fn source(&self) -> &Value {
        &self.compiled.source
    }

    fn rules(&self, part: RulePlace) -> &SchemaRules {
        &self.compiled.rules[part.0 as usize]
    }

    fn at(&self, part: RulePlace) -> Schema {
        Schema { compiled: Arc::clone(&self.compiled), part }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({} at {})", self.compiled.source, self.part.0)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.part == other.part && self.compiled.source == other.compiled.source
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "`{}`: {}", self.path.trim_start_matches('.'), self.message)
    }
}
