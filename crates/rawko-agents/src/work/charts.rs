//! Agents of kind `chart`: a chart of the project that works as one agent. The caller hands it work as `goal` or `task`,
//! and its output comes back as the result of an agent. Its budget is the caller's, as for any child.

use std::sync::Arc;

use rawko_core::{Map, Value};
use rawko_host::{AgentBinding, AgentRequest, Category, ServiceError};
use serde::{Deserialize, Serialize};

use super::types::{ChartOutput, value};
use crate::agent::AgentFile;

/// Input keys that a chart takes if its context declares them.
const HANDED_ON: [&str; 6] = ["plan", "memory", "untrusted", "occasion", "askPeople", "phase"];
/// Outcomes of charts that did what they were for.
const SUCCESSES: [&str; 4] = ["finished", "done", "complete", "succeeded"];

pub(super) fn binding(agent: &AgentFile, request: &AgentRequest<'_>) -> Result<AgentBinding, ServiceError> {
    let given = request.input;
    if !ChartWork::of(given).grant.is_null() {
        let message = format!(
            "agent `{}` runs a chart, which has rights of its own; only a task or a chart can call it",
            agent.name
        );
        return Err(ServiceError::new(Category::Refused, message));
    }
    let chart = agent.chart.clone().unwrap_or_default();
    Ok(AgentBinding::Chart { chart, input: input(given) })
}

/// The keys of [`AgentInput`](super::types::AgentInput) that are not passed on as they are.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ChartWork {
    prompt: Value,
    grant: Value,
    model: Value,
}

impl ChartWork {
    fn of(given: &Value) -> Self {
        given.read().unwrap_or_default()
    }
}

/// The keys of an [`AgentResult`](super::types::AgentResult) that a chart's output may lack.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FilledResult {
    text: Value,
    files_modified: Value,
    data: Value,
}

/// The work under every name that charts have for it; keys that a chart does not declare have no effect.
fn input(given: &Value) -> Value {
    let own = ChartWork::of(given);
    let work = if given.as_map().is_some() { own.prompt } else { given.clone() };
    let mut input = Map::default();
    for (key, value) in given.as_map().into_iter().flat_map(|given| given.iter()) {
        if HANDED_ON.contains(&&**key) && !value.is_null() {
            input.insert(Arc::clone(key), value.clone());
        }
    }
    if let Some(model) = own.model.as_str() {
        input.insert("providerName".into(), Value::str(model));
    }
    for name in ["goal", "task", "prompt"] {
        input.insert(name.into(), work.clone());
    }
    Value::Map(input.into())
}

/// Converts the output of a chart that succeeded to an agent's result, and completes that of one that did not.
pub(super) fn result(output: Value) -> Result<Value, Value> {
    let mut own = ChartOutput::of(&output);
    let outcome = own.outcome.take().unwrap_or_else(|| "succeeded".to_owned());
    // The outcome was added to the output of a chart that does not state one.
    let output = match own.output.as_map() {
        Some(stated) => {
            let output = with_outcome(stated.clone(), &outcome);
            own = ChartOutput::of(&output);
            output
        }
        None => output,
    };
    let mut result = output.as_map().cloned().unwrap_or_default();
    let data = match own.verdict.is_null() {
        true => Value::Null,
        false => Value::map([("verdict", own.verdict.clone())]),
    };
    let filled = FilledResult { text: text(&own, &output), files_modified: own.files.clone(), data };
    for (key, value) in value(&filled).as_map().into_iter().flat_map(|filled| filled.iter()) {
        if result.get(key).is_none_or(Value::is_null) && !value.is_null() {
            result.insert(Arc::clone(key), value.clone());
        }
    }
    if SUCCESSES.contains(&outcome.as_str()) {
        return Ok(Value::Map(result.into()));
    }
    if own.problem().message.is_null() {
        let mut problem = own.problem.as_map().cloned().unwrap_or_default();
        problem.insert("message".into(), Value::from(format!("the chart ended as `{outcome}`")));
        result.insert("problem".into(), Value::Map(problem.into()));
    }
    Err(Value::Map(result.into()))
}

fn with_outcome(mut own: Map, outcome: &str) -> Value {
    own.entry("outcome".into()).or_insert_with(|| Value::str(outcome));
    Value::Map(own.into())
}

/// Returns the summary of a chart, or its output as text.
fn text(own: &ChartOutput, output: &Value) -> Value {
    match (own.text.as_deref().or(own.summary.as_deref()), &own.output) {
        (Some(text), _) => Value::str(text),
        (None, Value::Str(text)) => Value::Str(Arc::clone(text)),
        (None, Value::Null) => Value::from(output.to_string()),
        (None, own) => Value::from(own.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use rawko_core::schema_of;

    use super::super::types::{AgentInput, AgentResult};
    use super::*;

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_output_of_a_chart_becomes_a_result() {
        let table = [
            (r#"{"outcome":"done","summary":"Built.","files":["a.rs"]}"#, Ok("Built.")),
            (r#"{"outcome":"succeeded","output":"Hello."}"#, Ok("Hello.")),
            (r#"{"outcome":"succeeded","output":[1]}"#, Ok("[1]")),
            (r#"{"outcome":"succeeded","output":{"text":"Hi.","n":1}}"#, Ok("Hi.")),
            (r#"{"outcome":"failed","output":null}"#, Err("the chart ended as `failed`")),
            (r#"{"outcome":"stuck","problem":{"message":"no progress"}}"#, Err("no progress")),
        ];
        for (output, expected) in table {
            let got = result(json(output));
            let got = match &got {
                Ok(done) => Ok(done.get("text").as_str().unwrap()),
                Err(error) => Err(error.get("problem").get("message").as_str().unwrap()),
            };
            assert_eq!(got, expected, "{output}");
        }
        let done =
            result(json(r#"{"outcome":"done","summary":"x","files":["a"],"verdict":"passed"}"#)).unwrap();
        assert_eq!(done.get("filesModified"), &json(r#"["a"]"#));
        assert_eq!(done.get("data").get("verdict").as_str(), Some("passed"));
    }

    #[test]
    fn the_keys_are_those_of_agents() {
        let keys = |schema: serde_json::Value| -> Vec<String> {
            schema["properties"].as_object().unwrap().keys().cloned().collect()
        };
        let read = keys(schema_of::<ChartWork>());
        let passed = HANDED_ON.into_iter().filter(|key| *key != "askPeople").map(str::to_owned);
        for key in read.into_iter().chain(passed) {
            assert!(AgentInput::has_key(&key), "{key}");
        }
        let own = keys(schema_of::<ChartOutput>()).into_iter();
        let own = own.filter(|key| !["output", "problem"].contains(&key.as_str()));
        let nothing = Value::Null;
        let filled = FilledResult { text: nothing.clone(), files_modified: nothing.clone(), data: nothing };
        let written = value(&filled).as_map().unwrap().keys().map(ToString::to_string).collect::<Vec<_>>();
        let of_agents = keys(schema_of::<AgentResult>());
        for key in own.chain(written) {
            assert!(of_agents.contains(&key), "{key}");
        }
    }

    #[test]
    fn the_work_has_every_name_and_the_rights_of_a_caller_are_not_lost() {
        let given = json(r#"{"prompt":"Do it","plan":{"steps":[]},"messages":[1],"model":"a/b"}"#);
        let input = input(&given);
        assert_eq!(input.get("goal").as_str(), Some("Do it"));
        assert_eq!(input.get("task").as_str(), Some("Do it"));
        assert_eq!(input.get("providerName").as_str(), Some("a/b"));
        assert!(input.get("messages").is_null());
    }
}
