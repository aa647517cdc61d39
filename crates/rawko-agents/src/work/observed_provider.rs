//! A provider wrapper that reports completions to an observer: model, duration and usage. Wraps all providers, because
//! agents, the arbiter and summaries call models through different code.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use rawko_host::{CompletionUsage, HostEvent, ObservedCompletion, Observer, TracedMessages};
use serde_json::{Value as Json, json};

use rawko_model::provider::{
    Completion, CompletionFuture, CompletionRequest, Provider, ProviderError, Providers, StreamListener,
};
use rawko_model::{Message, MessagePart, Role, StopReason};

/// Reports every completion of these providers to an observer.
#[must_use]
pub fn observed(providers: Providers, observer: Arc<dyn Observer>) -> Providers {
    providers.wrapped_by(Arc::new(move |name, inner| Arc::new(ObservedProvider::new(inner, name, &observer))))
}

struct ObservedProvider {
    inner: Arc<dyn Provider>,
    name: String,
    observer: Arc<dyn Observer>,
}

impl ObservedProvider {
    fn new(inner: Arc<dyn Provider>, name: &str, observer: &Arc<dyn Observer>) -> Self {
        Self { inner, name: name.to_owned(), observer: Arc::clone(observer) }
    }

    fn asked(&self, request: &CompletionRequest) -> ObservedCompletion {
        ObservedCompletion {
            idempotency: request.idempotency.clone(),
            agent: request.agent.clone(),
            provider: self.name.clone(),
            model: request.model.clone(),
            response_model: None,
            attempt: request.attempt,
            output_tokens_max: request.output_tokens_max,
            temperature: request.temperature,
            structured: request.schema.is_some(),
            started: SystemTime::now(),
            took: std::time::Duration::ZERO,
            finish: Err("stopped".into()),
            usage: CompletionUsage::default(),
            said: self.observer.wants_content().then(|| said(request)),
        }
    }
}

impl Provider for ObservedProvider {
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a> {
        Box::pin(async move {
            let mut watch = CompletionWatch {
                observer: &self.observer,
                from: Instant::now(),
                seen: Some(self.asked(&request)),
            };
            let result = self.inner.complete(request, listener).await;
            watch.over(&result);
            result
        })
    }
}

/// A running completion. An abandoned one is reported too: it may have been paid for.
struct CompletionWatch<'a> {
    observer: &'a Arc<dyn Observer>,
    from: Instant,
    seen: Option<ObservedCompletion>,
}

impl CompletionWatch<'_> {
    fn over(&mut self, result: &Result<Completion, ProviderError>) {
        let Some(seen) = &mut self.seen else { return };
        match result {
            Ok(completion) => {
                seen.finish = Ok(word(completion.stop_reason).into());
                seen.response_model.clone_from(&completion.model);
                let usage = &completion.usage;
                seen.usage = CompletionUsage {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    cached_tokens: usage.cached_tokens,
                    cache_write_tokens: usage.cache_write_tokens,
                    reasoning_tokens: usage.reasoning_tokens,
                    cost_usd: usage.cost_usd,
                };
                if let Some(said) = &mut seen.said {
                    said.output = json!([spoken(&completion.message)]).to_string();
                }
            }
            Err(error) => seen.finish = Err(error.code.as_str().into()),
        }
    }
}

impl Drop for CompletionWatch<'_> {
    fn drop(&mut self) {
        if let Some(mut seen) = self.seen.take() {
            seen.took = self.from.elapsed();
            self.observer.observe(HostEvent::Completed(seen));
        }
    }
}

/// Returns the name in the trace conventions.
fn word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => "stop",
        StopReason::ToolCalls => "tool_call",
        StopReason::Length => "length",
        StopReason::ContentFilter => "content_filter",
        StopReason::Other => "other",
    }
}

fn said(request: &CompletionRequest) -> TracedMessages {
    let input: Vec<Json> = request.messages.iter().map(spoken).collect();
    let system = match request.system.as_str() {
        "" => json!([]),
        text => json!([{"type": "text", "content": text}]),
    };
    TracedMessages {
        system: system.to_string(),
        input: Json::from(input).to_string(),
        output: "[]".to_owned(),
    }
}

fn spoken(message: &Message) -> Json {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({"role": role, "parts": message.parts.iter().map(part).collect::<Vec<_>>()})
}

/// Images are omitted from traces.
fn part(part: &MessagePart) -> Json {
    match part {
        MessagePart::Text { text } => json!({"type": "text", "content": text}),
        MessagePart::Image { media_type, .. } | MessagePart::ImageRef { media_type, .. } => {
            json!({"type": "blob", "mime_type": media_type, "modality": "image"})
        }
        MessagePart::Reasoning(reasoning) => json!({"type": "reasoning", "content": reasoning.text}),
        MessagePart::ToolUse(call) => {
            json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.input.to_json()})
        }
        MessagePart::ToolResult(result) => {
            json!({"type": "tool_call_response", "id": result.id, "response": result.content})
        }
    }
}
