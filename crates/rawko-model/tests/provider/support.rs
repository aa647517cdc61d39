//! Shared by the tests of providers: making requests, and printing results in one form.

use std::fmt::Write;
use std::time::Duration;

use rawko_model::provider::{
    ApiKey, Completion, CompletionRequest, Dialect, HttpProvider, OpenAiTraits, Provider, ProviderError,
    ReasoningReturn, SchemaSupport, StreamEvent,
};
use rawko_model::{Message, MessagePart, Role, Usage};
use rawko_testkit::{ModelReply, ProviderServer, WireProtocol};

pub(crate) const KEY: &str = "sk-secret-0123456789";

pub(crate) fn dialect(format: WireProtocol) -> Dialect {
    match format {
        WireProtocol::OpenAi => Dialect::OpenAi(OpenAiTraits {
            schema: SchemaSupport::JsonSchema,
            is_original: false,
            reasoning: ReasoningReturn::WithTools,
        }),
        WireProtocol::Anthropic => Dialect::Anthropic,
        WireProtocol::Gemini => Dialect::Gemini,
        WireProtocol::Ollama => Dialect::Ollama,
        WireProtocol::Responses => Dialect::Responses,
    }
}

pub(crate) fn provider(format: WireProtocol, url: &str) -> HttpProvider {
    let mut provider = HttpProvider::new("test", dialect(format), url, Some(ApiKey::new(KEY)));
    provider.idle_timeout = Duration::from_secs(30);
    provider
}

pub(crate) fn request() -> CompletionRequest {
    CompletionRequest {
        model: "test-model".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![Message::text(Role::User, "Hello?")].into(),
        ..CompletionRequest::default()
    }
}

/// Returns all events, and the result.
pub(crate) async fn ask(
    provider: &dyn Provider,
    request: CompletionRequest,
) -> (Vec<StreamEvent>, Result<Completion, ProviderError>) {
    let mut events = Vec::new();
    let result = provider.complete(request, &mut |event| events.push(event)).await;
    (events, result)
}

/// Requests one reply in one format over a real connection.
pub(crate) async fn answered(
    format: WireProtocol,
    reply: ModelReply,
) -> (Vec<StreamEvent>, Result<Completion, ProviderError>) {
    let server = ProviderServer::replying([reply]).await.unwrap();
    let (events, result) = ask(&provider(format, &server.url()), request()).await;
    // The port differs each time.
    let address = server.url().replace("http://", "");
    (
        events,
        result.map_err(|error| ProviderError { message: error.message.replace(&address, "SERVER"), ..error }),
    )
}

pub(crate) fn shown(result: &Result<Completion, ProviderError>) -> String {
    match result {
        Ok(completion) => shown_completion(completion),
        Err(error) => shown_error(error),
    }
}

fn shown_completion(completion: &Completion) -> String {
    let mut shown = format!("{:?}", completion.stop_reason);
    for part in &completion.message.parts {
        match part {
            MessagePart::Text { text } => write!(shown, " | {text:?}").unwrap(),
            MessagePart::ToolUse(it) => {
                write!(shown, " | {}({}) as {}", it.name, it.input.to_json(), it.id).unwrap()
            }
            MessagePart::Reasoning(it) => {
                write!(shown, " | thinks {:?}", it.text).unwrap();
                if let Some(signature) = &it.signature {
                    write!(shown, " signed {signature}").unwrap();
                }
                if let Some(name) = &it.name {
                    write!(shown, " as {name}").unwrap();
                }
                if it.is_redacted {
                    shown.push_str(" (redacted)");
                }
            }
            MessagePart::Image { .. } | MessagePart::ImageRef { .. } | MessagePart::ToolResult(_) => {
                shown.push_str(" | never")
            }
        }
    }
    let Usage { input_tokens, output_tokens, cached_tokens, is_estimate, .. } = completion.usage;
    let Usage { cache_write_tokens, reasoning_tokens, .. } = completion.usage;
    write!(shown, " | {input_tokens} in, {output_tokens} out").unwrap();
    if cached_tokens > 0 {
        write!(shown, ", {cached_tokens} cached").unwrap();
    }
    if cache_write_tokens > 0 {
        write!(shown, ", {cache_write_tokens} written").unwrap();
    }
    if reasoning_tokens > 0 {
        write!(shown, ", {reasoning_tokens} reasoning").unwrap();
    }
    if is_estimate {
        shown.push_str(" (estimate)");
    }
    if let Some(data) = &completion.data {
        write!(shown, " | data {data}").unwrap();
    }
    shown
}

pub(crate) fn shown_error(error: &ProviderError) -> String {
    let mut shown = error.code.as_str().to_owned();
    if let Some(ms) = error.retry_after_ms {
        write!(shown, " in {ms} ms").unwrap();
    }
    format!("{shown}: {}", error.message)
}

/// Prints one line for each case, prefixed by its name.
pub(crate) fn table(rows: impl IntoIterator<Item = (String, String)>) -> String {
    rows.into_iter().map(|(name, outcome)| format!("{name}\n    {outcome}\n")).collect()
}
