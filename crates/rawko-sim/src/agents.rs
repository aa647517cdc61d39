//! The `agents` binding of a simulation, read from JSON: the form that scenario files and `simulate --agents` use.

use rawko_core::AgentEntry;
use serde_json::Value as Json;

/// Why a value is not a list of agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AgentsError(String);

/// Agents for the `agents` binding: a list of ids or `{id, roles, task_types, …}`, or a map from id to the rest.
pub fn agents_from_json(json: &Json) -> Result<Vec<AgentEntry>, AgentsError> {
    match json {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) => items.iter().map(agent_in_list).collect(),
        Json::Object(entries) => entries.iter().map(|(id, details)| agent(id, details)).collect(),
        other => Err(AgentsError(format!("agents must be a list or a map, not {other}"))),
    }
}

fn agent_in_list(json: &Json) -> Result<AgentEntry, AgentsError> {
    let id = json.get("id").or_else(|| json.get("name")).unwrap_or(json);
    match id {
        Json::String(id) => agent(id, json),
        _ => Err(AgentsError(format!("an agent needs an `id`: {json}"))),
    }
}

fn agent(id: &str, details: &Json) -> Result<AgentEntry, AgentsError> {
    Ok(AgentEntry {
        id: id.to_owned(),
        roles: strings(id, details, &["roles", "role"])?,
        task_types: strings(id, details, &["task_types", "task_type"])?,
        details: if details.is_object() { details.clone().into() } else { rawko_core::Value::Null },
    })
}

/// A list of strings, or one string, under the first of the keys that is there.
fn strings(id: &str, details: &Json, keys: &[&str]) -> Result<Vec<String>, AgentsError> {
    let Some((key, value)) = keys.iter().find_map(|key| details.get(key).map(|value| (key, value))) else {
        return Ok(Vec::new());
    };
    let wrong = || AgentsError(format!("`{key}` of the agent `{id}` must be a list of strings"));
    match value {
        Json::String(one) => Ok(vec![one.clone()]),
        Json::Array(items) => {
            let strings = items.iter().map(|item| item.as_str().map(str::to_owned));
            strings.collect::<Option<_>>().ok_or_else(wrong)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn agents_are_listed_or_mapped() {
        let ids = |json: Json| {
            agents_from_json(&json)
                .map_err(|error| error.to_string())
                .map(|all| all.into_iter().map(|a| (a.id, a.roles)).collect::<Vec<_>>())
        };
        let ada = || ("ada".to_owned(), vec!["reviewer".to_owned()]);
        assert_eq!(ids(json!([{"id": "ada", "roles": ["reviewer"]}])), Ok(vec![ada()]));
        assert_eq!(ids(json!({"ada": {"role": "reviewer"}})), Ok(vec![ada()]));
        assert_eq!(ids(json!(["bo"])), Ok(vec![("bo".into(), vec![])]));
        assert_eq!(ids(json!([{"roles": []}])), Err("an agent needs an `id`: {\"roles\":[]}".into()));
        assert_eq!(
            ids(json!([{"id": "x", "roles": 3}])),
            Err("`roles` of the agent `x` must be a list of strings".into())
        );
    }
}
