//! Calls that a hook of Claude Code's settings asks a person about: the requests, and calls of sub-agents, which no tool
//! runs. Separate from `permit`, where rules decide.

use rawko_core::Value;
use rawko_host::{ServiceCall, ServiceError};
use rawko_model::ToolUse;
use rawko_tools::{Grant, ToolOutcome, shown};

use super::AgentServices;
use super::call_hooks::{CallDecision, CallWithHooks, HookQuestion};
use super::permit::{expiry, is_unattended, refused};
use super::person_request::PersonRequest;
use super::types::{AskedCall, PermitDecision, PermitOutput, QuestionRequest, value};

/// Decides on a call of a sub-agent by the hooks of Claude Code's settings; returns the request of one that asks.
pub(super) async fn hooked_task(
    agent_services: &AgentServices,
    call: &ServiceCall,
    asked: &ToolUse,
    grant: &Grant,
    agent: Option<&str>,
) -> Result<Option<PermitOutput>, ServiceError> {
    let hooked = CallWithHooks { agent_services, asked, instance: &call.instance, grant, is_approved: false };
    match hooked.decide().await {
        CallDecision::Pass => Ok(None),
        CallDecision::Ask(asks) if !is_unattended(grant) => {
            let QuestionRequest { request, rule, .. } =
                hook_question(agent_services, agent, grant, asked, &asks);
            Ok(Some(PermitOutput { decision: PermitDecision::Ask, rule, host: None, request }))
        }
        CallDecision::Ask(asks) => Err(refusal(&asked.name, asks.refused())),
        CallDecision::Deny(outcome) => Err(refusal(&asked.name, outcome)),
    }
}

/// Builds the error of a refused call.
fn refusal(name: &str, outcome: ToolOutcome) -> ServiceError {
    let rule = outcome.refusal.map(|refusal| refusal.rule).unwrap_or_default();
    refused(format!("{name}: a hook refuses it"), outcome.content, &rule)
}

/// Builds the request for one call that a hook asks about.
pub(super) fn hook_question(
    agent_services: &AgentServices,
    agent: Option<&str>,
    grant: &Grant,
    asked: &ToolUse,
    asks: &HookQuestion,
) -> QuestionRequest {
    let (title, details) = shown(&asked.name, &asked.input, &agent_services.root);
    let agent_name = agent.unwrap_or("an agent");
    let prompt = format!("The agent {agent_name} asks for permission, by {}: {}", asks.rule, asks.why);
    let request = PersonRequest {
        tool: Some(asked.name.clone()),
        by: agent.map(str::to_owned),
        rule: Some(asks.rule.clone()),
        details: Value::map(details),
        runs: agent_services.toolbox.printed_line(&asked.name, &asked.input),
        ..PersonRequest::new(title, prompt, expiry(grant))
    };
    QuestionRequest { request: value(&request), rule: asks.rule.clone(), question: false }
}

/// Builds the request for a call of a program that a hook asks about.
pub(super) fn hooked_call(
    agent_services: &AgentServices,
    agent: &str,
    grant: &Grant,
    asked: &ToolUse,
    asks: &HookQuestion,
) -> AskedCall {
    let QuestionRequest { request, rule, .. } =
        hook_question(agent_services, Some(agent), grant, asked, asks);
    AskedCall { tool: asked.name.clone(), input: asked.input.clone(), rule, request, hosts: Vec::new() }
}
