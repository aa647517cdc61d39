//! `Task`: the tool with which an agent delegates to another. The chart runs it as a child instance; this file only has
//! its description for the model and the parsing of its input.

use rawko_core::Value;
use serde_json::json;

use super::AgentServices;
use super::types::PendingCall;
use crate::agent::{AgentFile, AgentKind};
use rawko_model::{ToolSpec, ToolUse};
use rawko_tools::Grant;

pub(super) const TASK: &str = "Task";
/// Alternative names that models use.
const ALIASES: [&str; 5] = ["task", "agent", "delegate", "explore", "subagent"];
/// The default agent.
const USUAL: &str = "explorer";

/// Returns the tool's description, if this agent may delegate.
pub(super) fn spec(agent_services: &AgentServices, grant: &Grant, caller: &str) -> Option<ToolSpec> {
    if !grant.allows(TASK) {
        return None;
    }
    // A chart does not hand its caller's rights on to its agents.
    let may_help = |agent: &&AgentFile| agent.name != caller && agent.kind != AgentKind::Chart;
    let others: Vec<_> = agent_services.agents.all().iter().filter(may_help).collect();
    if others.is_empty() {
        return None;
    }
    let list: String =
        others.iter().map(|agent| format!("\n- {}: {}", agent.name, agent.when_to_use)).collect();
    let names: Vec<&str> = others.iter().map(|agent| agent.name.as_str()).collect();
    let prompt = "everything it has to know; it sees nothing else";
    let schema = Value::from_json(json!({
        "type": "object",
        "properties": {
            "agent": {"type": "string", "description": "who is to do it", "enum": names},
            "prompt": {"type": "string", "description": prompt},
        },
        "required": ["agent", "prompt"],
    }));
    Some(ToolSpec {
        name: TASK.into(),
        description: format!(
            "Lets another agent do a part of the work and gives back its report. It may not do more than you may.{list}"
        ),
        input_schema: schema,
    })
}

/// Converts a call under any of its names to the form that the chart reads.
pub(super) fn normalised(call: ToolUse) -> ToolUse {
    let name = call.name.to_ascii_lowercase();
    if !ALIASES.contains(&name.as_str()) {
        return call;
    }
    let text = |keys: &[&str]| keys.iter().find_map(|key| call.input.get(key).as_str()).map(str::to_owned);
    let named = text(&["agent", "subagent_type", "name"]);
    let agent = named.unwrap_or_else(|| USUAL.to_owned());
    let prompt = text(&["prompt", "task", "question", "query"]).unwrap_or_else(|| call.input.to_string());
    let input = Value::map([("agent", Value::from(agent)), ("prompt", Value::from(prompt))]);
    ToolUse { id: call.id, name: TASK.into(), input }
}

/// Rejects a delegation by an agent that may not delegate: a model can call a tool that it was not given.
pub(super) fn refused(mut call: PendingCall) -> PendingCall {
    if call.name == TASK && call.rejected.is_none() {
        call.rejected = Some("`Task` is not allowed for this agent".to_owned());
    }
    call
}
