//! The JSON Schema of the format, for editors: generated from the same description that the reader uses. The rules for
//! kinds of states are in `kinds`.

mod kinds;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::def::{CHART, DOCUMENT, RecordShape, TaggedShape, ValueShape};

/// Returns a JSON Schema (2020-12) of chart and registry documents.
pub fn schema() -> Value {
    let mut definitions = Definitions::default();
    let document = definitions.record(&DOCUMENT);
    let chart = definitions.record(&CHART);
    definitions.done.extend(kinds::definitions());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rawko chart",
        "description": "A chart under `statechart:`, a bare chart, or a `machine_registry`.",
        "type": "object",
        "if": { "anyOf": [{ "required": ["statechart"] }, { "required": ["machine_registry"] }] },
        "then": document,
        "else": { "allOf": [chart, { "required": ["states"] }] },
        "$defs": definitions.done.into_iter().collect::<Map<String, Value>>(),
    })
}

/// Records by name; each is described once and referenced.
#[derive(Default)]
struct Definitions {
    done: BTreeMap<String, Value>,
}

impl Definitions {
    fn shape(&mut self, shape: &ValueShape) -> Value {
        match shape {
            ValueShape::Any => json!({}),
            ValueShape::Null => json!({ "type": "null" }),
            ValueShape::Text => json!({ "type": "string" }),
            ValueShape::TextLike(form) => json!({ "type": "string", "pattern": form }),
            ValueShape::Bool => json!({ "type": "boolean" }),
            ValueShape::Whole(least) => json!({ "type": "integer", "minimum": least }),
            ValueShape::Number => json!({ "type": "number" }),
            ValueShape::Word(words) => json!({ "enum": words }),
            ValueShape::List(item) => json!({ "type": "array", "items": self.shape(item) }),
            ValueShape::MapOf(value, _) => {
                json!({ "type": "object", "additionalProperties": self.shape(value) })
            }
            ValueShape::MapBy(form, value, _) => json!({
                "type": "object",
                "propertyNames": { "pattern": form },
                "additionalProperties": self.shape(value),
            }),
            ValueShape::Record(record) => self.record(record),
            ValueShape::Tagged(tagged) => self.tagged(tagged),
            ValueShape::Either(shapes) => {
                let options: Vec<Value> = shapes.iter().map(|shape| self.shape(shape)).collect();
                json!({ "anyOf": options })
            }
        }
    }

    fn record(&mut self, record: &RecordShape) -> Value {
        if !self.done.contains_key(record.name) {
            // Inserted first, because records contain each other.
            self.done.insert(record.name.to_owned(), Value::Null);
            let definition = self.definition(record);
            self.done.insert(record.name.to_owned(), definition);
        }
        reference(record.name)
    }

    fn definition(&mut self, record: &RecordShape) -> Value {
        let mut properties = Map::new();
        for field in record.all_fields() {
            let mut property = self.shape(field.shape);
            if let Some(object) = property.as_object_mut() {
                object.insert("description".into(), field.doc.into());
            }
            properties.insert(field.key.into(), property);
        }
        let mut definition =
            json!({ "type": "object", "properties": properties, "additionalProperties": false });
        let (choices, plain): (Vec<&str>, Vec<&str>) =
            record.required.iter().partition(|key| key.contains('|'));
        if !plain.is_empty() {
            definition["required"] = json!(plain);
        }
        let choices = choices.iter().flat_map(|choice| choice.split('|'));
        let choices: Vec<Value> = choices.map(|key| json!({ "required": [key] })).collect();
        if !choices.is_empty() {
            definition["anyOf"] = json!(choices);
        }
        if let Some(rules) = kinds::rules_for(record) {
            definition["allOf"] = json!([rules]);
        }
        definition
    }

    fn tagged(&mut self, tagged: &TaggedShape) -> Value {
        if !self.done.contains_key(tagged.name) {
            self.done.insert(tagged.name.to_owned(), Value::Null);
            let options: Vec<Value> = tagged.variants.iter().map(|(_, record)| self.record(record)).collect();
            self.done.insert(tagged.name.to_owned(), json!({ "oneOf": options }));
        }
        reference(tagged.name)
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}
