//! Failures: the classification of each status and body, retry delays, and redaction of keys.

use std::time::Duration;

use expect_test::expect;
use rawko_model::provider::{ErrorCode, ProviderError};
use rawko_testkit::{ModelReply, ProviderServer, ReplyEnding, WireProtocol};
use serde_json::{Value, json};

use crate::support::{KEY, answered, ask, provider, request, shown, table};

async fn failed(format: WireProtocol, reply: ModelReply) -> String {
    shown(&answered(format, reply).await.1)
}

#[tokio::test]
async fn failures_by_status_and_body() {
    let gemini = |status: u16, kind: &str, message: &str, details: Value| {
        ModelReply::json(
            status,
            &json!({"error": {"code": status, "message": message, "status": kind, "details": details}}),
        )
    };
    let cases: Vec<(&str, WireProtocol, ModelReply)> = vec![
        (
            "OpenAI: wrong key",
            WireProtocol::OpenAi,
            WireProtocol::OpenAi.failure(401, "invalid_request_error", "Incorrect API key provided"),
        ),
        (
            "OpenAI: too many requests",
            WireProtocol::OpenAi,
            WireProtocol::OpenAi.failure(429, "requests", "Rate limit reached").header("retry-after", "2"),
        ),
        (
            "OpenAI: too many tokens a minute",
            WireProtocol::OpenAi,
            WireProtocol::OpenAi
                .failure(429, "tokens", "Request too large for gpt-4o on tokens per min")
                .header("retry-after-ms", "350"),
        ),
        (
            "OpenAI: nothing is paid for",
            WireProtocol::OpenAi,
            ModelReply::json(
                429,
                &json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}),
            ),
        ),
        (
            "OpenAI: too long",
            WireProtocol::OpenAi,
            ModelReply::json(
                400,
                &json!({"error": {"message": "This model's maximum context length is 128000 tokens.", "type": "invalid_request_error", "code": "context_length_exceeded"}}),
            ),
        ),
        (
            "OpenAI: wrong request",
            WireProtocol::OpenAi,
            WireProtocol::OpenAi.failure(400, "invalid_request_error", "Invalid schema for function"),
        ),
        (
            "OpenAI: no such model",
            WireProtocol::OpenAi,
            ModelReply::json(
                404,
                &json!({"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}),
            ),
        ),
        (
            "OpenAI: its own trouble",
            WireProtocol::OpenAi,
            WireProtocol::OpenAi.failure(500, "server_error", "The server had an error"),
        ),
        (
            "llama.cpp: too long",
            WireProtocol::OpenAi,
            ModelReply::json(
                400,
                &json!({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error"}}),
            ),
        ),
        (
            "vLLM: too long",
            WireProtocol::OpenAi,
            ModelReply::json(
                400,
                &json!({"object": "error", "message": "This model's maximum context length is 4096 tokens.", "type": "BadRequestError", "code": 400}),
            ),
        ),
        (
            "Z.ai: too long",
            WireProtocol::OpenAi,
            ModelReply::json(
                400,
                &json!({"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
            ),
        ),
        (
            "Z.ai: nothing is paid for",
            WireProtocol::OpenAi,
            ModelReply::json(
                429,
                &json!({"error": {"code": "1113", "message": "Insufficient balance or no resource package."}}),
            ),
        ),
        (
            "FastAPI: detail",
            WireProtocol::OpenAi,
            ModelReply::json(422, &json!({"detail": "field required"})),
        ),
        (
            "Anthropic: wrong key",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic.failure(401, "authentication_error", "invalid x-api-key"),
        ),
        (
            "Anthropic: too many requests",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic
                .failure(429, "rate_limit_error", "This request would exceed your rate limit")
                .header("retry-after", "17"),
        ),
        (
            "Anthropic: too long",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic.failure(
                400,
                "invalid_request_error",
                "prompt is too long: 213423 tokens > 200000 maximum",
            ),
        ),
        (
            "Anthropic: too large",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic.failure(413, "request_too_large", "Request exceeds the maximum size"),
        ),
        (
            "Anthropic: too much wanted",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic.failure(
                400,
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000",
            ),
        ),
        (
            "Anthropic: no credit",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic.failure(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API.",
            ),
        ),
        (
            "Anthropic: overloaded",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic.failure(529, "overloaded_error", "Overloaded").header("retry-after", "1"),
        ),
        (
            "Anthropic: OpenAI's words",
            WireProtocol::Anthropic,
            WireProtocol::OpenAi
                .failure(429, "rate_limit_error", "Rate limit reached")
                .header("retry-after", "0.5"),
        ),
        (
            "Anthropic: forbidden",
            WireProtocol::Anthropic,
            WireProtocol::Anthropic.failure(403, "permission_error", "Your key cannot use this"),
        ),
        (
            "Gemini: wrong key",
            WireProtocol::Gemini,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                json!([{"reason": "API_KEY_INVALID"}]),
            ),
        ),
        (
            "Gemini: too many requests",
            WireProtocol::Gemini,
            gemini(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota",
                json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.074824224s"}]),
            ),
        ),
        (
            "Gemini: too long",
            WireProtocol::Gemini,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                json!([]),
            ),
        ),
        (
            "Gemini: a list",
            WireProtocol::Gemini,
            ModelReply::json(
                503,
                &json!([{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]),
            ),
        ),
        (
            "Ollama: no such model",
            WireProtocol::Ollama,
            WireProtocol::Ollama.failure(404, "", "model 'x' not found"),
        ),
        (
            "Ollama: no tools",
            WireProtocol::Ollama,
            WireProtocol::Ollama.failure(400, "", "registry.ollama.ai/library/x does not support tools"),
        ),
        (
            "a proxy's page",
            WireProtocol::OpenAi,
            ModelReply::text(
                502,
                "<html><head><title>502 Bad Gateway</title></head>\n<body>nginx</body></html>",
            ),
        ),
        ("a gateway that waited", WireProtocol::OpenAi, ModelReply::text(504, "")),
        (
            "elsewhere",
            WireProtocol::OpenAi,
            ModelReply::text(302, "").header("location", "https://example.test/"),
        ),
        ("a success without content", WireProtocol::OpenAi, ModelReply::text(204, "")),
    ];
    let mut rows = Vec::new();
    for (name, format, reply) in cases {
        rows.push((name.to_owned(), failed(format, reply).await));
    }
    expect![[r#"
        OpenAI: wrong key
            authentication_failed: test: the provider returned 401: Incorrect API key provided
        OpenAI: too many requests
            rate_limited in 2000 ms: test: the provider returned 429: Rate limit reached
        OpenAI: too many tokens a minute
            rate_limited in 350 ms: test: the provider returned 429: Request too large for gpt-4o on tokens per min
        OpenAI: nothing is paid for
            authentication_failed: test: the provider returned 429: You exceeded your current quota
        OpenAI: too long
            context_length_exceeded: test: the provider returned 400: This model's maximum context length is 128000 tokens.
        OpenAI: wrong request
            invalid_request: test: the provider returned 400: Invalid schema for function
        OpenAI: no such model
            model_unavailable: test: the provider returned 404: The model `x` does not exist
        OpenAI: its own trouble
            model_unavailable: test: the provider returned 500: The server had an error
        llama.cpp: too long
            context_length_exceeded: test: the provider returned 400: the request exceeds the available context size, try increasing it
        vLLM: too long
            context_length_exceeded: test: the provider returned 400: This model's maximum context length is 4096 tokens.
        Z.ai: too long
            context_length_exceeded: test: the provider returned 400: Prompt exceeds max length
        Z.ai: nothing is paid for
            authentication_failed: test: the provider returned 429: Insufficient balance or no resource package.
        FastAPI: detail
            invalid_request: test: the provider returned 422: field required
        Anthropic: wrong key
            authentication_failed: test: the provider returned 401: invalid x-api-key
        Anthropic: too many requests
            rate_limited in 17000 ms: test: the provider returned 429: This request would exceed your rate limit
        Anthropic: too long
            context_length_exceeded: test: the provider returned 400: prompt is too long: 213423 tokens > 200000 maximum
        Anthropic: too large
            context_length_exceeded: test: the provider returned 413: Request exceeds the maximum size
        Anthropic: too much wanted
            context_length_exceeded: test: the provider returned 400: input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000
        Anthropic: no credit
            authentication_failed: test: the provider returned 400: Your credit balance is too low to access the Anthropic API.
        Anthropic: overloaded
            model_unavailable in 1000 ms: test: the provider returned 529: Overloaded
        Anthropic: OpenAI's words
            rate_limited in 500 ms: test: the provider returned 429: Rate limit reached
        Anthropic: forbidden
            authentication_failed: test: the provider returned 403: Your key cannot use this
        Gemini: wrong key
            authentication_failed: test: the provider returned 400: API key not valid. Please pass a valid API key.
        Gemini: too many requests
            rate_limited in 34075 ms: test: the provider returned 429: You exceeded your current quota
        Gemini: too long
            context_length_exceeded: test: the provider returned 400: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
        Gemini: a list
            model_unavailable: test: the provider returned 503: The model is overloaded.
        Ollama: no such model
            model_unavailable: test: the provider returned 404: model 'x' not found
        Ollama: no tools
            invalid_request: test: the provider returned 400: registry.ollama.ai/library/x does not support tools
        a proxy's page
            model_unavailable: test: the provider returned 502: 502 Bad Gateway nginx
        a gateway that waited
            network_error: test: the provider returned 504
        elsewhere
            invalid_request: test: the provider returned 302
        a success without content
            unknown: test: the provider returned 204
    "#]].assert_eq(&table(rows));
}

#[test]
fn a_model_that_does_not_exist_is_not_waited_for() {
    let error = |status| ProviderError {
        status: Some(status),
        ..ProviderError::new(ErrorCode::ModelUnavailable, "")
    };
    assert!(!error(404).is_transient());
    assert!(error(529).is_transient());
}

/// A service that repeats the request, in every way it can fail.
#[tokio::test]
async fn the_key_is_never_shown() {
    let said = format!("wrong key {KEY} in `Bearer {KEY}`");
    for format in WireProtocol::ALL {
        for reply in [
            format.failure(401, "authentication_error", &said),
            ModelReply::text(500, &said),
            ModelReply::text(200, &said),
            ModelReply::events([format!("data: {}\n\n", json!({ "error": said }))]),
            // Truncating a long message must not leave half of the key.
            ModelReply::text(500, &format!("{}{KEY}", "x".repeat(490))),
        ] {
            let (_, result) = answered(format, reply).await;
            let error = result.unwrap_err();
            let shown = format!("{error} {error:?} {}", serde_json::to_string(&error).unwrap());
            assert!(!shown.contains(KEY) && !shown.contains("sk-secret"), "{format:?}: {shown}");
        }
        let server = ProviderServer::replying([]).await.unwrap();
        let provider = provider(format, &server.url());
        assert!(!format!("{provider:?}").contains(KEY));
        ask(&provider, request()).await.1.unwrap_err();
        let asked = server.asked().remove(0);
        assert!(!asked.path.contains(KEY), "not in the address, which proxies write down");
        assert!(asked.headers.values().any(|value| value.contains(KEY)), "{format:?}: it is sent");
    }
}

#[tokio::test]
async fn nobody_there_and_nobody_speaking() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let (_, refused) = ask(&provider(WireProtocol::OpenAi, &format!("http://{address}")), request()).await;
    let mut rows = vec![("nothing listens".to_owned(), shown(&refused).replace(&address, "SERVER"))];
    for (name, reply) in [
        ("silence after the head", ModelReply::events([] as [&str; 0]).ending(ReplyEnding::Silent)),
        (
            "silence in the middle",
            ModelReply::events([rawko_testkit::openai::delta(json!({"content": "Hi"}))])
                .ending(ReplyEnding::Silent),
        ),
        (
            "silence after the reason",
            ModelReply::events([
                rawko_testkit::openai::delta(json!({"content": "Hi"})),
                rawko_testkit::openai::finish("stop"),
            ])
            .ending(ReplyEnding::Silent),
        ),
        ("hung up after the head", ModelReply::events([] as [&str; 0]).ending(ReplyEnding::Cut)),
    ] {
        let server = ProviderServer::replying([reply]).await.unwrap();
        let mut provider = provider(WireProtocol::OpenAi, &server.url());
        if name.starts_with("silence") {
            provider.idle_timeout = Duration::from_secs(1);
        }
        let (_, result) = ask(&provider, request()).await;
        rows.push((name.to_owned(), shown(&result).replace(&server.url().replace("http://", ""), "SERVER")));
    }
    expect![[r#"
        nothing listens
            network_error: test: `SERVER` refused the connection
        silence after the head
            network_error: test: `SERVER` sent no part of a response for 1s
        silence in the middle
            network_error: test: `SERVER` sent no part of a response for 1s
        silence after the reason
            Stop | "Hi" | 9 in, 1 out (estimate)
        hung up after the head
            network_error: test: the provider closed the connection without a response
    "#]]
    .assert_eq(&table(rows));
}

#[tokio::test]
async fn an_answer_without_end_is_refused() {
    let line = "x".repeat(1024 * 1024);
    let reply = ModelReply::events((0..10).map(|_| line.clone()));
    let (_, result) = answered(WireProtocol::OpenAi, reply).await;
    assert_eq!(
        shown(&result),
        "unknown: test: the provider's response cannot be parsed: it is too large for a model response"
    );
}

/// The same over a real connection that breaks.
#[tokio::test]
async fn a_cut_anywhere_is_noticed() {
    let answer =
        rawko_testkit::ModelAnswer::text(&["Hello", " there"]).call("id_1", "Read", json!({"path": "a"}));
    for format in WireProtocol::ALL {
        let whole = format.reply(&answer);
        let length = whole.bytes().len();
        let complete = shown_message(&answered(format, whole.clone()).await.1.unwrap());
        for at in (0..length).step_by(length / 10) {
            match answered(format, whole.clone().cut_after(at)).await.1 {
                Ok(completion) => {
                    assert_eq!(shown_message(&completion), complete, "{format:?} cut after {at}")
                }
                Err(error) => {
                    assert_eq!(error.code, ErrorCode::NetworkError, "{format:?} cut after {at}: {error}")
                }
            }
        }
    }
}

fn shown_message(completion: &rawko_model::provider::Completion) -> String {
    serde_json::to_string(&completion.message).unwrap()
}
