//! Charts as tools: the name, the description and the input schema of each published chart, from its own text.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_chart::SpannedValue;
use rawko_host::Edition;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::McpServer;
use crate::http::ChartOrigin;

/// Sends an event to an instance.
pub(super) const SEND: &str = "rawko_send";
/// Waits for an instance that an earlier call started.
pub(super) const WAIT: &str = "rawko_wait";
/// Starts a task of the project's agents.
pub(super) const TASK: &str = "rawko_task";

/// The protocol's own limit.
const NAME_CHARS_MAX: usize = 128;

/// Charts of rawko itself that other parts of it start, never a caller.
const INTERNAL: [&str; 7] =
    ["agent", "agent_lifecycle", "channel", "program_agent", "speaker", "task_queue", "trigger_log"];

impl McpServer {
    /// Returns the newest version of each published chart that a caller may start.
    fn editions(&self) -> Vec<Edition> {
        let library = self.engine().library();
        let tasks = self.options.project.task_chart();
        let is_internal = |edition: &Edition| {
            let (id, version) = (edition.chart.id(), edition.chart.version());
            let is_own = || self.options.project.origin(id, version) == Some(ChartOrigin::BuiltIn);
            id == tasks || (INTERNAL.contains(&id) && is_own())
        };
        let is_newest = |edition: &Edition| {
            library
                .resolve(edition.chart.id())
                .is_ok_and(|newest| newest.chart.hash() == edition.chart.hash())
        };
        library.offered().into_iter().filter(|it| is_newest(it) && !is_internal(it)).collect()
    }

    /// Returns the charts with the names of their tools, each name once: clients reject a list with a name twice.
    fn named_editions(&self) -> Vec<(String, Edition)> {
        let mut taken = BTreeSet::from([SEND.to_owned(), WAIT.to_owned(), TASK.to_owned()]);
        let named = |edition: Edition| {
            let name = tool_name(edition.chart.id(), &taken);
            taken.insert(name.clone());
            (name, edition)
        };
        self.editions().into_iter().map(named).collect()
    }

    pub(super) fn edition(&self, tool: &str) -> Option<Edition> {
        self.named_editions().into_iter().find(|(name, _)| name == tool).map(|(_, edition)| edition)
    }

    pub(super) fn edition_of(&self, chart: &str) -> Option<Edition> {
        self.engine().library().resolve(chart).ok()
    }

    /// Returns true if the project has agents to give a task to.
    pub(super) fn has_tasks(&self) -> bool {
        !self.options.project.agents().is_empty()
    }

    /// Returns the tools of all charts, then those for tasks and for instances that wait.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let charts = self.named_editions().into_iter().map(|(name, edition)| {
            let chart = &edition.chart;
            let text = chart.description().unwrap_or("A workflow.").trim().to_owned();
            Tool::new(name, text, Arc::new(input_schema(&edition.text)))
        });
        let task = self.has_tasks().then(task);
        charts.chain(task).chain([send(), wait()]).collect()
    }

    pub(super) fn chart_ids(&self) -> Vec<String> {
        self.editions().iter().map(|edition| edition.chart.id().to_owned()).collect()
    }
}

/// Returns the id of a chart in the characters that every client accepts, with a hash if that name is taken.
fn tool_name(id: &str, taken: &BTreeSet<String>) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' || letter == '_' { letter } else { '_' }
    };
    let name: String = id.chars().map(letter).take(NAME_CHARS_MAX).collect();
    if !taken.contains(&name) {
        return name;
    }
    let hash = blake3::hash(id.as_bytes()).to_hex();
    name.chars().take(NAME_CHARS_MAX - 9).chain(['_']).chain(hash.chars().take(8)).collect()
}

fn task() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "task": {"type": "string", "description": "The task in plain language."},
            "agent": {"type": "string", "description": "Agent that runs first; chosen if omitted."},
            "max_iterations": {"type": "integer", "minimum": 1, "description": "Stop after this many agent runs."},
            "max_budget_usd": {"type": "number", "description": "Stop once this much is spent (USD)."},
            "timeout": {"type": "string", "description": "Stop after this time: `30m`."}
        },
        "required": ["task"],
        "additionalProperties": false
    });
    Tool::new(TASK, "Run a task with the agents of this project, and return its result.", object(schema))
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
    }

    #[test]
    fn each_tool_has_a_name_of_its_own() {
        let mut taken = BTreeSet::from([SEND.to_owned()]);
        assert_eq!(tool_name("reports/daily v2", &taken), "reports_daily_v2");
        taken.insert("reports_daily_v2".to_owned());
        let second = tool_name("reports.daily.v2", &taken);
        assert!(second.starts_with("reports_daily_v2_") && second.len() == 25, "{second}");
        assert_ne!(tool_name(SEND, &taken), SEND);
        assert_eq!(tool_name(&"ä".repeat(300), &taken).len(), NAME_CHARS_MAX);
    }
}
