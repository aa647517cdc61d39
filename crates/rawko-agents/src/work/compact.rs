//! `work:compact`: shrinks a conversation that exceeds its model's context. It either makes progress or fails.

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};

use super::bounds::{TEXT_BYTES_MAX, cut};
use super::complete::{ask, bare};
use super::models::ModelChain;
use super::session::Session;
use super::{Workshop, part, untrust, value};
use rawko_model::provider::{
    Compaction, CompactionAttempt, CompactionLimits, CompletionRequest, SUMMARY_SYSTEM, Summarising,
    compact as next, messages_tokens, request_tokens,
};
use rawko_model::{Message, Usage};

pub(super) async fn compact(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let session: Session = part(&call.input, "session")?;
    let messages: Vec<Message> = part(&call.input, "messages")?;
    let overhead = request_tokens(&CompletionRequest {
        system: session.system.clone(),
        tools: session.tools.clone(),
        ..CompletionRequest::default()
    });
    let limits = limits(&session, messages_tokens(&messages) + overhead);
    let before = messages.clone();
    let (mut smaller, usage) = shrink(workshop, &session, messages, (overhead, limits), &call).await?;
    untrust::mark_of_summary(&before, &mut smaller);
    let size = messages_tokens(&smaller) + overhead;
    Ok(Value::map([
        ("messages", value(&smaller)),
        ("size", Value::Int(i64::try_from(size).unwrap_or(i64::MAX))),
        ("usage", value(&usage)),
    ]))
}

/// The provider found it too long, regardless of our estimate, so it must become smaller than it is.
fn limits(session: &Session, tokens: u64) -> CompactionLimits {
    let limits = CompactionLimits::of_context(session.size_max);
    let tokens_max = limits.tokens_max.min(tokens.saturating_sub(1));
    CompactionLimits { tokens_max, kept_tokens: limits.kept_tokens.min(tokens_max / 2), ..limits }
}

async fn shrink(
    workshop: &Workshop,
    session: &Session,
    messages: Vec<Message>,
    (overhead, limits): (u64, CompactionLimits),
    call: &Call,
) -> Result<(Vec<Message>, Usage), ServiceError> {
    match next(&messages, overhead, limits, CompactionAttempt::Nothing) {
        Compaction::Fits => Ok((messages, Usage::default())),
        Compaction::Shorten(shorter) => Ok((shorter, Usage::default())),
        Compaction::GiveUp { tokens } => Err(too_long(tokens)),
        Compaction::Summarise(summarising) => {
            let (summary, usage) = summarise(workshop, session, &summarising, call).await?;
            match summarising.apply(&messages, &summary) {
                Ok(shorter) => Ok((shorter, usage)),
                Err(_) => match next(&messages, overhead, limits, CompactionAttempt::Summary) {
                    Compaction::Shorten(shorter) => Ok((shorter, usage)),
                    Compaction::Fits | Compaction::Summarise(_) => Ok((messages, usage)),
                    Compaction::GiveUp { tokens } => Err(too_long(tokens)),
                },
            }
        }
    }
}

async fn summarise(
    workshop: &Workshop,
    session: &Session,
    summarising: &Summarising,
    call: &Call,
) -> Result<(String, Usage), ServiceError> {
    let request = CompletionRequest {
        system: SUMMARY_SYSTEM.into(),
        messages: summarising.ask.clone(),
        ..bare(session, call)
    };
    let request = CompletionRequest { occasion: format!("{}/summary", request.occasion), ..request };
    let chain = ModelChain::of(workshop, &session.model, &session.model_from, call);
    let completion = ask(&chain, request, call).await?;
    let summary = cut(super::complete::text(&completion.message), TEXT_BYTES_MAX, "a summary is limited");
    Ok((summary, completion.usage))
}

fn too_long(tokens: u64) -> ServiceError {
    let message = format!("the conversation has about {tokens} tokens and cannot be made smaller");
    ServiceError::new(Category::Failed, message)
        .with_details(Value::map([("code", Value::str("context_length_exceeded"))]))
}
