//! Resolves the implementation of an agent: a model runs on the chart `agent`, a person gets a request, a program is a
//! service.

use std::sync::Arc;

use rawko_chart::nearest;
use rawko_core::{Map, Value};
use rawko_host::{AgentBinding, AgentRequest, AgentResolver, Category, ServiceError};
use serde_json::json;

use super::own_charts::{PROGRAM_CHART, is_own_program_chart};
use super::types::{AgentInput, CallPolicy, ChartOutput};
use super::{AgentServices, charts};
use crate::agent::{AgentFile, AgentKind};
use rawko_tools::{AskMode, Permissions};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl AgentResolver for AgentServices {
    fn resolve(&self, casting: &AgentRequest<'_>) -> Result<AgentBinding, ServiceError> {
        let agent = self.agent(casting.agent)?;
        match agent.kind {
            AgentKind::Llm | AgentKind::Scripted => {
                Ok(AgentBinding::Chart { chart: "agent".into(), input: input(agent, casting) })
            }
            AgentKind::Human => Ok(AgentBinding::Person { input: asked(agent, casting.input) }),
            AgentKind::Process | AgentKind::Acp if self.may_ask(agent, casting) => {
                Ok(AgentBinding::Chart { chart: PROGRAM_CHART.into(), input: asking_input(agent, casting) })
            }
            AgentKind::Process | AgentKind::Acp => Ok(AgentBinding::Service),
            AgentKind::Chart => charts::binding(agent, casting),
        }
    }

    /// An unfinished execution is an error to its caller and contains the work done so far.
    fn result(&self, output: Value) -> Result<Value, Value> {
        if ChartOutput::of(&output).outcome.as_deref() == Some("finished") {
            return Ok(output);
        }
        let output = match charts::result(output) {
            Ok(finished) => return Ok(finished),
            Err(unfinished) => unfinished,
        };
        let own = ChartOutput::of(&output);
        let mut error = output.as_map().cloned().unwrap_or_default();
        error.shift_remove("problem");
        let stated = own.problem().category;
        let category = match (own.outcome.as_deref(), stated.as_deref()) {
            (Some("limit_reached" | "limit"), _) => "limit",
            (Some("loop_detected" | "loop"), _) => "loop",
            (Some("stuck"), _) => "stuck",
            (_, category) => category.unwrap_or("failed"),
        };
        if let Some(problem) = own.problem.as_map() {
            error.extend(problem.iter().map(|(key, value)| (Arc::clone(key), value.clone())));
        }
        error.insert("category".into(), Value::str(category));
        Err(Value::Map(error.into()))
    }
}

impl AgentServices {
    pub(super) fn agent(&self, name: &str) -> Result<&AgentFile, ServiceError> {
        if let Some(agent) = self.agents.get(name) {
            return self.insist_on_skills(agent).map(|()| agent);
        }
        let message = match self.agents.unusable().iter().find(|unusable| unusable.name == name) {
            Some(unusable) => {
                format!("the agent `{name}` cannot be used: see `rawko agents check` on {}", unusable.file)
            }
            None => {
                let names = self.agents.all().iter().map(|agent| agent.name.as_str());
                let help = nearest(name, names).map_or_else(
                    || format!("add .rawko/agents/{name}.md"),
                    |near| format!("did you mean `{near}`?"),
                );
                format!("there is no agent `{name}`; {help}")
            }
        };
        Err(ServiceError::new(Category::Unknown, message))
    }

    /// Returns true if a call of a program may need the approval of a person. Then the program works in turns of a chart, in
    /// which a request can wait. In a copy of the project of its own it cannot: a turn ends with the copy's commit.
    fn may_ask(&self, agent: &AgentFile, casting: &AgentRequest<'_>) -> bool {
        let given: AgentInput = casting.input.read().unwrap_or_default();
        let is_apart = agent.isolation || !given.isolation.is_null() || !given.worktree.is_null();
        if is_apart || is_own_program_chart(casting.policy) {
            return false;
        }
        let mode = CallPolicy::read(casting.policy).permission_mode;
        let is_refused = mode.as_deref() == Some("deny");
        // A run that waits for a person also asks about hosts.
        let is_attended = mode.as_deref() == Some("wait");
        let grant = given.grant.unwrap_or_default();
        let mut sets = self.permissions.iter().chain(&agent.permissions).chain(&grant.permissions);
        let is_refused = is_refused || sets.clone().any(|set| set.mode == Some(AskMode::Deny));
        !is_refused && (is_attended || self.hooks.decide_on_calls() || sets.any(Permissions::may_ask))
    }

    /// A skill may limit an agent, so an agent does not run without a skill that its file names.
    fn insist_on_skills(&self, agent: &AgentFile) -> Result<(), ServiceError> {
        let is_known = |name: &&String| self.words.skills.iter().any(|skill| skill.name == **name);
        let is_program = agent.kind.has_command();
        let Some(missing) = agent.skills.iter().find(|name| is_program || !is_known(name)) else {
            return Ok(());
        };
        let why = if is_program { "a program cannot be given skills" } else { "there is no such skill" };
        let message = format!("the agent `{}` names the skill `{missing}`, but {why}", agent.name);
        Err(ServiceError::new(Category::Failed, message))
    }
}

/// Builds the input of the chart `agent`.
pub(super) fn input(agent: &AgentFile, casting: &AgentRequest<'_>) -> Value {
    let mut own = Map::default();
    let mut rest = Map::default();
    match casting.input {
        Value::Map(given) => {
            for (key, value) in given.iter() {
                let target = if AgentInput::has_key(key) { &mut own } else { &mut rest };
                target.insert(Arc::clone(key), value.clone());
            }
        }
        Value::Null => {}
        other => drop(own.insert("prompt".into(), Value::from(other.to_string()))),
    }
    if let Value::Str(text) = casting.input {
        own.insert("prompt".into(), Value::Str(Arc::clone(text)));
    }
    if rest.shift_remove("verdict").is_some_and(|wanted| wanted.as_bool() == Some(true))
        && own.get("schema").is_none_or(Value::is_null)
        && let Some(schema) = verdict_schema(agent)
    {
        own.insert("schema".into(), schema);
    }
    own.insert("agent".into(), Value::str(&agent.name));
    own.insert("time_ms".into(), time_ms(agent, casting.policy));
    if !rest.is_empty() {
        own.insert("data".into(), Value::Map(rest.into()));
    }
    Value::Map(own.into())
}

/// Builds the input of the chart `program_agent`: the caller's own, which the program gets.
fn asking_input(agent: &AgentFile, casting: &AgentRequest<'_>) -> Value {
    let request = match casting.input {
        Value::Map(_) => casting.input.clone(),
        Value::Null => Value::Map(Arc::default()),
        other => Value::map([("prompt", other.clone())]),
    };
    Value::map([("agent", Value::str(&agent.name)), ("request", request)])
}

/// Returns the response schema of an agent whose file declares verdicts: one of these words, and a report. Other agents
/// respond in prose.
fn verdict_schema(agent: &AgentFile) -> Option<Value> {
    let transitions = &agent.transitions;
    if transitions.custom.is_empty() {
        return None;
    }
    let declared = [("passed", &transitions.on_success), ("failed", &transitions.on_failure)];
    let declared = declared.into_iter().filter(|(_, target)| target.is_some()).map(|(word, _)| word);
    let mut words: Vec<&str> = transitions.custom.keys().map(String::as_str).collect();
    words.extend(declared);
    words.sort_unstable();
    words.dedup();
    Some(Value::from_json(json!({
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "description": "the verdict on the work", "enum": words},
            "report": {"type": "string", "description": "results and findings, for the next agent"},
        },
        "required": ["verdict", "report"],
        "additionalProperties": false,
    })))
}

/// Returns the lesser of the remaining time and the agent's own limit.
fn time_ms(agent: &AgentFile, policy: &Value) -> Value {
    let left = CallPolicy::read(policy).budget().time.and_then(|ms| u64::try_from(ms).ok());
    let least = [left, agent.limits.timeout_ms].into_iter().flatten().fold(DAY_MS, u64::min);
    Value::Int(i64::try_from(least).unwrap_or(i64::MAX))
}

/// Builds the request to a person.
fn asked(agent: &AgentFile, input: &Value) -> Value {
    let mut asked = input.as_map().cloned().unwrap_or_default();
    if asked.is_empty() && !input.is_null() {
        asked.insert("prompt".into(), input.clone());
    }
    asked.insert("agent".into(), Value::str(&agent.name));
    asked.entry("title".into()).or_insert_with(|| Value::str(&agent.display_name));
    Value::Map(asked.into())
}
