//! Reduces JSON Schema to the subset that Gemini accepts; it rejects everything else. The dropped rules are checked on
//! the response.

use serde_json::{Map, Value, json};

/// Deeper references become unconstrained: a schema may refer to itself.
const DEPTH_MAX: usize = 16;

const KEPT: [&str; 14] = [
    "title",
    "description",
    "enum",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "required",
    "minProperties",
    "maxProperties",
];
/// The only formats the service accepts.
const FORMATS: [&str; 6] = ["enum", "date-time", "float", "double", "int32", "int64"];

pub(super) fn reduced(schema: &Value) -> Value {
    reduce(schema, schema, 0)
}

fn reduce(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(map) = schema.as_object().filter(|_| depth < DEPTH_MAX) else { return anything() };
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(anything, |target| reduce(target, root, depth + 1));
    }
    let mut kept = Map::new();
    take_type(map, &mut kept);
    for key in KEPT {
        if let Some(value) = map.get(key).filter(|value| is_known(key, value)) {
            kept.insert(key.into(), value.clone());
        }
    }
    if let Some(constant) = map.get("const").and_then(Value::as_str) {
        kept.insert("type".into(), "string".into());
        kept.insert("enum".into(), json!([constant]));
    }
    take_inner(map, root, depth + 1, &mut kept);
    kept.into()
}

fn take_inner(map: &Map<String, Value>, root: &Value, depth: usize, kept: &mut Map<String, Value>) {
    if let Some(properties) = map.get("properties").and_then(Value::as_object) {
        let reduced = properties.iter().map(|(name, value)| (name.clone(), reduce(value, root, depth)));
        kept.insert("properties".into(), Value::Object(reduced.collect()));
    }
    if let Some(items) = map.get("items") {
        kept.insert("items".into(), reduce(items, root, depth));
    }
    let choices = map.get("anyOf").or_else(|| map.get("oneOf")).and_then(Value::as_array);
    if let Some(choices) = choices {
        kept.insert("anyOf".into(), choices.iter().map(|choice| reduce(choice, root, depth)).collect());
    }
}

/// Writes a single type; `nullable` is a separate field.
fn take_type(map: &Map<String, Value>, kept: &mut Map<String, Value>) {
    let types: Vec<&str> = match map.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    if let Some(first) = types.iter().find(|name| **name != "null") {
        kept.insert("type".into(), (*first).into());
    }
    if types.contains(&"null") {
        kept.insert("nullable".into(), true.into());
    }
}

/// Returns true for enums of strings and for supported formats.
fn is_known(key: &str, value: &Value) -> bool {
    match key {
        "enum" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
        _ => true,
    }
}

fn anything() -> Value {
    json!({"type": "string"})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::reduced;

    #[test]
    fn only_what_the_service_takes_is_left() {
        let table = [
            (
                "closed object",
                json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}, "$schema": "x"}),
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            ),
            ("nullable", json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
            ("constant", json!({"const": "yes"}), json!({"type": "string", "enum": ["yes"]})),
            ("one of", json!({"oneOf": [{"type": "string"}]}), json!({"anyOf": [{"type": "string"}]})),
            ("format", json!({"type": "string", "format": "uri"}), json!({"type": "string"})),
            (
                "numbers to choose from",
                json!({"type": "integer", "enum": [1, 2]}),
                json!({"type": "integer"}),
            ),
            (
                "reference",
                json!({"$defs": {"a": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/a"}}),
                json!({"type": "array", "items": {"type": "integer"}}),
            ),
        ];
        for (name, schema, expected) in table {
            assert_eq!(reduced(&schema), expected, "{name}");
        }
        let itself = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert!(reduced(&itself).to_string().len() < 2000, "a schema that refers to itself ends");
    }
}
