//! A second implementation: a provider server by other authors (npm `@copilotkit/aimock`) with all four formats, whose
//! responses we decode as intended. It must be installed: `cargo xtask tools`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use expect_test::expect;
use rawko_core::Value;
use rawko_model::provider::{
    ApiKey, Completion, CompletionRequest, Dialect, ErrorCode, HttpProvider, OpenAiTraits, Provider,
    ProviderError, ReasoningReturn, SchemaSupport,
};
use rawko_model::{Message, MessagePart, Role, ToolResult, ToolSpec};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const COMPATIBLE: OpenAiTraits = OpenAiTraits {
    schema: SchemaSupport::JsonSchema,
    is_original: false,
    reasoning: ReasoningReturn::WithTools,
};
const DIALECTS: [(&str, Dialect, &str); 4] = [
    ("openai", Dialect::OpenAi(COMPATIBLE), "/v1"),
    ("anthropic", Dialect::Anthropic, ""),
    ("gemini", Dialect::Gemini, ""),
    ("ollama", Dialect::Ollama, ""),
];

/// The server, stopped on drop.
struct Aimock {
    url: String,
    _child: Child,
    _fixtures: tempfile::TempDir,
}

impl Aimock {
    async fn start() -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = root.join("target/tools/node/node_modules/@copilotkit/aimock/dist/cli.js");
        assert!(program.is_file(), "aimock is not installed: run `cargo xtask tools`");
        let fixtures = tempfile::tempdir().unwrap();
        let file = fixtures.path().join("fixtures.json");
        std::fs::write(&file, fixture_text()).unwrap();
        let mut child = Command::new("node")
            .arg(program)
            .args(["--port", "0", "--chunk-size", "5", "--fixtures"])
            .arg(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.trim().to_owned();
            }
        };
        // It keeps writing and must not hit a closed pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { url, _child: child, _fixtures: fixtures }
    }
}

fn fixture_text() -> String {
    let answer = |said: &str, response: serde_json::Value| json!({"match": {"userMessage": said}, "response": response});
    let mut cut = answer("cut", json!({"content": "This is cut off in the middle."}));
    cut["truncateAfterChunks"] = 3.into();
    let mut malformed = answer("malformed", json!({"content": "never"}));
    malformed["chaos"] = json!({"malformedRate": 1});
    let calls =
        json!([{"name": "Read", "arguments": {"path": "src/größe.rs"}}, {"name": "Glob", "arguments": {}}]);
    let fixtures = [
        answer("hello", json!({"content": "Hello, how can I help?"})),
        json!({"match": {"userMessage": "tools", "hasToolResult": false}, "response": {"toolCalls": calls}}),
        json!({"match": {"userMessage": "tools", "hasToolResult": true}, "response": {"content": "I have read it."}}),
        answer(
            "both",
            json!({"content": "I look.", "toolCalls": [{"name": "Read", "arguments": {"path": "a"}}]}),
        ),
        answer("long", json!({"content": "and so on", "finishReason": "length"})),
        answer(
            "slow",
            json!({"error": {"message": "Rate limited", "type": "rate_limit_error"}, "status": 429, "retryAfter": 3}),
        ),
        answer(
            "overloaded",
            json!({"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529}),
        ),
        answer("empty", json!({"content": ""})),
        cut,
        malformed,
    ];
    json!({ "fixtures": fixtures }).to_string()
}

fn request(said: &str) -> CompletionRequest {
    let input_schema =
        Value::from_json(json!({"type": "object", "properties": {"path": {"type": "string"}}}));
    CompletionRequest {
        model: "test-model".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![Message::text(Role::User, said)].into(),
        tools: vec![ToolSpec {
            name: "Read".to_owned(),
            description: "Reads a file.".to_owned(),
            input_schema,
        }],
        ..CompletionRequest::default()
    }
}

/// Ids are generated anew each time, and counts differ from format to format.
fn shown(result: &Result<Completion, ProviderError>) -> String {
    match result {
        Ok(completion) => {
            let part = |part: &MessagePart| match part {
                MessagePart::Text { text } => format!("{text:?}"),
                MessagePart::ToolUse(it) => format!("{}({})", it.name, it.input.to_json()),
                MessagePart::Image { .. } | MessagePart::ImageRef { .. } | MessagePart::ToolResult(_) => {
                    "never".to_owned()
                }
                MessagePart::Reasoning(it) => format!("thinks {:?}", it.text),
            };
            let parts: Vec<String> = completion.message.parts.iter().map(part).collect();
            format!("{:?}: {}", completion.stop_reason, parts.join(", "))
        }
        // The position of a connection failure is random.
        Err(error) if error.code == ErrorCode::NetworkError => "network_error".to_owned(),
        Err(error) => {
            let wait = error.retry_after_ms.map(|ms| format!(" in {ms} ms")).unwrap_or_default();
            format!("{}{wait}: {error}", error.code.as_str())
        }
    }
}

#[tokio::test]
async fn aimock_is_understood_in_every_format() {
    let aimock = Aimock::start().await;
    let mut lines = String::new();
    for said in ["hello", "tools", "both", "long", "empty", "slow", "overloaded", "cut", "malformed"] {
        lines += &format!("{said}\n");
        for (name, dialect, path) in DIALECTS {
            let url = format!("{}{path}", aimock.url);
            let provider = HttpProvider::new(name, dialect, url, Some(ApiKey::new("test-key")));
            let result = provider.complete(request(said), &mut |_| {}).await;
            lines += &format!("    {name}: {}\n", shown(&result));
        }
    }
    expect![[r#"
        hello
            openai: Stop: "Hello, how can I help?"
            anthropic: Stop: "Hello, how can I help?"
            gemini: Stop: "Hello, how can I help?"
            ollama: Stop: "Hello, how can I help?"
        tools
            openai: ToolCalls: Read({"path":"src/größe.rs"}), Glob({})
            anthropic: ToolCalls: Read({"path":"src/größe.rs"}), Glob({})
            gemini: ToolCalls: Read({"path":"src/größe.rs"}), Glob({})
            ollama: ToolCalls: Read({"path":"src/größe.rs"}), Glob({})
        both
            openai: ToolCalls: "I look.", Read({"path":"a"})
            anthropic: ToolCalls: "I look.", Read({"path":"a"})
            gemini: ToolCalls: "I look.", Read({"path":"a"})
            ollama: ToolCalls: "I look.", Read({"path":"a"})
        long
            openai: Length: "and so on"
            anthropic: Length: "and so on"
            gemini: Length: "and so on"
            ollama: Stop: "and so on"
        empty
            openai: Stop: 
            anthropic: Stop: 
            gemini: Stop: 
            ollama: Stop: 
        slow
            openai: rate_limited in 3000 ms: openai: the provider returned 429: Rate limited
            anthropic: rate_limited in 3000 ms: anthropic: the provider returned 429: Rate limited
            gemini: rate_limited in 3000 ms: gemini: the provider returned 429: Rate limited
            ollama: rate_limited in 3000 ms: ollama: the provider returned 429: Rate limited
        overloaded
            openai: model_unavailable: openai: the provider returned 529: Overloaded
            anthropic: model_unavailable: anthropic: the provider returned 529: Overloaded
            gemini: model_unavailable: gemini: the provider returned 529: Overloaded
            ollama: model_unavailable: ollama: the provider returned 529: Overloaded
        cut
            openai: network_error
            anthropic: network_error
            gemini: network_error
            ollama: network_error
        malformed
            openai: unknown: openai: the provider's response cannot be parsed: it is not an event stream: `{malformed json: <<<chaos>>>`
            anthropic: unknown: anthropic: the provider's response cannot be parsed: it is not an event stream: `{malformed json: <<<chaos>>>`
            gemini: unknown: gemini: the provider's response cannot be parsed: it is not an event stream: `{malformed json: <<<chaos>>>`
            ollama: unknown: ollama: the provider's response cannot be parsed: key must be a string at line 1 column 2, in `{malformed json: <<<chaos>>>`
    "#]].assert_eq(&lines);
}

/// A call, its result, and the response after it: the server accepts its own call back.
#[tokio::test]
async fn aimock_takes_results_of_tools() {
    let aimock = Aimock::start().await;
    for (name, dialect, path) in DIALECTS {
        let provider = HttpProvider::new(name, dialect, format!("{}{path}", aimock.url), None);
        let mut asked = request("tools");
        let completion = provider.complete(asked.clone(), &mut |_| {}).await.unwrap();
        let result = |id: &str| {
            MessagePart::ToolResult(ToolResult {
                id: id.to_owned(),
                content: "fn main() {}".to_owned(),
                is_error: false,
            })
        };
        let results = completion.message.tool_uses().map(|it| result(&it.id)).collect();
        Arc::make_mut(&mut asked.messages)
            .extend([completion.message, Message { role: Role::User, parts: results }]);
        let second = provider.complete(asked, &mut |_| {}).await;
        assert_eq!(shown(&second), "Stop: \"I have read it.\"", "{name}");
    }
}
