//! Streams that never end: pings, comments, empty parts and single bytes do not count as an answer, and an answer that
//! drips has a time limit as well.

use std::time::Duration;

use expect_test::expect;
use rawko_testkit::{ModelReply, ProviderServer, ReplyEnding, WireProtocol};
use serde_json::json;

use crate::support::{ask, provider, request, shown, table};

/// Long enough for a busy machine to answer in; how long it takes is not what these tests are about.
const SHORT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, PartialEq)]
enum Limit {
    Idle,
    Completion,
}

/// The limit that is meant to end it is short, the other one is out of reach.
async fn ended(format: WireProtocol, reply: ModelReply, limit: Limit) -> String {
    let server = ProviderServer::replying([reply.ending(ReplyEnding::Repeating)]).await.unwrap();
    let mut provider = provider(format, &server.url());
    let (short, long) = (SHORT, Duration::from_secs(600));
    provider.idle_timeout = if limit == Limit::Idle { short } else { long };
    provider.completion_timeout = if limit == Limit::Completion { short } else { long };
    let (_, result) = ask(&provider, request()).await;
    if let Err(error) = &result {
        assert!(error.is_transient(), "{error}: the same request may do better later");
    }
    let shown = shown(&result).replace(&server.url().replace("http://", ""), "SERVER");
    // The number of bytes that arrived depends on timing.
    let body = shown.trim_end_matches('x').len();
    if body < shown.len() { format!("{}x…", &shown[..body]) } else { shown }
}

/// All at once, since each takes its time.
async fn all_ended(
    cases: impl IntoIterator<Item = (&'static str, WireProtocol, ModelReply)>,
    limit: Limit,
) -> String {
    let run = |(name, format, reply)| (name, tokio::spawn(ended(format, reply, limit)));
    let running: Vec<_> = cases.into_iter().map(run).collect();
    let mut rows = Vec::new();
    for (name, ending) in running {
        rows.push((name.to_owned(), ending.await.unwrap()));
    }
    table(rows)
}

fn openai(delta: serde_json::Value) -> String {
    rawko_testkit::openai::delta(delta)
}

#[tokio::test]
async fn a_stream_that_says_nothing_ends_with_the_idle_timeout() {
    let ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned();
    let cases = [
        ("Anthropic: pings", WireProtocol::Anthropic, ModelReply::events([ping])),
        ("OpenRouter: comments", WireProtocol::OpenAi, ModelReply::events([": OPENROUTER PROCESSING\n\n"])),
        ("OpenAI: empty parts", WireProtocol::OpenAi, ModelReply::events([openai(json!({"content": ""}))])),
        ("OpenAI: a part, then empty ones", WireProtocol::OpenAi, {
            ModelReply::events([openai(json!({"content": "Hi"})), openai(json!({"content": ""}))])
        }),
        ("OpenAI: an event byte by byte", WireProtocol::OpenAi, ModelReply::events(["data: ", "x"])),
        ("Gemini: counts of tokens", WireProtocol::Gemini, {
            ModelReply::events(["data: {\"usageMetadata\": {\"promptTokenCount\": 3}}\n\n"])
        }),
        ("Ollama: empty lines", WireProtocol::Ollama, ModelReply::lines(["\n"])),
        ("Ollama: empty parts", WireProtocol::Ollama, {
            ModelReply::lines([
                "{\"message\": {\"role\": \"assistant\", \"content\": \"\"}, \"done\": false}\n",
            ])
        }),
        ("a failure byte by byte", WireProtocol::OpenAi, ModelReply::text(503, "x")),
        ("a whole answer, then comments", WireProtocol::OpenAi, {
            let whole = [openai(json!({"content": "Hi"})), rawko_testkit::openai::finish("stop")];
            ModelReply::events(whole.into_iter().chain([": ping\n\n".to_owned()]))
        }),
    ];
    expect![[r#"
        Anthropic: pings
            network_error: test: `SERVER` sent no part of a response for 3s
        OpenRouter: comments
            network_error: test: `SERVER` sent no part of a response for 3s
        OpenAI: empty parts
            network_error: test: `SERVER` sent no part of a response for 3s
        OpenAI: a part, then empty ones
            network_error: test: `SERVER` sent no part of a response for 3s
        OpenAI: an event byte by byte
            network_error: test: `SERVER` sent no part of a response for 3s
        Gemini: counts of tokens
            network_error: test: `SERVER` sent no part of a response for 3s
        Ollama: empty lines
            network_error: test: `SERVER` sent no part of a response for 3s
        Ollama: empty parts
            network_error: test: `SERVER` sent no part of a response for 3s
        a failure byte by byte
            model_unavailable: test: the provider returned 503: x…
        a whole answer, then comments
            Stop | "Hi" | 9 in, 1 out (estimate)
    "#]]
    .assert_eq(&all_ended(cases, Limit::Idle).await);
}

#[tokio::test]
async fn a_stream_that_never_finishes_ends_with_the_completion_timeout() {
    let thought =
        r#"data: {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}}"#;
    let cases = [
        (
            "OpenAI: text without end",
            WireProtocol::OpenAi,
            ModelReply::events([openai(json!({"content": "a"}))]),
        ),
        (
            "Anthropic: thoughts without end",
            WireProtocol::Anthropic,
            ModelReply::events([format!("{thought}\n\n")]),
        ),
        ("OpenAI: comments", WireProtocol::OpenAi, ModelReply::events([": ping\n\n"])),
    ];
    expect![[r#"
        OpenAI: text without end
            network_error: test: `SERVER` did not finish its response within 3s; raise `completion_timeout` of the provider to allow more
        Anthropic: thoughts without end
            network_error: test: `SERVER` did not finish its response within 3s; raise `completion_timeout` of the provider to allow more
        OpenAI: comments
            network_error: test: `SERVER` did not finish its response within 3s; raise `completion_timeout` of the provider to allow more
    "#]].assert_eq(&all_ended(cases, Limit::Completion).await);
}
