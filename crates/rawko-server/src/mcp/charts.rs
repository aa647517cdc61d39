//! Charts as tools: the name, the description and the input schema of each published chart, from its own text.

use std::sync::Arc;

use rawko_chart::SpannedValue;
use rawko_host::Edition;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::McpServer;

/// Sends an event to an instance.
pub(super) const SEND: &str = "rawko_send";
/// Waits for an instance that an earlier call started.
pub(super) const WAIT: &str = "rawko_wait";

impl McpServer {
    /// Returns the newest version of each published chart.
    fn editions(&self) -> Vec<Edition> {
        let library = self.engine().library();
        let is_newest = |edition: &Edition| {
            library
                .resolve(edition.chart.id())
                .is_ok_and(|newest| newest.chart.hash() == edition.chart.hash())
        };
        library.offered().into_iter().filter(is_newest).collect()
    }

    pub(super) fn edition(&self, tool: &str) -> Option<Edition> {
        self.editions().into_iter().find(|edition| tool_name(edition.chart.id()) == tool)
    }

    pub(super) fn edition_of(&self, chart: &str) -> Option<Edition> {
        self.engine().library().resolve(chart).ok()
    }

    /// Returns the tools of all charts, then those for instances that wait.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let charts = self.editions().into_iter().map(|edition| {
            let chart = &edition.chart;
            let text = chart.description().unwrap_or("A workflow.").trim().to_owned();
            Tool::new(tool_name(chart.id()), text, Arc::new(input_schema(&edition.text)))
        });
        charts.chain([send(), wait()]).collect()
    }

    pub(super) fn chart_ids(&self) -> Vec<String> {
        self.editions().iter().map(|edition| edition.chart.id().to_owned()).collect()
    }
}

/// Returns the id of a chart in the characters that every client accepts.
pub(super) fn tool_name(id: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' || letter == '_' { letter } else { '_' }
    };
    id.chars().map(letter).take(128).collect()
}

fn send() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "instance": {"type": "string", "description": "Id of the instance, as an earlier call returned it."},
            "event": {"type": "string", "description": "Name of an event that the instance accepts."},
            "data": {"description": "Data of the event."}
        },
        "required": ["instance", "event"]
    });
    Tool::new(SEND, "Send an event to a running workflow, and wait for what follows.", object(schema))
}

fn wait() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"instance": {"type": "string", "description": "Id of the instance."}},
        "required": ["instance"]
    });
    Tool::new(
        WAIT,
        "Wait for a running workflow, and return its result or what it waits for.",
        object(schema),
    )
}

fn object(schema: Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// Returns the schema of a chart's input: what of its context a caller may give, with the types that the chart declares
/// or its initial values have.
fn input_schema(text: &str) -> JsonObject {
    let document = SpannedValue::read(text).map(|document| document.to_json()).unwrap_or_default();
    let chart = document.get("statechart").unwrap_or(&document);
    let declared = chart.get("context_schema").cloned().unwrap_or_else(|| json!({}));
    let mut properties = declared.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let context = chart.get("context").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, initial) in &context {
        let property = properties.entry(key.clone()).or_insert_with(|| json!(of_initial(initial)));
        if let (Some(property), false) = (property.as_object_mut(), initial.is_null()) {
            property.entry("default").or_insert_with(|| initial.clone());
        }
    }
    let has_value = |key: &str| context.get(key).is_some_and(|initial| !initial.is_null());
    let required = declared.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let required: Vec<Value> =
        required.into_iter().filter(|key| !key.as_str().is_some_and(has_value)).collect();
    let mut schema = declared.as_object().cloned().unwrap_or_default();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.remove("required");
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema
}

fn of_initial(initial: &Value) -> JsonObject {
    let kind = match initial {
        Value::Null => return JsonObject::new(),
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    [("type".to_owned(), json!(kind))].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_of_a_chart_has_its_declared_types() {
        let text = "statechart:\n  id: order\n  initial: a\n  context: {order_id: null, amount: 0, fast: false, tags: []}\n  \
                    context_schema:\n    required: [order_id, amount]\n    properties:\n      order_id: {type: string}\n  \
                    states: {a: {type: final}}\n";
        assert_eq!(
            Value::Object(input_schema(text)),
            json!({
                "type": "object",
                "required": ["order_id"],
                "properties": {
                    "order_id": {"type": "string"},
                    "amount": {"type": "integer", "default": 0},
                    "fast": {"type": "boolean", "default": false},
                    "tags": {"type": "array", "default": []}
                }
            })
        );
        assert_eq!(tool_name("reports/daily v2"), "reports_daily_v2");
    }
}
