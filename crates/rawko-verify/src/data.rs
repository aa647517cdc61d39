//! The data that events and results are tried with: one value for each combination that the chart distinguishes, within
//! the declared schema.

use std::sync::Arc;

use rawko_core::{Schema, Value, expr};

use crate::analysis::{DATA, DataAnalysis};
use crate::shape::{ReadShape, put};

/// Combinations of one event's fields that are tried; beyond it, fields are varied one at a time.
const COMBINATIONS_MAX: usize = 64;

/// Values to try, and whether they cover every distinction that the chart makes.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    pub(crate) values: Vec<Value>,
    pub(crate) complete: bool,
}

impl DataAnalysis {
    /// Returns the fields that are read when an event of this name is bound.
    pub(crate) fn shape_of(&self, event: &str) -> ReadShape {
        let mut shape = ReadShape::default();
        for (pattern, fields) in &self.shapes {
            if matches(pattern, event) {
                shape.merge(fields);
            }
        }
        shape
    }

    /// Returns the data to try for an event, beginning with what `base` has.
    pub(crate) fn data_of(&self, event: &str, base: &Value, schema: Option<&Schema>) -> Choices {
        let shape = self.shape_of(event);
        let mut axes: Vec<(Vec<Arc<str>>, Vec<Value>)> = Vec::new();
        let mut is_covered = !shape.is_too_deep();
        for path in shape.leaves() {
            let name = path.last().map_or(DATA, |name| &**name);
            // The message of a failure may be any.
            let is_any = name == "message" && self.classes.is_distinguished(name);
            let is_fixed = is_given(base, &path) && !is_any;
            let mut values = self.classes.values(name);
            let is_optional = schema.is_none_or(|schema| !is_required(schema.source(), &path));
            if is_optional && self.classes.needs_value(name) {
                values.push(Value::Null);
            }
            // A condition that is neither true nor false nor missing fails.
            if self.sees_faults && schema.is_none() && self.classes.is_condition(name) {
                values.push(Value::str("text"));
            }
            if let Some(schema) = schema
                && self.classes.is_distinguished(name)
            {
                let inner = at(schema.source(), &path);
                fill(&mut values, inner);
                values.extend(finite(inner));
                values.extend(ends(inner));
                is_covered &= is_fixed || covers(inner, &values);
            }
            let listed = schema.and_then(|schema| self.enumerated.values(event, &path, schema.source()));
            let values = listed.unwrap_or(values);
            let mut distinct: Vec<Value> = Vec::new();
            for value in values {
                if !distinct.iter().any(|known| known.is_identical(&value)) {
                    distinct.push(value);
                }
            }
            let values = distinct;
            if !is_fixed && (values.len() > 1 || !values[0].is_null()) {
                axes.push((path, values));
            }
        }
        let start = match schema {
            Some(schema) if base.is_null() => sample(schema.source()),
            _ => base.clone(),
        };
        let (mut values, mut complete) = combine(&start, &axes);
        complete &= is_covered;
        for path in shape.wholes().into_iter().filter(|path| !is_given(base, path)) {
            complete &= self.add_wholes(&path, &mut values);
        }
        if let Some(schema) = schema {
            let tried = values.len();
            values = values.into_iter().filter_map(|value| accepted(schema, value, &axes)).collect();
            let are_all = values.len() == tried || is_plain(schema.source());
            if values.is_empty() && schema.violations(&start).is_empty() {
                values.push(start);
            }
            complete &= !values.is_empty() && are_all;
        }
        Choices { values, complete }
    }

    /// Adds data with something else in the place of a value whose fields are read. Returns false if it is too much.
    fn add_wholes(&self, path: &[Arc<str>], values: &mut Vec<Value>) -> bool {
        let name = path.last().map_or(DATA, |name| &**name);
        // Maps, too, that the chart compares it with.
        let others: Vec<Value> = self.classes.values(name);
        let mut added: Vec<Value> = Vec::new();
        for (value, other) in values.iter().flat_map(|value| others.iter().map(move |other| (value, other))) {
            let mut value = value.clone();
            put(&mut value, path, other.clone());
            if !values.iter().chain(&added).any(|known| known.is_identical(&value)) {
                added.push(value);
            }
        }
        let fits = values.len() + added.len() <= 2 * COMBINATIONS_MAX;
        added.truncate((2 * COMBINATIONS_MAX).saturating_sub(values.len()));
        values.extend(added);
        fits
    }
}

/// Returns true if the data of an outcome already has a value at a path.
fn is_given(base: &Value, path: &[Arc<str>]) -> bool {
    match path.first() {
        None => !base.is_null(),
        Some(first) => !base.get(first).is_null() && (path.len() == 1 || base.get(first).as_map().is_none()),
    }
}

/// Returns the value if the schema accepts it, or the same with null in place of fields that are left out.
fn accepted(schema: &Schema, value: Value, axes: &[(Vec<Arc<str>>, Vec<Value>)]) -> Option<Value> {
    if schema.violations(&value).is_empty() {
        return Some(value);
    }
    let mut with_nulls = value;
    for (path, _) in axes {
        let Some((last, above)) = path.split_last() else { continue };
        let parent = above.iter().fold(&with_nulls, |value, name| value.get(name));
        if let Some(map) = parent.as_map().filter(|map| !map.contains_key(last)) {
            let mut map = map.clone();
            map.insert(Arc::clone(last), Value::Null);
            put(&mut with_nulls, above, Value::Map(Arc::new(map)));
        }
    }
    schema.violations(&with_nulls).is_empty().then_some(with_nulls)
}

/// Keywords of the schema of a map under which its fields are independent of one another.
const PLAIN_RULES: [&str; 10] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "title",
    "description",
    "default",
    "examples",
    "$schema",
    "$id",
];

/// Returns true if a map is refused only because of one of its fields.
fn is_plain(schema: &Value) -> bool {
    let Some(properties) = schema.get("properties").as_map() else {
        return FINE_RULES.iter().all(|rule| schema.get(rule).is_null());
    };
    let rules = schema.as_map().into_iter().flat_map(|map| map.keys());
    rules.into_iter().all(|rule| PLAIN_RULES.contains(&&**rule))
        && properties.values().filter(|it| !it.get("properties").is_null()).all(is_plain)
}

impl DataAnalysis {
    /// Returns data of which all is unknown but `base` and, if `fine`, fields that are only compared with constants.
    pub(crate) fn general_data_of(&self, event: &str, base: &Value, fine: bool) -> Vec<Value> {
        let mut axes: Vec<(Vec<Arc<str>>, Vec<Value>)> = Vec::new();
        let shape = self.shape_of(event);
        // Data that is compared as a whole may be anything but a map.
        let fine = fine && !shape.is_compared;
        for path in shape.leaves() {
            let is_fixed = path.first().is_some_and(|first| !base.get(first).is_null());
            if let Some(name) = path.last().filter(|_| fine && !is_fixed && path.len() == 1)
                && self.classes.is_exact(name)
            {
                let mut values = self.classes.values(name);
                if !values.iter().any(Value::is_null) {
                    values.push(Value::Null);
                }
                axes.push((path.clone(), values));
            }
        }
        let is_small = axes.iter().map(|(_, values)| values.len()).product::<usize>() <= GENERAL_MAX;
        let (values, _) = combine(base, if is_small { &axes } else { &[] });
        let open = |value: Value| match value.as_map() {
            Some(map) => {
                let is_axis = |name: &str| is_small && axes.iter().any(|(path, _)| &*path[0] == name);
                let is_known = |name: &str| {
                    ["approved", "retryable"].contains(&name) || (fine && name == "category") || is_axis(name)
                };
                let known = map.iter().filter(|(name, _)| is_known(name));
                expr::partly_known(&known.map(|(name, value)| (Arc::clone(name), value.clone())).collect())
            }
            None => expr::unknown(),
        };
        values.into_iter().map(open).collect()
    }
}

/// Combinations of fields in general data.
const GENERAL_MAX: usize = 16;

fn combine(start: &Value, axes: &[(Vec<Arc<str>>, Vec<Value>)]) -> (Vec<Value>, bool) {
    let product = axes.iter().try_fold(1usize, |product, (_, values)| {
        product.checked_mul(values.len()).filter(|product| *product <= COMBINATIONS_MAX)
    });
    let mut all = vec![start.clone()];
    if product.is_some() {
        for (path, values) in axes {
            let with = |one: &Value, value: &Value| {
                let mut one = one.clone();
                put(&mut one, path, value.clone());
                one
            };
            all = values
                .iter()
                .flat_map(|value| all.iter().map(|one| with(one, value)).collect::<Vec<_>>())
                .collect();
        }
        return (all, true);
    }
    let mut base = start.clone();
    axes.iter().for_each(|(path, values)| put(&mut base, path, values[0].clone()));
    let mut varied = vec![base.clone()];
    for (path, values) in axes {
        for value in &values[1..] {
            let mut one = base.clone();
            put(&mut one, path, value.clone());
            varied.push(one);
        }
    }
    (varied, false)
}

/// Returns true if an event descriptor (`NAME`, `foo.*`, `*`) matches a name.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        Some(prefix) => name.starts_with(prefix) || name == prefix.trim_end_matches('.'),
        None => pattern == name,
    }
}

/// The schema of a field.
pub(crate) fn at<'s>(schema: &'s Value, path: &[Arc<str>]) -> &'s Value {
    path.iter().fold(schema, |schema, name| schema.get("properties").get(name))
}

/// Ranges of integers up to this size are tried in full.
const RANGE_MAX: i64 = 8;

/// Returns true if a value must be present at a path, and not null.
pub(crate) fn is_required(schema: &Value, path: &[Arc<str>]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return !schema.is_null() && !Schema::compile(schema).0.violations(&Value::Null).is_empty();
    };
    let required = schema.get("required").as_list().unwrap_or_default();
    let is_listed = required.iter().any(|name| name.as_str() == Some(first));
    is_listed && is_required(schema.get("properties").get(first), rest)
}

/// Fills lists that only have a length with items that the schema accepts.
fn fill(values: &mut [Value], schema: &Value) {
    let item = sample(schema.get("items"));
    for value in values {
        if let Value::List(items) = value
            && items.iter().all(Value::is_null)
        {
            *value = Value::list(vec![item.clone(); items.len()]);
        }
    }
}

/// Returns the least and the largest number, or list, that a schema accepts.
fn ends(schema: &Value) -> Vec<Value> {
    let mut ends: Vec<Value> = [schema.get("minimum"), schema.get("maximum")].map(Clone::clone).into();
    ends.retain(|end| !end.is_null());
    let item = sample(schema.get("items"));
    for length in [schema.get("minItems"), schema.get("maxItems")] {
        if let Some(length) = length.as_i64().and_then(|length| usize::try_from(length).ok()) {
            ends.push(Value::list(vec![item.clone(); length.min(LENGTH_MAX)]));
        }
    }
    ends
}

/// Items of a list that is tried because a schema allows so many.
const LENGTH_MAX: usize = 64;

/// Rules of a schema under which a representative value may be refused although others of its kind are not.
const FINE_RULES: [&str; 14] = [
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "multipleOf",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "$ref",
    "uniqueItems",
];

/// Returns false if a value is refused by a rule that may accept others of its kind.
fn covers(schema: &Value, values: &[Value]) -> bool {
    let has_fine_rule = FINE_RULES.iter().any(|rule| !schema.get(rule).is_null());
    if !has_fine_rule || !finite(schema).is_empty() {
        return true;
    }
    let (compiled, _) = Schema::compile(schema);
    values.iter().filter(|value| !value.is_null()).all(|value| compiled.violations(value).is_empty())
}

/// Returns all values of a schema that has few.
pub(crate) fn finite(schema: &Value) -> Vec<Value> {
    if let Some(values) = schema.get("enum").as_list() {
        return values.to_vec();
    }
    if let Some(value) = schema.as_map().and_then(|map| map.get("const")) {
        return vec![value.clone()];
    }
    match schema.get("type").as_str() {
        Some("boolean") => vec![Value::Bool(true), Value::Bool(false)],
        Some("integer") => match (schema.get("minimum").as_i64(), schema.get("maximum").as_i64()) {
            (Some(least), Some(most)) if most - least < RANGE_MAX => (least..=most).map(Value::Int).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns one value that the schema most likely accepts.
pub(crate) fn sample(schema: &Value) -> Value {
    if let Some(first) = finite(schema).into_iter().next() {
        return first;
    }
    let kind = match schema.get("type") {
        Value::List(kinds) => kinds.first().cloned().unwrap_or_default(),
        kind => kind.clone(),
    };
    let least = schema.get("minimum").as_i64();
    match kind.as_str() {
        Some("object") => {
            let mut value = Value::Map(Arc::default());
            for name in schema.get("required").as_list().unwrap_or_default().iter().filter_map(Value::as_str)
            {
                put(&mut value, &[name.into()], sample(schema.get("properties").get(name)));
            }
            value
        }
        Some("array") => {
            let length = schema.get("minItems").as_i64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            Value::list(vec![sample(schema.get("items")); length.min(16)])
        }
        Some("string") => {
            let length = schema.get("minLength").as_i64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            Value::from("text".repeat(length.min(1_000) / 4 + 1))
        }
        Some("integer" | "number") => Value::Int(least.unwrap_or(1)),
        _ => Value::Null,
    }
}
