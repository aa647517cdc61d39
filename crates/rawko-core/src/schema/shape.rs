//! The JSON Schema of a serde type, found by deserializing it from a generated value that records the requested types. So
//! a service needs no second derive and no dependency. What cannot be found out stays open (`{}`), never too strict.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor, value::Error,
};
use serde_json::{Map, Value as Json, json};

/// Deeper levels are left open: the type may contain itself.
const DEPTH_MAX: usize = 12;
/// Runs over one type; each finds one more variant or one more optional field.
const RUNS_MAX: usize = 400;

/// Returns the JSON Schema of a type, read from its `Deserialize` implementation.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Order { id: String, note: Option<String> }
///
/// let schema = rawko_core::schema_of::<Order>();
/// assert_eq!(schema["properties"]["id"]["type"], "string");
/// assert_eq!(schema["required"], serde_json::json!(["id"]));
/// # let _ = |order: Order| (order.id, order.note);
/// ```
pub fn schema_of<T: DeserializeOwned>() -> Json {
    let trace = RefCell::new(TypeTrace::default());
    let run = || T::deserialize(TypeTracer { trace: &trace, path: String::new(), depth: 0 }).is_ok();
    let mut is_read = run();
    // A value that cannot be generated is left out where the type allows it, so that the rest is still read.
    for _ in 0..RUNS_MAX {
        if is_read || !trace.borrow_mut().avoid_last() {
            break;
        }
        is_read = run();
    }
    // Once more for every variant of every enum.
    for _ in 0..RUNS_MAX {
        if !trace.borrow_mut().choose_next() {
            break;
        }
        is_read = run() || is_read;
    }
    trace.borrow_mut().chosen.clear();
    if is_read && run() {
        let fields = trace.borrow().fields();
        for (path, field) in fields.into_iter().take(RUNS_MAX) {
            trace.borrow_mut().omitted = Some((path.clone(), field));
            if !run() {
                trace.borrow_mut().required.push((path, field));
            }
        }
    }
    let trace = trace.into_inner();
    trace.schema("")
}

/// The type requested at one place.
#[derive(Clone, Debug)]
enum TracedType {
    Any,
    Scalar(&'static str),
    List,
    Tuple,
    Map,
    Record(&'static [&'static str]),
    /// The variants, and for each that was tried, true if it is a plain name.
    Variants(&'static [&'static str], BTreeMap<usize, bool>),
}

#[derive(Default)]
struct TypeTrace {
    shapes: BTreeMap<String, TracedType>,
    nullable: BTreeSet<String>,
    /// The place that was read last: the one that failed, after a run that did.
    last: String,
    /// Optional values and lists that are left empty, because something in them cannot be generated.
    avoided: BTreeSet<String>,
    required: Vec<(String, &'static str)>,
    /// The field that is left out of this run.
    omitted: Option<(String, &'static str)>,
    /// The variant of each enum in this run; the first without one.
    chosen: BTreeMap<String, usize>,
}

impl TypeTrace {
    /// Chooses a variant that was not tried yet, in every enum that has one. Returns false if none has.
    fn choose_next(&mut self) -> bool {
        let untried = |shape: &TracedType| match shape {
            TracedType::Variants(names, tried) => (0..names.len()).find(|at| !tried.contains_key(at)),
            _ => None,
        };
        let open: Vec<(String, usize)> =
            self.shapes.iter().filter_map(|(path, shape)| Some((path.clone(), untried(shape)?))).collect();
        // A variant that cannot be read is not tried again.
        for (path, at) in &open {
            if let Some(TracedType::Variants(_, tried)) = self.shapes.get_mut(path) {
                tried.insert(*at, false);
            }
        }
        let is_any = !open.is_empty();
        self.chosen.extend(open);
        is_any
    }

    /// Leaves out the innermost optional value or list around the place that failed. Returns false if there is none.
    fn avoid_last(&mut self) -> bool {
        let mut path = self.last.as_str();
        loop {
            let is_list = matches!(self.shapes.get(path), Some(TracedType::List));
            if (is_list || self.nullable.contains(path)) && !self.avoided.contains(path) {
                self.avoided.insert(path.to_owned());
                return true;
            }
            match path.rfind('/') {
                Some(end) => path = &path[..end],
                None => return false,
            }
        }
    }

    fn fields(&self) -> Vec<(String, &'static str)> {
        let records = self.shapes.iter().filter_map(|(path, shape)| match shape {
            TracedType::Record(fields) => Some((path, *fields)),
            _ => None,
        });
        records.flat_map(|(path, fields)| fields.iter().map(move |field| (path.clone(), *field))).collect()
    }

    fn schema(&self, path: &str) -> Json {
        let is_nullable = self.nullable.contains(path);
        let kind = |name: &str| if is_nullable { json!([name, "null"]) } else { json!(name) };
        match self.shapes.get(path) {
            None | Some(TracedType::Any) => json!({}),
            Some(TracedType::Scalar(name)) => json!({"type": kind(name)}),
            Some(TracedType::List) => {
                json!({"type": kind("array"), "items": self.schema(&format!("{path}/[]"))})
            }
            Some(TracedType::Tuple) => json!({"type": kind("array")}),
            Some(TracedType::Map) => json!({"type": kind("object")}),
            Some(TracedType::Record(fields)) => {
                let property = |field: &&str| ((*field).to_owned(), self.schema(&format!("{path}/{field}")));
                let properties: Map<String, Json> = fields.iter().map(property).collect();
                let is_required =
                    |field: &&&str| self.required.iter().any(|(at, name)| at == path && name == *field);
                let required: Vec<&&str> = fields.iter().filter(is_required).collect();
                json!({"type": kind("object"), "properties": properties, "required": required})
            }
            Some(TracedType::Variants(names, tried)) => {
                if names.is_empty() || !(0..names.len()).all(|at| tried.get(&at) == Some(&true)) {
                    return json!({});
                }
                let names = names.iter().map(|name| json!(name));
                json!({"enum": names.chain(is_nullable.then_some(Json::Null)).collect::<Vec<_>>()})
            }
        }
    }
}

#[derive(Clone)]
struct TypeTracer<'t> {
    trace: &'t RefCell<TypeTrace>,
    path: String,
    depth: usize,
}

impl TypeTracer<'_> {
    fn note(&self, shape: TracedType) {
        let mut trace = self.trace.borrow_mut();
        trace.last.clone_from(&self.path);
        trace.shapes.entry(self.path.clone()).or_insert(shape);
    }

    fn is_avoided(&self) -> bool {
        self.trace.borrow().avoided.contains(&self.path)
    }

    fn below(&self, name: &str) -> Self {
        TypeTracer { trace: self.trace, path: format!("{}/{name}", self.path), depth: self.depth + 1 }
    }
}

macro_rules! scalar {
    ($($method:ident => $kind:literal, $visit:ident($($value:expr)?);)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.note(TracedType::Scalar($kind));
            visitor.$visit($($value)?)
        })*
    };
}

impl<'de> Deserializer<'de> for TypeTracer<'_> {
    type Error = Error;

    scalar! {
        deserialize_bool => "boolean", visit_bool(false);
        deserialize_i8 => "integer", visit_i8(1);
        deserialize_i16 => "integer", visit_i16(1);
        deserialize_i32 => "integer", visit_i32(1);
        deserialize_i64 => "integer", visit_i64(1);
        deserialize_u8 => "integer", visit_u8(1);
        deserialize_u16 => "integer", visit_u16(1);
        deserialize_u32 => "integer", visit_u32(1);
        deserialize_u64 => "integer", visit_u64(1);
        deserialize_f32 => "number", visit_f32(1.0);
        deserialize_f64 => "number", visit_f64(1.0);
        deserialize_char => "string", visit_char('a');
        deserialize_str => "string", visit_str("a");
        deserialize_string => "string", visit_str("a");
        deserialize_unit => "null", visit_unit();
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(TracedType::Any);
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.trace.borrow_mut().nullable.insert(self.path.clone());
        if self.depth > DEPTH_MAX || self.is_avoided() {
            return visitor.visit_none();
        }
        visitor.visit_some(TypeTracer { depth: self.depth + 1, ..self })
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(TracedType::List);
        let count = usize::from(self.depth <= DEPTH_MAX && !self.is_avoided());
        visitor.visit_seq(Items { of: self.below("[]"), left: count })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.note(TracedType::Tuple);
        visitor.visit_seq(Items { of: self.below("()"), left: len })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(TracedType::Map);
        visitor.visit_map(TracedFields { of: self, left: &[], value: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note(TracedType::Record(fields));
        if self.depth > DEPTH_MAX {
            return Err(de::Error::custom("too deep"));
        }
        visitor.visit_map(TracedFields { of: self, left: fields, value: None })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note(TracedType::Variants(variants, BTreeMap::new()));
        let at = self.trace.borrow().chosen.get(&self.path).copied().unwrap_or(0);
        visitor.visit_enum(Variant { of: self, names: variants, at })
    }

    serde::forward_to_deserialize_any! { i128 u128 bytes byte_buf identifier ignored_any }
}

struct Items<'t> {
    of: TypeTracer<'t>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.of.clone()).map(Some)
    }
}

struct TracedFields<'t> {
    of: TypeTracer<'t>,
    left: &'static [&'static str],
    value: Option<&'static str>,
}

impl<'de> MapAccess<'de> for TracedFields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        while let Some((field, rest)) = self.left.split_first() {
            self.left = rest;
            let is_omitted = self
                .of
                .trace
                .borrow()
                .omitted
                .as_ref()
                .is_some_and(|(path, name)| *path == self.of.path && name == field);
            if !is_omitted {
                self.value = Some(field);
                return seed.deserialize((*field).into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.of.below(self.value.take().unwrap_or_default()))
    }
}

struct Variant<'t> {
    of: TypeTracer<'t>,
    names: &'static [&'static str],
    at: usize,
}

impl<'t> Variant<'t> {
    fn note(&self, is_plain: bool) {
        if let Some(TracedType::Variants(_, tried)) = self.of.trace.borrow_mut().shapes.get_mut(&self.of.path)
        {
            tried.insert(self.at, is_plain);
        }
    }

    fn content(&self) -> TypeTracer<'t> {
        self.note(false);
        self.of.below(self.names.get(self.at).copied().unwrap_or_default())
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = self.names.get(self.at).copied().ok_or_else(|| de::Error::custom("no variant"))?;
        Ok((seed.deserialize(name.into_deserializer())?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.note(true);
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.content())
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.content().deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.content().deserialize_struct("", fields, visitor)
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
