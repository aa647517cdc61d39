//! `Value`: the data that charts compute with. Separate from `serde_json::Value` because contexts are cloned at every
//! step, so lists, maps and strings are shared, and because integers must stay integers.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map in insertion order. Iteration order is part of "same inputs, same bytes out".
pub type Map = IndexMap<Arc<str>, Value, FxBuildHasher>;

/// A JSON-shaped value. Cloning is cheap: everything large is behind an `Arc`.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// JSON null; also the value of a missing key.
    #[default]
    Null,
    /// JSON boolean.
    Bool(bool),
    /// Integer in the range of `i64`.
    Int(i64),
    /// Floating-point number; written as null in JSON if it is not finite.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// List, shared between clones.
    List(Arc<Vec<Value>>),
    /// Map with string keys in insertion order, shared between clones.
    Map(Arc<Map>),
}

impl Value {
    /// A null that can be borrowed for `'static`.
    pub const NULL: Value = Value::Null;

    /// Creates a text value.
    pub fn str(text: &str) -> Self {
        Value::Str(text.into())
    }

    /// Creates a list value.
    pub fn list(items: Vec<Value>) -> Self {
        Value::List(Arc::new(items))
    }

    /// Creates a map value; a later entry replaces an earlier one with the same key.
    pub fn map(entries: impl IntoIterator<Item = (impl Into<Arc<str>>, Value)>) -> Self {
        Value::Map(Arc::new(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()))
    }

    /// A float without a fraction stays a float; NaN and infinities have no JSON form and become null.
    pub fn float(number: f64) -> Self {
        if number.is_finite() { Value::Float(number) } else { Value::Null }
    }

    /// Returns true for null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the boolean; `None` for any other type.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the integer; `None` for floats too.
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Int(value) = self { Some(*value) } else { None }
    }

    /// Returns the number as a float, converting integers.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Returns the text; `None` for any other type.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(text) = self { Some(text) } else { None }
    }

    /// Returns the items; `None` for any other type.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    /// Returns the map; `None` for any other type.
    pub fn as_map(&self) -> Option<&Map> {
        if let Value::Map(map) = self { Some(map) } else { None }
    }

    /// Returns the entry of a map, or null if this is not a map or has no such key.
    pub fn get(&self, key: &str) -> &Value {
        self.as_map().and_then(|map| map.get(key)).unwrap_or(&Value::NULL)
    }

    /// Returns the type name used in messages and by the `type()` function.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) | Value::Float(_) => "number",
            Value::Str(_) => "string",
            Value::List(_) => "list",
            Value::Map(_) => "map",
        }
    }

    /// Returns true if both serialise to the same bytes: stricter than `==`, which treats `1` and `1.0`, and different
    /// orders of keys, as equal.
    pub fn is_identical(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Str(a), Value::Str(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::List(a), Value::List(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_identical(b)))
            }
            (Value::Map(a), Value::Map(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.len() == b.len()
                        && a.iter().zip(b.iter()).all(|((k, v), (l, w))| k == l && v.is_identical(w)))
            }
            (
                Value::Null
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Str(_)
                | Value::List(_)
                | Value::Map(_),
                _,
            ) => false,
        }
    }

    /// Converts from JSON. An integer outside the range of `i64` becomes a float.
    pub fn from_json(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(whole) => Value::Int(whole),
                None => Value::float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Str(text.into()),
            serde_json::Value::Array(items) => Value::list(items.into_iter().map(Value::from_json).collect()),
            serde_json::Value::Object(entries) => {
                Value::map(entries.into_iter().map(|(key, value)| (key, Value::from_json(value))))
            }
        }
    }

    /// Converts to JSON; a non-finite float becomes null.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Str(text) => text.as_ref().into(),
            Value::List(items) => items.iter().map(Value::to_json).collect(),
            Value::Map(map) => {
                serde_json::Value::Object(map.iter().map(|(k, v)| (k.to_string(), v.to_json())).collect())
            }
        }
    }
}

/// `1 == 1.0`, as in the expression language; lists and maps compare by content, maps ignoring order.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => *a as f64 == *b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }
}

/// Prints a string as is, everything else as compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Str(text) => f.write_str(text),
            other => f.write_str(&serde_json::to_string(other).map_err(|_| fmt::Error)?),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}
impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::str(value)
    }
}
impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Str(value.into())
    }
}
impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        Value::from_json(value)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(value) => serializer.serialize_i64(*value),
            Value::Float(value) => serializer.serialize_f64(*value),
            Value::Str(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items.iter()),
            Value::Map(map) => serializer.collect_map(map.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> serde::de::Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::str(value))
    }
    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(1024));
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::list(items))
    }
    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::default();
        while let Some((key, value)) = access.next_entry::<Arc<str>, Value>()? {
            map.insert(key, value);
        }
        Ok(Value::Map(Arc::new(map)))
    }
}
