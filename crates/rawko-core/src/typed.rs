//! Values as serde types, without a detour over JSON text or `serde_json::Value`: services read their inputs with it, and
//! a conversation is large.

use serde::de::value::{Error, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::value::Value;

impl Value {
    /// Reads a type from this value.
    ///
    /// ```
    /// use rawko_core::Value;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Order { id: String, amount: u32 }
    ///
    /// let value = Value::map([("id", Value::str("o1")), ("amount", Value::Int(250))]);
    /// let order: Order = value.read().unwrap();
    /// assert_eq!((order.id.as_str(), order.amount), ("o1", 250));
    /// ```
    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> Result<T, TypeMismatch> {
        T::deserialize(ValueReader(self)).map_err(|error| TypeMismatch(error.to_string()))
    }
}

/// A value does not have the requested type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TypeMismatch(String);

#[derive(Clone, Copy)]
struct ValueReader<'de>(&'de Value);

impl<'de> IntoDeserializer<'de, Error> for ValueReader<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> ValueReader<'de> {
    fn entries(
        map: &'de crate::value::Map,
    ) -> MapDeserializer<'de, impl Iterator<Item = (&'de str, ValueReader<'de>)>, Error> {
        MapDeserializer::new(map.iter().map(|(key, value)| (&**key, ValueReader(value))))
    }
}

impl<'de> Deserializer<'de> for ValueReader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Int(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Str(text) => visitor.visit_borrowed_str(text),
            Value::List(items) => {
                let mut items = SeqDeserializer::new(items.iter().map(ValueReader));
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Map(map) => {
                let mut entries = Self::entries(map);
                let value = visitor.visit_map(&mut entries)?;
                entries.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Str(text) => visitor.visit_enum((&**text).into_deserializer()),
            Value::Map(map) => visitor.visit_enum(MapAccessDeserializer::new(Self::entries(map))),
            _ => self.deserialize_any(visitor),
        }
    }

    /// Unused parts cost nothing.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum SampleKind {
        Plain,
        Sized { size: u8 },
        Named(String),
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum SamplePart {
        Text { text: String },
        Number { value: f64 },
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct SampleRecord {
        id: String,
        count: u32,
        ratio: f64,
        note: Option<String>,
        kinds: Vec<SampleKind>,
        parts: Vec<SamplePart>,
        rest: Value,
        #[serde(default)]
        names: BTreeMap<String, i64>,
    }

    fn both<T: DeserializeOwned>(json: serde_json::Value) -> (Option<T>, Option<T>) {
        (Value::from_json(json.clone()).read().ok(), serde_json::from_value(json).ok())
    }

    #[test]
    fn a_type_reads_the_same_as_from_json() {
        let whole = json!({
            "id": "a", "count": 3, "ratio": 2, "note": null,
            "kinds": ["plain", {"sized": {"size": 1}}, {"named": "x"}],
            "parts": [{"type": "text", "text": "t"}, {"type": "number", "value": 1.5}],
            "rest": {"deep": [1, 2.5, "x", null]}, "names": {"a": 1}, "unknown": {"is": "skipped"}
        });
        let (read, expected) = both::<SampleRecord>(whole);
        assert!(read.is_some());
        assert_eq!(read, expected);
        for wrong in [json!(null), json!({"id": 1}), json!([]), json!({"id": "a", "count": -1})] {
            assert_eq!(both::<SampleRecord>(wrong), (None, None));
        }
        assert_eq!(both::<SampleKind>(json!("other")), (None, None));
        assert_eq!(both::<Option<u8>>(json!(null)), (Some(None), Some(None)));
        assert_eq!(both::<(u8, String)>(json!([1, "a"])), (Some((1, "a".into())), Some((1, "a".into()))));
        assert_eq!(both::<u8>(json!(1.0)), (None, None));
    }
}
