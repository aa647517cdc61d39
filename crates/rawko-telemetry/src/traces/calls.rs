//! Spans of calls: `chat`, `execute_tool`, `invoke_agent` for agents that are programs, and other calls of a chart.

use rawko_core::{ServiceClass, ServiceName};
use rawko_host::{CallOutcome, FinishedCall, ObservedCall, ObservedCompletion};
use rawko_store::EffectKind;

use super::attributes as name;
use super::span::{Attribute, TraceSpan};
use super::tracer::{Tracer, call_span};
use crate::lineage::Lineage;

/// Kind of a call in the conventions.
enum CallConvention<'c> {
    Tool(&'c str),
    Agent(&'c str),
    Workflow(&'c str),
    Model,
    Other,
}

fn what(call: &str) -> CallConvention<'_> {
    let ServiceName { class, member } = ServiceName::of(call);
    match class {
        ServiceClass::Tool => CallConvention::Tool(member),
        ServiceClass::Agent => CallConvention::Agent(member),
        ServiceClass::Chart => CallConvention::Workflow(member),
        ServiceClass::Model => CallConvention::Model,
        _ => CallConvention::Other,
    }
}

impl Tracer {
    /// `has_asked`: its completions have separate spans.
    pub(super) fn called(&self, called: &FinishedCall, has_asked: bool, lineage: &Lineage) {
        let calling = &called.calling;
        // Requests to people are exported with the commit that contains the answer.
        if calling.kind == EffectKind::Person {
            return;
        }
        let title = match what(&calling.name) {
            CallConvention::Model if has_asked => return,
            CallConvention::Tool(tool) => format!("execute_tool {tool}"),
            CallConvention::Agent(agent) => format!("invoke_agent {agent}"),
            CallConvention::Workflow(chart) => format!("invoke_workflow {chart}"),
            CallConvention::Model | CallConvention::Other => format!("call {}", calling.name),
        };
        let span = TraceSpan::new(lineage, call_span(lineage, calling), Some(lineage.span), title)
            .between(calling.started, calling.started + called.took)
            .in_step(calling.step)
            .with(name::EFFECT, calling.idempotency.to_string())
            .with(name::ATTEMPT, i64::from(calling.attempt));
        let span = of_what(span, called, lineage);
        self.emit(with_outcome(span, called));
    }

    pub(super) fn chat(&self, completed: &ObservedCompletion, calling: &ObservedCall, lineage: &Lineage) {
        // For `model:complete` the completion is the whole call; elsewhere it is part of one.
        let parent = match what(&calling.name) {
            CallConvention::Model => lineage.span,
            CallConvention::Tool(_)
            | CallConvention::Agent(_)
            | CallConvention::Workflow(_)
            | CallConvention::Other => call_span(lineage, calling),
        };
        let began = completed.started.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
        let what = format!("chat {} {}", completed.idempotency, began.as_nanos());
        let id = crate::lineage::span_of(lineage.trace, &lineage.new.id, &what);
        let span = TraceSpan::new(lineage, id, Some(parent), format!("chat {}", completed.model))
            .client()
            .between(completed.started, completed.started + completed.took)
            .with(name::OPERATION, "chat")
            .with(name::PROVIDER, name::provider(&completed.provider))
            .with(name::REQUEST_MODEL, completed.model.clone())
            .with(name::CONVERSATION, lineage.new.id.to_string())
            .with(name::AGENT, completed.agent.clone())
            .in_step(calling.step)
            .with_count(name::ATTEMPT, u64::from(completed.attempt) + 1)
            .with_some(name::REQUEST_TOKENS_MAX, completed.output_tokens_max.map(i64::from))
            .with_some(name::REQUEST_TEMPERATURE, completed.temperature)
            .with_some(name::OUTPUT_TYPE, completed.structured.then_some("json"));
        self.emit(answered(span, completed));
    }
}

fn answered(span: TraceSpan, completed: &ObservedCompletion) -> TraceSpan {
    let usage = &completed.usage;
    let span = span
        .with_some(name::RESPONSE_MODEL, completed.response_model.clone())
        .with_count(name::INPUT_TOKENS, usage.input_tokens)
        .with_count(name::OUTPUT_TOKENS, usage.output_tokens)
        .with_count(name::CACHED_TOKENS, usage.cached_tokens)
        .with_count(name::CACHE_WRITE_TOKENS, usage.cache_write_tokens)
        .with_count(name::REASONING_TOKENS, usage.reasoning_tokens)
        .with_some(name::COST, usage.cost_usd);
    let span = match &completed.said {
        Some(said) => span
            .with(name::SYSTEM, said.system.clone())
            .with(name::INPUT, said.input.clone())
            .with(name::OUTPUT, said.output.clone()),
        None => span,
    };
    match &completed.finish {
        Ok(reason) => span.with(name::FINISH_REASONS, Attribute::Texts(vec![reason.to_string()])),
        Err(code) => span.failed(code),
    }
}

fn of_what(span: TraceSpan, called: &FinishedCall, lineage: &Lineage) -> TraceSpan {
    let calling = &called.calling;
    let agent = calling.agent.as_ref().or(lineage.agent.as_ref()).map(ToString::to_string);
    match what(&calling.name) {
        CallConvention::Tool(tool) => span
            .with(name::OPERATION, "execute_tool")
            .with(name::TOOL, tool.to_owned())
            .with(name::TOOL_TYPE, "function")
            .with_some(name::TOOL_CALL, calling.tool_call.as_deref().map(str::to_owned))
            .with(name::CONVERSATION, lineage.new.id.to_string())
            .with_some(name::AGENT, agent)
            .with_some(name::TOOL_ARGUMENTS, calling.input.clone())
            .with_some(name::TOOL_RESULT, called.output.clone()),
        CallConvention::Agent(other) => span
            .client()
            .with(name::OPERATION, "invoke_agent")
            .with(name::AGENT, other.to_owned())
            .with(name::CONVERSATION, lineage.new.id.to_string())
            .with_count(name::TOKENS, called.spent.tokens)
            .with_count(name::TOOL_CALLS, called.spent.tool_calls),
        CallConvention::Workflow(chart) => {
            span.with(name::OPERATION, "invoke_workflow").with(name::WORKFLOW, chart.to_owned())
        }
        CallConvention::Model | CallConvention::Other => {
            span.client().with(name::CALL, calling.name.to_string())
        }
    }
}

fn with_outcome(span: TraceSpan, called: &FinishedCall) -> TraceSpan {
    match &called.outcome {
        CallOutcome::Answered => span,
        CallOutcome::Complained => span.failed("tool_error"),
        CallOutcome::Stopped => span.with(name::OUTCOME, "stopped"),
        // The message may repeat the input, so it is only exported if content is enabled.
        CallOutcome::Failed { code, message } => {
            let told = called.calling.input.as_ref().map(|_| message.clone());
            span.with_some(name::MESSAGE, told).failed(code)
        }
    }
}
