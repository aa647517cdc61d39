//! Functions on the agents of the host.

use std::sync::Arc;

use super::{ArgumentTypes, ExprFunction, FunctionCall, NullRule};
use crate::expr::Type;
use crate::expr::env::EvalResult;
use crate::expr::measure::built;
use crate::value::{Map, Value};
use crate::world::AgentEntry;

const ROLE: (&str, ArgumentTypes) = ("role", ArgumentTypes::STRING);

pub(super) static FUNCTIONS: &[ExprFunction] = &[
    ExprFunction::new(
        "agents.select",
        &[ROLE, ("task_type", ArgumentTypes::STRING.or(ArgumentTypes::NULL))],
        Type::String,
        NullRule::Null,
        select,
    )
    .optional(1)
    .reading(),
    ExprFunction::new("agents.get", &[("id", ArgumentTypes::STRING)], Type::Map, NullRule::Null, get)
        .reading(),
    ExprFunction::new("agents.list", &[ROLE], Type::List, NullRule::Seen, list).optional(1).reading(),
];

fn fills(agent: &AgentEntry, role: &str) -> bool {
    agent.id == role || agent.roles.iter().any(|filled| filled == role)
}

fn takes(agent: &AgentEntry, task_type: Option<&str>) -> bool {
    let Some(task_type) = task_type else { return true };
    agent.task_types.is_empty() || agent.task_types.iter().any(|taken| taken == task_type)
}

fn agents<'c>(call: &FunctionCall<'c>) -> EvalResult<&'c [AgentEntry]> {
    let agents = &call.env.scope.world.agents;
    call.env.charge(agents.len())?;
    Ok(agents)
}

/// Returns the id of the first agent, in the host's order, with the role and the type of task.
fn select(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (role, task_type) = (call.text(0)?, call.value(1).as_str());
    let found = agents(&call)?.iter().find(|agent| fills(agent, role) && takes(agent, task_type));
    Ok(found.map_or(Value::Null, |agent| Value::str(&agent.id)))
}

fn get(call: FunctionCall<'_>) -> EvalResult<Value> {
    let id = call.text(0)?;
    match agents(&call)?.iter().find(|agent| agent.id == id) {
        Some(agent) => built(call.env, shown(agent)),
        None => Ok(Value::Null),
    }
}

/// Returns the details as a map; the agent's own fields come first and take precedence.
fn shown(agent: &AgentEntry) -> Value {
    let texts = |items: &[String]| Value::list(items.iter().map(|item| Value::str(item)).collect());
    let mut map: Map = [
        ("id".into(), Value::str(&agent.id)),
        ("roles".into(), texts(&agent.roles)),
        ("task_types".into(), texts(&agent.task_types)),
    ]
    .into_iter()
    .collect();
    for (key, value) in agent.details.as_map().into_iter().flatten() {
        map.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Map(Arc::new(map))
}

fn list(call: FunctionCall<'_>) -> EvalResult<Value> {
    let role = call.value(0).as_str();
    let fitting = agents(&call)?.iter().filter(|agent| role.is_none_or(|role| fills(agent, role)));
    built(call.env, Value::list(fitting.map(|agent| Value::str(&agent.id)).collect()))
}
