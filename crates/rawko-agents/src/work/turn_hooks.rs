//! The hooks of Claude Code's settings at the beginning and the end of an agent's turn: a person's prompt, and `work:stop`.

use rawko_host::{Category, ServiceCall, ServiceError};
use rawko_programs::hooks::{HookedTurn, TurnDecision};
use rawko_tools::Grant;

use super::AgentServices;
use super::call_hooks::scene;
use super::types::{StopInput, StopOutput};

/// Runs the hooks on the prompt of a person; returns their text for the model.
pub(super) async fn prompted(
    agent_services: &AgentServices,
    call: &ServiceCall,
    depth: i64,
    grant: &Grant,
    prompt: &str,
) -> Result<Option<String>, ServiceError> {
    let turn = HookedTurn { instance: &call.instance, is_sub_agent: depth > 0 };
    match agent_services.hooks.prompted(turn, prompt, scene(agent_services, grant)).await {
        TurnDecision::Pass(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        TurnDecision::Block { why, file } => {
            let message = format!("the prompt is refused by `hooks.UserPromptSubmit` of {file}: {why}");
            Err(ServiceError::new(Category::Refused, message))
        }
    }
}

/// Runs the hooks when an agent ends its turn. With a reason the agent continues.
pub(super) async fn stop(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: &StopInput,
) -> StopOutput {
    let turn = HookedTurn { instance: &call.instance, is_sub_agent: input.depth > 0 };
    let scene = scene(agent_services, &input.grant);
    let reason = match agent_services.hooks.stopped(turn, &input.text, input.active, scene).await {
        TurnDecision::Pass(_) => None,
        TurnDecision::Block { why, file } => {
            let event = if input.depth > 0 { "SubagentStop" } else { "Stop" };
            Some(format!("You stopped, but a hook requires more work: {why} (`hooks.{event}` of {file})"))
        }
    };
    StopOutput { reason }
}
