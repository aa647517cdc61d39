//! Forms of people as schemas: `form`, `schema` or `fields` in the input of a `human` invoke, in each of the ways that
//! charts write one. The page reads them in the same way (`forms.js`); here is what every door is held to.

use std::sync::Arc;

use rawko_core::{Map, Schema, Value, Violation};

/// Validates the data of an answer against the form of its request; without a form everything is valid.
pub(crate) fn violations(input: &Value, data: &Value) -> Vec<Violation> {
    let Some(schema) = form_schema(input) else { return Vec::new() };
    let (schema, _) = Schema::compile(&schema);
    // A form that needs nothing may be answered with nothing.
    let empty = Value::Map(Arc::new(Map::default()));
    let data = if data.is_null() { &empty } else { data };
    schema.violations(data)
}

/// Returns the JSON Schema of the form in the input of a `human` invoke, if it has one.
pub fn form_schema(input: &Value) -> Option<Value> {
    let form = ["form", "schema", "fields"].iter().map(|key| input.get(key)).find(|form| !form.is_null());
    form.map(schema_of)
}

/// A JSON Schema, a list of fields, or names with their types.
fn schema_of(form: &Value) -> Value {
    if let Some(fields) = form.as_list() {
        return object(fields.iter().filter_map(listed));
    }
    let inner = if form.get("schema").is_null() { form } else { form.get("schema") };
    if let Some(schema) = inner.as_map().filter(|_| !inner.get("properties").is_null()) {
        let mut schema = schema.clone();
        schema.insert("type".into(), Value::str("object"));
        return Value::Map(schema.into());
    }
    let fields = if inner.get("fields").is_null() { inner } else { inner.get("fields") };
    match fields {
        Value::List(_) => schema_of(fields),
        Value::Map(map) => object(map.iter().map(|(name, field)| (Arc::clone(name), field.clone()))),
        _ => Value::Bool(true),
    }
}

/// One field of a list: a name, or a map with one.
fn listed(field: &Value) -> Option<(Arc<str>, Value)> {
    if let Value::Str(name) = field {
        return Some((Arc::clone(name), Value::Bool(true)));
    }
    let name = ["name", "key", "id"].iter().find_map(|key| field.get(key).as_str())?;
    let mut rest = field.as_map()?.clone();
    for key in ["name", "key", "id"] {
        rest.shift_remove(key);
    }
    Some((name.into(), Value::Map(rest.into())))
}

/// Builds an object schema from fields with their own `required` flags.
fn object(fields: impl Iterator<Item = (Arc<str>, Value)>) -> Value {
    let (mut properties, mut required) = (Map::default(), Vec::new());
    for (name, field) in fields {
        if field.get("required").as_bool() == Some(true) {
            required.push(Value::Str(Arc::clone(&name)));
        }
        properties.insert(name, property(&field));
    }
    Value::map([
        ("type", Value::str("object")),
        ("properties", Value::Map(properties.into())),
        ("required", Value::list(required)),
    ])
}

fn property(field: &Value) -> Value {
    match field {
        Value::Str(_) => Value::map([("type", field.clone())]),
        Value::Map(map) => {
            let mut schema = (**map).clone();
            // `required: true` is the field's own; in a schema it would be a list of keys.
            if schema.get("required").is_some_and(|required| required.as_bool().is_some()) {
                schema.shift_remove("required");
            }
            if let Some(options) = schema.get("options").cloned() {
                schema.insert("enum".into(), options);
            }
            Value::Map(schema.into())
        }
        _ => Value::Bool(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_default()
    }

    #[test]
    fn each_way_to_write_a_form_is_held_to() {
        let names = r#"{"form": {"street": {"type": "string", "required": true}, "floor": "integer", "carrier": {"enum": ["Post", "Parcel"]}}}"#;
        let schema =
            r#"{"form": {"properties": {"age": {"type": "integer", "minimum": 18}}, "required": ["age"]}}"#;
        let list = r#"{"fields": [{"name": "mail", "required": true}, "note"]}"#;
        let table: &[(&str, &str, &[&str])] = &[
            ("{}", r#"{"anything": 1}"#, &[]),
            (names, r#"{"street": "Elm", "floor": 2, "carrier": "Post", "more": 1}"#, &[]),
            (
                names,
                r#"{"floor": "2", "carrier": "post"}"#,
                &[
                    "`street` is missing",
                    "`floor`: expected a whole number, found a string",
                    "`carrier`: `post` is not one of `Post`, `Parcel`; did you mean `Post`?",
                ],
            ),
            (names, "null", &["`street` is missing"]),
            (schema, r#"{"age": 17}"#, &["`age`: expected at least 18, found 17"]),
            (schema, r#""seventeen""#, &["expected a map, found a string"]),
            (list, r#"{"note": "hi"}"#, &["`mail` is missing"]),
            (list, r#"{"mail": "a@b"}"#, &[]),
        ];
        for (input, data, expected) in table {
            let found: Vec<String> =
                violations(&value(input), &value(data)).iter().map(ToString::to_string).collect();
            assert_eq!(found, *expected, "{input} with {data}");
        }
    }
}
