//! Values from serde types, without a detour over JSON text or `serde_json::Value`: the counterpart of `typed.rs`, for
//! services and channels that hand whole conversations to charts.

use std::sync::Arc;

use serde::de::value::Error;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::value::{Map, Value};

impl Value {
    /// Converts data as its JSON form would be read back; null if it has none.
    ///
    /// ```
    /// use rawko_core::Value;
    ///
    /// #[derive(serde::Serialize)]
    /// struct Order { id: &'static str, amount: u32 }
    ///
    /// let value = Value::of(&Order { id: "o1", amount: 250 });
    /// assert_eq!(value.get("amount"), &Value::Int(250));
    /// ```
    pub fn of<T: Serialize + ?Sized>(data: &T) -> Value {
        data.serialize(ValueWriter).unwrap_or_default()
    }
}

struct ValueWriter;

/// A list in progress; `variant` names the enum variant that it belongs to.
struct ListWriter {
    items: Vec<Value>,
    variant: Option<&'static str>,
}

/// A map in progress.
struct MapWriter {
    map: Map,
    key: Option<Arc<str>>,
    variant: Option<&'static str>,
}

fn entry(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(name) => Value::map([(name, value)]),
        None => value,
    }
}

/// A key of a map: JSON has only strings.
fn key_text(key: Value) -> Result<Arc<str>, Error> {
    match key {
        Value::Str(text) => Ok(text),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(key.to_string().into()),
        Value::Null | Value::List(_) | Value::Map(_) => Err(Error::custom("key must be a string")),
    }
}

impl ListWriter {
    fn new(length: Option<usize>, variant: Option<&'static str>) -> Self {
        Self { items: Vec::with_capacity(length.unwrap_or(0).min(1024)), variant }
    }

    fn push<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        self.items.push(item.serialize(ValueWriter)?);
        Ok(())
    }

    fn list(self) -> Value {
        entry(self.variant, Value::list(self.items))
    }
}

impl MapWriter {
    fn new(length: Option<usize>, variant: Option<&'static str>) -> Self {
        let map = Map::with_capacity_and_hasher(length.unwrap_or(0).min(1024), Default::default());
        Self { map, key: None, variant }
    }

    fn insert<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.map.insert(key.into(), value.serialize(ValueWriter)?);
        Ok(())
    }

    fn map(self) -> Value {
        entry(self.variant, Value::Map(Arc::new(self.map)))
    }
}

impl Serializer for ValueWriter {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = ListWriter;
    type SerializeTuple = ListWriter;
    type SerializeTupleStruct = ListWriter;
    type SerializeTupleVariant = ListWriter;
    type SerializeMap = MapWriter;
    type SerializeStruct = MapWriter;
    type SerializeStructVariant = MapWriter;

    fn serialize_bool(self, value: bool) -> Result<Value, Error> {
        Ok(Value::Bool(value))
    }
    fn serialize_i8(self, value: i8) -> Result<Value, Error> {
        Ok(Value::Int(value.into()))
    }
    fn serialize_i16(self, value: i16) -> Result<Value, Error> {
        Ok(Value::Int(value.into()))
    }
    fn serialize_i32(self, value: i32) -> Result<Value, Error> {
        Ok(Value::Int(value.into()))
    }
    fn serialize_i64(self, value: i64) -> Result<Value, Error> {
        Ok(Value::Int(value))
    }
    fn serialize_u8(self, value: u8) -> Result<Value, Error> {
        Ok(Value::Int(value.into()))
    }
    fn serialize_u16(self, value: u16) -> Result<Value, Error> {
        Ok(Value::Int(value.into()))
    }
    fn serialize_u32(self, value: u32) -> Result<Value, Error> {
        Ok(Value::Int(value.into()))
    }
    fn serialize_u64(self, value: u64) -> Result<Value, Error> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }
    fn serialize_f32(self, value: f32) -> Result<Value, Error> {
        Ok(Value::float(value.into()))
    }
    fn serialize_f64(self, value: f64) -> Result<Value, Error> {
        Ok(Value::float(value))
    }
    fn serialize_char(self, value: char) -> Result<Value, Error> {
        Ok(Value::str(value.encode_utf8(&mut [0; 4])))
    }
    fn serialize_str(self, value: &str) -> Result<Value, Error> {
        Ok(Value::str(value))
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<Value, Error> {
        Ok(Value::list(value.iter().map(|byte| Value::Int((*byte).into())).collect()))
    }
    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value, Error> {
        Ok(Value::str(variant))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        Ok(entry(Some(variant), value.serialize(self)?))
    }
    fn serialize_seq(self, length: Option<usize>) -> Result<ListWriter, Error> {
        Ok(ListWriter::new(length, None))
    }
    fn serialize_tuple(self, length: usize) -> Result<ListWriter, Error> {
        Ok(ListWriter::new(Some(length), None))
    }
    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<ListWriter, Error> {
        Ok(ListWriter::new(Some(length), None))
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<ListWriter, Error> {
        Ok(ListWriter::new(Some(length), Some(variant)))
    }
    fn serialize_map(self, length: Option<usize>) -> Result<MapWriter, Error> {
        Ok(MapWriter::new(length, None))
    }
    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<MapWriter, Error> {
        Ok(MapWriter::new(Some(length), None))
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<MapWriter, Error> {
        Ok(MapWriter::new(Some(length), Some(variant)))
    }
}

impl SerializeSeq for ListWriter {
    type Ok = Value;
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(self.list())
    }
}

impl SerializeTuple for ListWriter {
    type Ok = Value;
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(self.list())
    }
}

impl SerializeTupleStruct for ListWriter {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(self.list())
    }
}

impl SerializeTupleVariant for ListWriter {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(self.list())
    }
}

impl SerializeMap for MapWriter {
    type Ok = Value;
    type Error = Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(key_text(key.serialize(ValueWriter)?)?);
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().ok_or_else(|| Error::custom("a value without a key"))?;
        self.map.insert(key, value.serialize(ValueWriter)?);
        Ok(())
    }
    fn end(self) -> Result<Value, Error> {
        Ok(self.map())
    }
}

impl SerializeStruct for MapWriter {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.insert(key, value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(self.map())
    }
}

impl SerializeStructVariant for MapWriter {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.insert(key, value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(self.map())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum SampleShape {
        Plain,
        Wrapped(u8),
        Pair(i8, char),
        Named { size: Option<f32> },
    }

    #[derive(Serialize)]
    #[serde(tag = "type")]
    enum SamplePartOf {
        Text { text: &'static str },
    }

    #[derive(Serialize)]
    struct SampleUnit;

    #[derive(Serialize)]
    struct SampleTuple(u16, bool);

    #[derive(Serialize)]
    struct SampleData {
        zebra: u64,
        apple: u64,
        shapes: Vec<SampleShape>,
        tagged: SamplePartOf,
        #[serde(flatten)]
        more: BTreeMap<&'static str, f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<i64>,
        numbers: BTreeMap<i32, (SampleUnit, SampleTuple)>,
        json: serde_json::Value,
        infinite: f64,
    }

    #[test]
    fn data_converts_as_its_json_does() {
        use SampleShape::{Named, Pair, Plain, Wrapped};
        let data = SampleData {
            zebra: u64::MAX,
            apple: 7,
            shapes: vec![Plain, Wrapped(1), Pair(-1, 'ü'), Named { size: Some(0.1) }, Named { size: None }],
            tagged: SamplePartOf::Text { text: "t" },
            more: BTreeMap::from([("b", 1.0), ("a", 2.5)]),
            missing: None,
            numbers: BTreeMap::from([(-3, (SampleUnit, SampleTuple(9, true)))]),
            json: serde_json::json!({"deep": [1, 2.5, "x", null, {"y": -1}]}),
            infinite: f64::INFINITY,
        };
        let expected = Value::from_json(serde_json::to_value(&data).unwrap());
        let value = Value::of(&data);
        assert!(value.is_identical(&expected), "{value} {expected}");
        assert_eq!(Value::of(&BTreeMap::from([(vec![1], 1)])), Value::Null);
    }
}
