//! Compiles a schema to rules. References within the schema become part indices; unsupported keywords are reported.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    Additional, ArrayRules, Compiled, JsonTypes, LengthRules, NumberRules, ObjectRules, RulePlace, Schema,
    SchemaProblem, SchemaProblemKind, SchemaRules,
};
use crate::value::{Map, Value};

/// Schemas in a schema, one inside another.
const DEPTH_MAX: usize = 64;
/// Schema objects in all.
const PARTS_MAX: usize = 10_000;

/// Keywords that describe, or that only hold parts for references.
const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$anchor",
];

pub(super) fn compile(source: &Value) -> (Schema, Vec<SchemaProblem>) {
    let mut compiler = Compiler {
        source,
        rules: Vec::new(),
        references: FxHashMap::default(),
        path: Vec::new(),
        problems: Vec::new(),
    };
    let part = compiler.part(source);
    let compiled = Arc::new(Compiled { source: source.clone(), rules: compiler.rules });
    (Schema { compiled, part }, compiler.problems)
}

struct Compiler<'s> {
    source: &'s Value,
    rules: Vec<SchemaRules>,
    /// References met so far: a schema may refer to itself.
    references: FxHashMap<String, RulePlace>,
    path: Vec<String>,
    problems: Vec<SchemaProblem>,
}

impl<'s> Compiler<'s> {
    fn part(&mut self, schema: &'s Value) -> RulePlace {
        let part = RulePlace(self.rules.len() as u32);
        self.rules.push(SchemaRules::default());
        self.fill(part, schema);
        part
    }

    fn fill(&mut self, part: RulePlace, schema: &'s Value) {
        if self.path.len() > DEPTH_MAX * 2 || self.rules.len() > PARTS_MAX {
            self.problem(SchemaProblemKind::Invalid, "the schema is too large or nested too deeply");
            return;
        }
        let rules = match schema {
            Value::Bool(fits) => SchemaRules { never: !fits, ..SchemaRules::default() },
            Value::Map(map) => self.object(map),
            _ => {
                let message = format!("a schema is a map or a boolean, not {}", article(schema));
                self.problem(SchemaProblemKind::Invalid, message);
                SchemaRules::default()
            }
        };
        self.rules[part.0 as usize] = rules;
    }

    fn object(&mut self, map: &'s Map) -> SchemaRules {
        let mut rules = SchemaRules::default();
        for (keyword, value) in map {
            self.path.push(keyword.to_string());
            self.keyword(keyword, value, &mut rules);
            self.path.pop();
        }
        rules
    }

    fn keyword(&mut self, keyword: &str, value: &'s Value, rules: &mut SchemaRules) {
        match keyword {
            "type" => rules.types = self.types(value),
            "const" => rules.constant = Some(value.clone()),
            "enum" => match value.as_list() {
                Some(choices) => rules.choices = Some(choices.to_vec()),
                None => self.wrong("a list"),
            },
            "$ref" => rules.reference = self.reference(value),
            "allOf" => rules.all_of = self.parts(value),
            "anyOf" => rules.any_of = self.parts(value),
            "oneOf" => rules.one_of = self.parts(value),
            "not" => rules.not = Some(self.part(value)),
            "properties" | "required" | "additionalProperties" | "minProperties" | "maxProperties" => {
                self.object_keyword(keyword, value, rules.object.get_or_insert_default());
            }
            "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" => {
                self.array_keyword(keyword, value, rules.array.get_or_insert_default());
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                self.number_keyword(keyword, value, rules.number.get_or_insert_default());
            }
            "minLength" => rules.text.get_or_insert_default().least = self.count(value),
            "maxLength" => rules.text.get_or_insert_default().most = self.count(value),
            other if ANNOTATIONS.contains(&other) || other.starts_with("x-") => {}
            other => {
                self.problem(SchemaProblemKind::Unsupported, format!("`{other}` is not enforced here"));
            }
        }
    }

    fn object_keyword(&mut self, keyword: &str, value: &'s Value, rules: &mut ObjectRules) {
        match keyword {
            "properties" => {
                let Some(map) = value.as_map() else { return self.wrong("a map") };
                for (name, schema) in map {
                    self.path.push(name.to_string());
                    let part = self.part(schema);
                    self.path.pop();
                    rules.properties.push((Arc::clone(name), part));
                }
            }
            "required" => match value.as_list() {
                Some(names) => {
                    rules.required = names.iter().filter_map(Value::as_str).map(Into::into).collect()
                }
                None => self.wrong("a list of names"),
            },
            "additionalProperties" => {
                rules.additional = match value {
                    Value::Bool(true) => Additional::Allowed,
                    Value::Bool(false) => Additional::Refused,
                    schema => Additional::Each(self.part(schema)),
                };
            }
            "minProperties" => rules.size.least = self.count(value),
            _ => rules.size.most = self.count(value),
        }
    }

    fn array_keyword(&mut self, keyword: &str, value: &'s Value, rules: &mut ArrayRules) {
        match keyword {
            // A list is how drafts before 2020-12 wrote `prefixItems`.
            "items" if value.as_list().is_some() => rules.prefix = self.parts(value),
            "items" => rules.items = Some(self.part(value)),
            "prefixItems" => rules.prefix = self.parts(value),
            "uniqueItems" => rules.unique = value.as_bool().unwrap_or(false),
            "minItems" => rules.size.least = self.count(value),
            _ => rules.size.most = self.count(value),
        }
    }

    fn number_keyword(&mut self, keyword: &str, value: &'s Value, rules: &mut NumberRules) {
        let number = value.as_f64();
        if number.is_none() {
            self.wrong("a number");
        }
        match keyword {
            "minimum" => rules.minimum = number,
            "maximum" => rules.maximum = number,
            "exclusiveMinimum" => rules.above = number,
            "exclusiveMaximum" => rules.below = number,
            _ => rules.multiple_of = number.filter(|number| *number > 0.0),
        }
    }

    fn types(&mut self, value: &Value) -> Option<JsonTypes> {
        let one = std::slice::from_ref(value);
        let words = value.as_list().unwrap_or(one);
        let mut types = JsonTypes::default();
        for word in words {
            match word.as_str().and_then(JsonTypes::word) {
                Some(known) => types = types.and(known),
                None => {
                    let known: Vec<&str> = JsonTypes::WORDS.iter().map(|(word, _)| *word).collect();
                    let message = format!("`{word}` is not a type; the types are {}", known.join(", "));
                    self.problem(SchemaProblemKind::Invalid, message);
                    return None;
                }
            }
        }
        Some(types)
    }

    fn parts(&mut self, value: &'s Value) -> Vec<RulePlace> {
        let Some(items) = value.as_list() else {
            self.wrong("a list of schemas");
            return Vec::new();
        };
        let mut parts = Vec::new();
        for (number, schema) in items.iter().enumerate() {
            self.path.push(number.to_string());
            parts.push(self.part(schema));
            self.path.pop();
        }
        parts
    }

    /// `#` and `#/…` only: a schema is whole in itself.
    fn reference(&mut self, value: &Value) -> Option<RulePlace> {
        let pointer = value.as_str().and_then(|text| text.strip_prefix('#'));
        let Some(target) = pointer.and_then(|pointer| self.pointed(pointer)) else {
            let message = format!("`{value}` does not resolve in this schema");
            self.problem(SchemaProblemKind::Invalid, message);
            return None;
        };
        let pointer = pointer.unwrap_or_default().to_owned();
        if let Some(part) = self.references.get(&pointer) {
            return Some(*part);
        }
        let part = RulePlace(self.rules.len() as u32);
        self.rules.push(SchemaRules::default());
        self.references.insert(pointer, part);
        self.fill(part, target);
        Some(part)
    }

    fn pointed(&self, pointer: &str) -> Option<&'s Value> {
        let mut at = self.source;
        for key in pointer.split('/').skip(1) {
            let key = key.replace("~1", "/").replace("~0", "~");
            at = match at {
                Value::Map(map) => map.get(key.as_str())?,
                Value::List(items) => items.get(key.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(at)
    }

    fn count(&mut self, value: &Value) -> Option<u64> {
        let count = value.as_i64().and_then(|count| u64::try_from(count).ok());
        if count.is_none() {
            self.wrong("a whole number of at least 0");
        }
        count
    }

    fn wrong(&mut self, expected: &str) {
        let keyword = self.path.last().cloned().unwrap_or_default();
        self.problem(SchemaProblemKind::Invalid, format!("`{keyword}` needs {expected}"));
    }

    fn problem(&mut self, kind: SchemaProblemKind, message: impl Into<String>) {
        self.problems.push(SchemaProblem { path: self.path.clone(), message: message.into(), kind });
    }
}

fn article(value: &Value) -> String {
    crate::expr::with_article(value.type_name())
}

impl LengthRules {
    pub(super) fn broken_by(self, count: u64, unit: &str) -> Option<String> {
        match self {
            LengthRules { least: Some(least), .. } if count < least => {
                Some(format!("expected at least {least} {unit}, found {count}"))
            }
            LengthRules { most: Some(most), .. } if count > most => {
                Some(format!("expected at most {most} {unit}, found {count}"))
            }
            LengthRules { .. } => None,
        }
    }
}
