//! `work:compact`: shrinks a conversation that exceeds its model's context. It either makes progress or fails.

use rawko_host::{ServiceCall, ServiceError};

use super::bounds::{TEXT_BYTES_MAX, cut};
use super::complete::{CompletionOrigin, ask, too_long};
use super::models::ModelChain;
use super::types::{CompactInput, CompactOutput};
use super::{AgentServices, untrusted_text};
use rawko_model::provider::{
    Compaction, CompactionAttempt, CompactionLimits, CompletionRequest, SUMMARY_SYSTEM, Summarising,
    compact as next, messages_tokens, request_tokens,
};
use rawko_model::{Message, Usage};

pub(super) async fn compact(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: CompactInput,
) -> Result<CompactOutput, ServiceError> {
    let session = &input.session;
    let overhead = request_tokens(&CompletionRequest {
        system: session.system.clone(),
        tools: session.tools.clone(),
        ..CompletionRequest::default()
    });
    let limits = limits(session.size_max, messages_tokens(&input.messages) + overhead);
    let (mut smaller, usage) = shrink(agent_services, &input, (overhead, limits), call).await?;
    untrusted_text::mark_of_summary(&input.messages, &mut smaller);
    let size = messages_tokens(&smaller) + overhead;
    Ok(CompactOutput { messages: smaller, size, usage })
}

/// The provider found it too long, regardless of our estimate, so it must become smaller than it is.
fn limits(size_max: u64, tokens: u64) -> CompactionLimits {
    let limits = CompactionLimits::of_context(size_max);
    let tokens_max = limits.tokens_max.min(tokens.saturating_sub(1));
    CompactionLimits { tokens_max, kept_tokens: limits.kept_tokens.min(tokens_max / 2), ..limits }
}

async fn shrink(
    agent_services: &AgentServices,
    input: &CompactInput,
    (overhead, limits): (u64, CompactionLimits),
    call: &ServiceCall,
) -> Result<(Vec<Message>, Usage), ServiceError> {
    let messages = &input.messages;
    match next(messages, overhead, limits, CompactionAttempt::Nothing) {
        Compaction::Fits => Ok((messages.clone(), Usage::default())),
        Compaction::Shorten(shorter) => Ok((shorter, Usage::default())),
        Compaction::GiveUp { tokens } => Err(too_many(tokens)),
        Compaction::Summarise(summarising) => {
            let (summary, usage) = summarise(agent_services, input, &summarising, call).await?;
            match summarising.apply(messages, &summary) {
                Ok(shorter) => Ok((shorter, usage)),
                Err(_) => match next(messages, overhead, limits, CompactionAttempt::Summary) {
                    Compaction::Shorten(shorter) => Ok((shorter, usage)),
                    Compaction::Fits | Compaction::Summarise(_) => Ok((messages.clone(), usage)),
                    Compaction::GiveUp { tokens } => Err(too_many(tokens)),
                },
            }
        }
    }
}

async fn summarise(
    agent_services: &AgentServices,
    input: &CompactInput,
    summarising: &Summarising,
    call: &ServiceCall,
) -> Result<(String, Usage), ServiceError> {
    let session = &input.session;
    let origin = CompletionOrigin {
        agent: &session.agent,
        occasion: input.occasion.as_deref(),
        attempt: input.attempt,
    };
    let request = CompletionRequest {
        system: SUMMARY_SYSTEM.into(),
        messages: summarising.ask.clone().into(),
        ..origin.request(call)
    };
    let request = CompletionRequest { occasion: format!("{}/summary", request.occasion), ..request };
    let chain = ModelChain::of(agent_services, &session.model, &session.model_from, input.model_index);
    let completion = ask(&chain, request, call).await?;
    let summary = cut(super::complete::text(&completion.message), TEXT_BYTES_MAX, "a summary is limited");
    Ok((summary, completion.usage))
}

fn too_many(tokens: u64) -> ServiceError {
    too_long(format!("the conversation has about {tokens} tokens and cannot be made smaller"))
}
