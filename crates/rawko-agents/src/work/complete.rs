//! `model:complete`: one completion. Returns text, tool calls, stop reason and cost, or the error in a form that the
//! chart can act on.

use std::sync::Arc;

use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};

use super::attachments::load_all;
use super::bounds::{ANSWER, BoundedCalls, CONVERSATION, ContentSize, bounded_calls};
use super::models::ModelChain;
use super::open::within_settings;
use super::session::AgentSession;
use super::types::{CompleteInput, CompleteOutput, ModelFailure, PendingCall, value};
use super::{AgentServices, CallPolicy, delegate, group};
use rawko_model::provider::{
    Completion, CompletionRequest, ErrorCode, ProviderError, Repair, Unfit, judge, messages_tokens,
};
use rawko_model::vision::{self, VisionMemory};
use rawko_model::{Message, MessagePart, StopReason, ToolUse, Usage};

pub(super) async fn complete(
    agent_services: &AgentServices,
    call: &ServiceCall,
    (input, size): (CompleteInput, ContentSize),
) -> Result<CompleteOutput, ServiceError> {
    check_conversation(size)?;
    let CompleteInput { session, messages, seen, occasion, attempt, model_index } = input;
    let session = &session;
    let messages = load_all(seen_messages(session, messages, seen.as_ref()), &call.contents).await?;
    let origin = CompletionOrigin { agent: &session.agent, occasion: occasion.as_deref(), attempt };
    let request = request(session, messages, &origin, call);
    let chain = ModelChain::of(agent_services, &session.model, &session.model_from, model_index);
    let completion = ask(&chain, request, call).await?;
    check_answer(&completion)?;
    Ok(output(agent_services, session, completion, chain.model()))
}

/// A conversation that is larger than the chart can add to, as if the model had found it too long: it is compacted.
fn check_conversation(size: ContentSize) -> Result<(), ServiceError> {
    if size.fits(CONVERSATION) {
        return Ok(());
    }
    let message = format!("the conversation has {}", size.excess(CONVERSATION));
    Err(too_long(message))
}

/// As if the model had found the conversation too long.
pub(super) fn too_long(message: String) -> ServiceError {
    let details = ModelFailure::coded(ErrorCode::ContextLengthExceeded, false);
    ServiceError::new(Category::Failed, message).with_details(value(&details))
}

fn check_answer(completion: &Completion) -> Result<(), ServiceError> {
    let size = completion.data.as_ref().map(ContentSize::of).unwrap_or_default();
    if size.fits(ANSWER) {
        return Ok(());
    }
    let message = format!("the structured answer has {}", size.excess(ANSWER));
    Err(ServiceError::new(Category::InvalidAnswer, message))
}

/// Returns the conversation for the text model; with a vision model, its analyses replace the images.
fn seen_messages(
    session: &AgentSession,
    messages: Arc<Vec<Message>>,
    seen: Option<&VisionMemory>,
) -> Arc<Vec<Message>> {
    match seen {
        Some(seen) if session.vision_model.is_some() => vision::join(&messages, seen).into(),
        Some(_) | None => messages,
    }
}

fn request(
    session: &AgentSession,
    messages: Arc<Vec<Message>>,
    origin: &CompletionOrigin<'_>,
    call: &ServiceCall,
) -> CompletionRequest {
    let left = CallPolicy::of(call).budget().tokens.and_then(|left| u32::try_from(left).ok());
    CompletionRequest {
        system: session.system.clone(),
        messages,
        tools: session.tools.clone(),
        schema: session.schema.clone(),
        output_tokens_max: [session.output_tokens_max, left].into_iter().flatten().min(),
        reasoning: session.reasoning,
        ..origin.request(call)
    }
}

/// The origin of a request to a model, for scripts and observers.
pub(super) struct CompletionOrigin<'a> {
    pub(super) agent: &'a str,
    pub(super) occasion: Option<&'a str>,
    pub(super) attempt: Option<u32>,
}

impl CompletionOrigin<'_> {
    /// Builds a request without messages.
    pub(super) fn request(&self, call: &ServiceCall) -> CompletionRequest {
        CompletionRequest {
            idempotency: call.idempotency.to_string(),
            agent: self.agent.to_owned(),
            occasion: self.occasion.unwrap_or_default().to_owned(),
            attempt: self.attempt.unwrap_or(0),
            ..CompletionRequest::default()
        }
    }
}

/// Calls a model and reports progress to observers. An invalid structured response is requested again.
pub(super) async fn ask(
    chain: &ModelChain<'_>,
    mut request: CompletionRequest,
    call: &ServiceCall,
) -> Result<Completion, ServiceError> {
    let attempt = request.attempt;
    let failed = |error: &ProviderError| chain.fault(error, attempt, &call.idempotency);
    let (provider, name) = chain.find(attempt, &call.idempotency)?;
    request.model = name;
    let teller = call.teller.clone();
    let mut listener = move |event| teller.tell(value(&event));
    let (mut repairs, mut before) = (0, Usage::default());
    loop {
        // Only an answer in a form may be asked for again; a long conversation is not copied for nothing.
        let again = request.schema.clone().map(|schema| (schema, request.clone()));
        let mut completion =
            provider.complete(request, &mut listener).await.map_err(|error| failed(&error))?;
        completion.usage = before.plus(completion.usage);
        let Some((schema, mut next)) = again else { return Ok(completion) };
        let unfit = match judge(&completion, &schema) {
            Ok(data) => return Ok(Completion { data: Some(data), ..completion }),
            Err(Unfit::AskedForTools) => return Ok(completion),
            Err(unfit) => unfit,
        };
        match Repair::default().messages(repairs, &completion, &unfit, &schema) {
            Some(more) => Arc::make_mut(&mut next.messages).extend(more),
            None => return Err(ServiceError::new(Category::InvalidAnswer, unfit.to_string())),
        }
        (request, repairs, before) = (next, repairs + 1, completion.usage);
    }
}

/// Builds the result of a completion for the chart.
fn output(
    agent_services: &AgentServices,
    session: &AgentSession,
    completion: Completion,
    model: &str,
) -> CompleteOutput {
    let Completion { message, stop_reason, usage, data, .. } = completion;
    // By their own names: the gate, the audit and loop control must not be fooled by another one.
    let own_name = |call: ToolUse| match agent_services.toolbox.canonical_name(&call.name) {
        Some(name) => ToolUse { name, ..call },
        None => delegate::normalised(call),
    };
    let BoundedCalls { message, mut calls } = bounded_calls(message, own_name);
    if stop_reason == StopReason::ContentFilter {
        calls.clear();
    }
    let grant = within_settings(agent_services, session.grant.clone());
    if !grant.allows(delegate::TASK) {
        calls = calls.into_iter().map(delegate::refused).collect();
    }
    let tool_calls: Vec<PendingCall> =
        calls.into_iter().map(|call| group::with_kind(agent_services, call)).collect();
    // Pending tool calls override the stop reason of the provider.
    let stop_reason = if tool_calls.is_empty() { stop_reason } else { StopReason::ToolCalls };
    let size = usage.input_tokens + usage.output_tokens;
    let size = if size == 0 { messages_tokens(std::slice::from_ref(&message)) } else { size };
    CompleteOutput {
        text: text(&message),
        message,
        tool_calls,
        stop_reason,
        data: data.unwrap_or(Value::Null),
        usage,
        model: model.to_owned(),
        size,
    }
}

pub(super) fn text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
