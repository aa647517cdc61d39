//! JSON Schema of the protocol, generated from the types that implement it.

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::{FromAgent, PROTOCOL, ToAgent};

/// Returns both directions under `$defs`: `from_agent` and `to_agent`.
pub fn json_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let from_agent = generator.root_schema_for::<FromAgent>();
    let to_agent = generator.root_schema_for::<ToAgent>();
    let mut definitions = serde_json::Map::new();
    for (name, schema) in [("from_agent", from_agent), ("to_agent", to_agent)] {
        let mut schema = schema.to_value();
        if let Some(map) = schema.as_object_mut() {
            map.remove("$schema");
            // Definitions used by both directions are merged at the top.
            if let Some(Value::Object(inner)) = map.remove("$defs") {
                definitions.extend(inner);
            }
        }
        definitions.insert(name.to_owned(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("rawko agent protocol, version {PROTOCOL}"),
        "anyOf": [{"$ref": "#/$defs/from_agent"}, {"$ref": "#/$defs/to_agent"}],
        "$defs": definitions,
    })
}
