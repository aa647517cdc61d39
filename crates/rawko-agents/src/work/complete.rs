//! `model:complete`: one completion. Returns text, tool calls, stop reason and cost, or the error in a form that the
//! chart can act on.

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};

use super::attachments::load_all;
use super::bounds::{ANSWER, BoundedCalls, CONVERSATION, Size, bounded_calls};
use super::models::ModelChain;
use super::open::within_settings;
use super::session::Session;
use super::{Workshop, delegate, group, part, value};
use rawko_model::provider::{
    Completion, CompletionRequest, ProviderError, Repair, Unfit, judge, messages_tokens,
};
use rawko_model::vision;
use rawko_model::{Message, Part, StopReason, ToolUse, Usage};

pub(super) async fn complete(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let session: Session = part(&call.input, "session")?;
    check_conversation(call.input.get("messages"))?;
    let messages = load_all(seen_messages(&session, &call)?, &call.contents).await?;
    let request = request(&session, messages, &call);
    let chain = ModelChain::of(workshop, &session.model, &session.model_from, &call);
    let completion = ask(&chain, request, &call).await?;
    check_answer(&completion)?;
    Ok(told(workshop, &session, completion, chain.model()))
}

/// A conversation that is larger than the chart can add to, as if the model had found it too long: it is compacted.
fn check_conversation(messages: &Value) -> Result<(), ServiceError> {
    let size = Size::of(messages);
    if size.fits(CONVERSATION) {
        return Ok(());
    }
    let message = format!("the conversation has {}", size.excess(CONVERSATION));
    let details = [("code", Value::str("context_length_exceeded")), ("transient", Value::Bool(false))];
    Err(ServiceError::new(Category::Failed, message).with_details(Value::map(details)))
}

fn check_answer(completion: &Completion) -> Result<(), ServiceError> {
    let size = completion.data.as_ref().map(Size::of).unwrap_or_default();
    if size.fits(ANSWER) {
        return Ok(());
    }
    let message = format!("the structured answer has {}", size.excess(ANSWER));
    Err(ServiceError::new(Category::InvalidAnswer, message))
}

/// Returns the conversation for the text model; with a vision model, its analyses replace the images.
fn seen_messages(session: &Session, call: &Call) -> Result<Vec<Message>, ServiceError> {
    let messages: Vec<Message> = part(&call.input, "messages")?;
    if session.vision_model.is_none() || call.input.get("seen").is_null() {
        return Ok(messages);
    }
    Ok(vision::join(&messages, &part(&call.input, "seen")?))
}

fn request(session: &Session, messages: Vec<Message>, call: &Call) -> CompletionRequest {
    let left = call.policy.get("budget").get("tokens").as_i64().and_then(|left| u32::try_from(left).ok());
    CompletionRequest {
        system: session.system.clone(),
        messages,
        tools: session.tools.clone(),
        schema: session.schema.clone(),
        output_tokens_max: [session.output_tokens_max, left].into_iter().flatten().min(),
        reasoning: session.reasoning,
        ..bare(session, call)
    }
}

/// Builds a request with its agent, occasion and model.
pub(super) fn bare(session: &Session, call: &Call) -> CompletionRequest {
    bare_as(&session.agent, call)
}

pub(super) fn bare_as(agent: &str, call: &Call) -> CompletionRequest {
    CompletionRequest {
        idempotency: call.idempotency.to_string(),
        agent: agent.to_owned(),
        occasion: call.input.get("occasion").as_str().unwrap_or_default().to_owned(),
        attempt: call.input.get("attempt").as_i64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        ..CompletionRequest::default()
    }
}

/// Calls a model and reports progress to observers. An invalid structured response is requested again.
pub(super) async fn ask(
    chain: &ModelChain<'_>,
    mut request: CompletionRequest,
    call: &Call,
) -> Result<Completion, ServiceError> {
    let attempt = request.attempt;
    let failed = |error: &ProviderError| chain.fault(error, attempt, &call.idempotency);
    let (provider, name) = chain.find(attempt, &call.idempotency)?;
    request.model = name;
    let teller = call.teller.clone();
    let mut listener = move |event| teller.tell(value(&event));
    let (mut repairs, mut before) = (0, Usage::default());
    loop {
        let mut completion =
            provider.complete(request.clone(), &mut listener).await.map_err(|error| failed(&error))?;
        completion.usage = before.plus(completion.usage);
        let Some(schema) = &request.schema else { return Ok(completion) };
        let unfit = match judge(&completion, schema) {
            Ok(data) => return Ok(Completion { data: Some(data), ..completion }),
            Err(Unfit::AskedForTools) => return Ok(completion),
            Err(unfit) => unfit,
        };
        match Repair::default().messages(repairs, &completion, &unfit, schema) {
            Some(more) => request.messages.extend(more),
            None => return Err(ServiceError::new(Category::InvalidAnswer, unfit.to_string())),
        }
        (repairs, before) = (repairs + 1, completion.usage);
    }
}

/// Builds the result of a completion for the chart.
fn told(workshop: &Workshop, session: &Session, completion: Completion, model: &str) -> Value {
    let Completion { message, stop_reason, usage, data, .. } = completion;
    // By their own names: the gate, the audit and loop control must not be fooled by another one.
    let own_name = |call: ToolUse| match workshop.toolbox.canonical_name(&call.name) {
        Some(name) => ToolUse { name, ..call },
        None => delegate::normalised(call),
    };
    let BoundedCalls { message, mut calls } = bounded_calls(message, own_name);
    if stop_reason == StopReason::ContentFilter {
        calls.clear();
    }
    let grant = within_settings(workshop, session.grant.clone());
    if !grant.allows(delegate::TASK) {
        calls = calls.into_iter().map(delegate::refused).collect();
    }
    let calls: Vec<Value> = calls.into_iter().map(|call| group::with_kind(workshop, call)).collect();
    // Pending tool calls override the stop reason of the provider.
    let stop_reason = if calls.is_empty() { stop_reason } else { StopReason::ToolCalls };
    let size = usage.input_tokens + usage.output_tokens;
    let size = if size == 0 { messages_tokens(std::slice::from_ref(&message)) } else { size };
    Value::map([
        ("message", value(&message)),
        ("tool_calls", Value::list(calls)),
        ("stop_reason", value(&stop_reason)),
        ("text", Value::from(text(&message))),
        ("data", data.unwrap_or(Value::Null)),
        ("usage", value(&usage)),
        ("model", Value::str(model)),
        ("size", Value::Int(i64::try_from(size).unwrap_or(i64::MAX))),
    ])
}

pub(super) fn text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Image { .. }
        | Part::ImageRef { .. }
        | Part::ToolUse(_)
        | Part::ToolResult(_)
        | Part::Reasoning(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
