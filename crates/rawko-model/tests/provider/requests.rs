//! Exact wire requests for a request that uses every feature.

use expect_test::{Expect, expect};
use rawko_core::Value;
use rawko_model::provider::{
    CompletionRequest, Dialect, OpenAiTraits, OutputSchema, ReasoningReturn, SchemaSupport,
};
use rawko_model::{Message, MessagePart, Role, ToolResult, ToolSpec, ToolUse};
use rawko_testkit::{ModelAnswer, ProviderServer, WireProtocol};
use serde_json::json;

use crate::support::{KEY, ask, dialect, provider, request};

fn value(json: serde_json::Value) -> Value {
    Value::from_json(json)
}

fn result(id: &str, content: &str, is_error: bool) -> MessagePart {
    MessagePart::ToolResult(ToolResult { id: id.to_owned(), content: content.to_owned(), is_error })
}

fn call(id: &str, name: &str, input: serde_json::Value) -> MessagePart {
    MessagePart::ToolUse(ToolUse { id: id.to_owned(), name: name.to_owned(), input: value(input) })
}

/// An image, two calls, their results with a remark beside them, and a response.
fn everything() -> CompletionRequest {
    let text = |text: &str| MessagePart::Text { text: text.to_owned() };
    let image = MessagePart::Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() };
    let message = |role, parts| Message { role, parts };
    CompletionRequest {
        model: "test-model".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![
            message(Role::User, vec![text("What is this?"), image]),
            message(
                Role::Assistant,
                vec![
                    text("I look."),
                    call("a1", "Read", json!({"path": "x"})),
                    call("a2", "Glob", json!({})),
                ],
            ),
            message(
                Role::User,
                vec![text("Be quick."), result("a1", "found", false), result("a2", "no such folder", true)],
            ),
            message(Role::Assistant, vec![text("")]),
            message(Role::User, vec![text("Well?")]),
        ]
        .into(),
        tools: vec![ToolSpec {
            name: "Read".to_owned(),
            description: "Reads a file.".to_owned(),
            input_schema: value(
                json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}),
            ),
        }],
        output_tokens_max: Some(500),
        temperature: Some(0.5),
        ..CompletionRequest::default()
    }
}

fn check(dialect: Dialect, request: &CompletionRequest, expected: Expect) {
    let body = dialect.body(request, Some(32_768));
    let mut lines = String::new();
    for (key, value) in body.as_object().unwrap() {
        match value.as_array() {
            Some(items) => {
                lines += &format!("{key}:\n");
                lines.extend(items.iter().map(|item| format!("  - {item}\n")));
            }
            None => lines += &format!("{key}: {value}\n"),
        }
    }
    expected.assert_eq(&lines);
}

#[test]
fn openai() {
    check(
        dialect(WireProtocol::OpenAi),
        &everything(),
        expect![[r#"
        model: "test-model"
        messages:
          - {"role":"system","content":"Be brief."}
          - {"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}
          - {"role":"assistant","content":"I look.","tool_calls":[{"id":"a1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"x\"}"}},{"id":"a2","type":"function","function":{"name":"Glob","arguments":"{}"}}]}
          - {"role":"tool","tool_call_id":"a1","content":"found"}
          - {"role":"tool","tool_call_id":"a2","content":"no such folder"}
          - {"role":"user","content":"Be quick."}
          - {"role":"assistant","content":""}
          - {"role":"user","content":"Well?"}
        stream: true
        stream_options: {"include_usage":true}
        tools:
          - {"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}
        max_tokens: 500
        temperature: 0.5
    "#]],
    );
}

#[test]
fn anthropic() {
    check(
        dialect(WireProtocol::Anthropic),
        &everything(),
        expect![[r#"
            model: "test-model"
            max_tokens: 500
            system:
              - {"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}
            messages:
              - {"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="},"cache_control":{"type":"ephemeral"}}]}
              - {"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a1","name":"Read","input":{"path":"x"}},{"type":"tool_use","id":"a2","name":"Glob","input":{}}]}
              - {"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":"found"},{"type":"tool_result","tool_use_id":"a2","content":"no such folder","is_error":true},{"type":"text","text":"Be quick."},{"type":"text","text":"Well?","cache_control":{"type":"ephemeral"}}]}
            stream: true
            tools:
              - {"name":"Read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false},"cache_control":{"type":"ephemeral"}}
            temperature: 0.5
        "#]],
    );
}

#[test]
fn gemini() {
    check(
        dialect(WireProtocol::Gemini),
        &everything(),
        expect![[r#"
        systemInstruction: {"parts":[{"text":"Be brief."}]}
        contents:
          - {"role":"user","parts":[{"text":"What is this?"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
          - {"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"Read","args":{"path":"x"}}},{"functionCall":{"name":"Glob","args":{}}}]}
          - {"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"found"}}},{"functionResponse":{"name":"Glob","response":{"error":"no such folder"}}},{"text":"Be quick."},{"text":"Well?"}]}
        tools:
          - {"functionDeclarations":[{"name":"Read","description":"Reads a file.","parameters":{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}}]}
        generationConfig: {"maxOutputTokens":500,"temperature":0.5}
    "#]],
    );
}

#[test]
fn responses() {
    check(
        dialect(WireProtocol::Responses),
        &everything(),
        expect![[r#"
        model: "test-model"
        instructions: "Be brief."
        input:
          - {"role":"user","content":[{"type":"input_text","text":"What is this?"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}
          - {"role":"assistant","content":"I look."}
          - {"type":"function_call","call_id":"a1","name":"Read","arguments":"{\"path\":\"x\"}"}
          - {"type":"function_call","call_id":"a2","name":"Glob","arguments":"{}"}
          - {"type":"function_call_output","call_id":"a1","output":"found"}
          - {"type":"function_call_output","call_id":"a2","output":"no such folder"}
          - {"role":"user","content":[{"type":"input_text","text":"Be quick."}]}
          - {"role":"user","content":[{"type":"input_text","text":"Well?"}]}
        stream: true
        store: false
        include:
          - "reasoning.encrypted_content"
        tools:
          - {"type":"function","name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false},"strict":false}
        max_output_tokens: 500
    "#]],
    );
}

#[test]
fn ollama() {
    check(
        dialect(WireProtocol::Ollama),
        &everything(),
        expect![[r#"
        model: "test-model"
        messages:
          - {"role":"system","content":"Be brief."}
          - {"role":"user","content":"What is this?","images":["aGk="]}
          - {"role":"assistant","content":"I look.","tool_calls":[{"function":{"name":"Read","arguments":{"path":"x"}}},{"function":{"name":"Glob","arguments":{}}}]}
          - {"role":"tool","tool_name":"Read","content":"found"}
          - {"role":"tool","tool_name":"Glob","content":"no such folder"}
          - {"role":"user","content":"Be quick."}
          - {"role":"user","content":"Well?"}
        stream: true
        tools:
          - {"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}
        options: {"num_ctx":32768,"num_predict":500,"temperature":0.5}
    "#]],
    );
}

/// The placement of the response schema, with and without tools.
#[test]
fn schemas_of_answers() {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false});
    let schema = OutputSchema { name: "verdict".to_owned(), schema: value(schema) };
    let with = |support| {
        Dialect::OpenAi(OpenAiTraits {
            schema: support,
            is_original: true,
            reasoning: ReasoningReturn::Never,
        })
    };
    let dialects = [
        ("OpenAI", dialect(WireProtocol::OpenAi)),
        ("OpenAI, JSON only", with(SchemaSupport::JsonObject)),
        ("OpenAI, in words", with(SchemaSupport::Prompt)),
        ("Anthropic", dialect(WireProtocol::Anthropic)),
        ("Gemini", dialect(WireProtocol::Gemini)),
        ("Ollama", dialect(WireProtocol::Ollama)),
        ("Responses", dialect(WireProtocol::Responses)),
    ];
    let mut shown = String::new();
    for (name, dialect) in dialects {
        for tools in [Vec::new(), everything().tools] {
            let beside = if tools.is_empty() { "alone" } else { "beside tools" };
            let asked = CompletionRequest { schema: Some(schema.clone()), tools, ..request() };
            shown += &format!("{name}, {beside}\n    {}\n", dialect.body(&asked, None));
        }
    }
    expect![[r#"
        OpenAI, alone
            {"model":"test-model","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true},"response_format":{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false},"strict":true}}}
        OpenAI, beside tools
            {"model":"test-model","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}],"response_format":{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false},"strict":true}}}
        OpenAI, JSON only, alone
            {"model":"test-model","messages":[{"role":"system","content":"Be brief.\n\nWhen you give your answer, it is one JSON value that fits this JSON Schema, with nothing before or after it:\n{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"],\"additionalProperties\":false}"},{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true},"response_format":{"type":"json_object"}}
        OpenAI, JSON only, beside tools
            {"model":"test-model","messages":[{"role":"system","content":"Be brief.\n\nWhen you give your answer, it is one JSON value that fits this JSON Schema, with nothing before or after it:\n{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"],\"additionalProperties\":false}"},{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}],"response_format":{"type":"json_object"}}
        OpenAI, in words, alone
            {"model":"test-model","messages":[{"role":"system","content":"Be brief.\n\nWhen you give your answer, it is one JSON value that fits this JSON Schema, with nothing before or after it:\n{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"],\"additionalProperties\":false}"},{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true}}
        OpenAI, in words, beside tools
            {"model":"test-model","messages":[{"role":"system","content":"Be brief.\n\nWhen you give your answer, it is one JSON value that fits this JSON Schema, with nothing before or after it:\n{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"],\"additionalProperties\":false}"},{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}]}
        Anthropic, alone
            {"model":"test-model","max_tokens":16384,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Hello?","cache_control":{"type":"ephemeral"}}]}],"stream":true,"tools":[{"name":"rawko_answer","description":"Give the answer (verdict). Call this once, when you are done.","input_schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"tool","name":"rawko_answer"}}
        Anthropic, beside tools
            {"model":"test-model","max_tokens":16384,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Hello?","cache_control":{"type":"ephemeral"}}]}],"stream":true,"tools":[{"name":"Read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}},{"name":"rawko_answer","description":"Give the answer (verdict). Call this once, when you are done.","input_schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"any"}}
        Gemini, alone
            {"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hello?"}]}],"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}}}
        Gemini, beside tools
            {"systemInstruction":{"parts":[{"text":"Be brief.\n\nWhen you give your answer, it is one JSON value that fits this JSON Schema, with nothing before or after it:\n{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"],\"additionalProperties\":false}"}]},"contents":[{"role":"user","parts":[{"text":"Hello?"}]}],"tools":[{"functionDeclarations":[{"name":"Read","description":"Reads a file.","parameters":{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}}]}]}
        Ollama, alone
            {"model":"test-model","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello?"}],"stream":true,"format":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}}
        Ollama, beside tools
            {"model":"test-model","messages":[{"role":"system","content":"Be brief.\n\nWhen you give your answer, it is one JSON value that fits this JSON Schema, with nothing before or after it:\n{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"],\"additionalProperties\":false}"},{"role":"user","content":"Hello?"}],"stream":true,"tools":[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}]}
        Responses, alone
            {"model":"test-model","instructions":"Be brief.","input":[{"role":"user","content":[{"type":"input_text","text":"Hello?"}]}],"stream":true,"store":false,"include":["reasoning.encrypted_content"],"text":{"format":{"type":"json_schema","name":"verdict","schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false},"strict":true}}}
        Responses, beside tools
            {"model":"test-model","instructions":"Be brief.","input":[{"role":"user","content":[{"type":"input_text","text":"Hello?"}]}],"stream":true,"store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false},"strict":false}],"text":{"format":{"type":"json_schema","name":"verdict","schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false},"strict":true}}}
    "#]].assert_eq(&shown);
}

/// `strict` is set only where the schema meets its requirements.
#[test]
fn strict_schemas() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let table = [
        ("closed", closed.clone(), true),
        ("open", json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}), false),
        (
            "optional property",
            json!({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": false}),
            false,
        ),
        (
            "open inside",
            json!({"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"], "additionalProperties": false}),
            false,
        ),
        ("a list of closed", json!({"type": "array", "items": closed}), true),
    ];
    for (name, schema, expected) in table {
        let schema = Some(OutputSchema { name: "x".to_owned(), schema: value(schema) });
        let body = dialect(WireProtocol::OpenAi).body(&CompletionRequest { schema, ..request() }, None);
        assert_eq!(body.pointer("/response_format/json_schema/strict"), Some(&json!(expected)), "{name}");
    }
}

#[tokio::test]
async fn addresses_and_headers() {
    let mut shown = String::new();
    for (format, base) in [
        (WireProtocol::OpenAi, "/v1"),
        (WireProtocol::Anthropic, ""),
        (WireProtocol::Anthropic, "/v1/"),
        (WireProtocol::Gemini, ""),
        (WireProtocol::Gemini, "/v1beta"),
        (WireProtocol::Ollama, "/"),
        (WireProtocol::Responses, "/v1"),
    ] {
        let server = ProviderServer::replying([format.reply(&ModelAnswer::text(&["x"]))]).await.unwrap();
        let asked = CompletionRequest { idempotency: "i-1".to_owned(), ..request() };
        ask(&provider(format, &format!("{}{base}", server.url())), asked).await.1.unwrap();
        let asked = server.asked().remove(0);
        shown += &format!("{} {}\n", asked.method, asked.path);
        for (name, value) in asked
            .headers
            .iter()
            .filter(|(name, _)| !["host", "content-length", "accept", "user-agent"].contains(&name.as_str()))
        {
            shown += &format!("    {name}: {}\n", value.replace(KEY, "KEY"));
        }
    }
    expect![[r#"
        POST /v1/chat/completions
            authorization: Bearer KEY
            content-type: application/json
            idempotency-key: i-1
        POST /v1/messages
            anthropic-version: 2023-06-01
            content-type: application/json
            idempotency-key: i-1
            x-api-key: KEY
        POST /v1/messages
            anthropic-version: 2023-06-01
            content-type: application/json
            idempotency-key: i-1
            x-api-key: KEY
        POST /v1beta/models/test-model:streamGenerateContent?alt=sse
            content-type: application/json
            idempotency-key: i-1
            x-goog-api-key: KEY
        POST /v1beta/models/test-model:streamGenerateContent?alt=sse
            content-type: application/json
            idempotency-key: i-1
            x-goog-api-key: KEY
        POST /api/chat
            authorization: Bearer KEY
            content-type: application/json
            idempotency-key: i-1
        POST /v1/responses
            authorization: Bearer KEY
            content-type: application/json
            idempotency-key: i-1
    "#]]
    .assert_eq(&shown);
}

/// A model name that would change the URL is rejected before anything is sent.
#[tokio::test]
async fn names_of_models_that_are_none() {
    for model in ["", "../../admin", "a?key=1", "a#b"] {
        let asked = CompletionRequest { model: model.to_owned(), ..request() };
        let (_, result) = ask(&provider(WireProtocol::Gemini, "http://127.0.0.1:9"), asked).await;
        assert_eq!(result.unwrap_err().message, format!("test: `{model}` is not a valid model name"));
    }
}

/// Newer Gemini models require a reason for a call that is sent back without its thoughts.
#[test]
fn calls_without_thoughts() {
    for (model, expected) in [
        ("gemini-2.5-pro", None),
        ("gemini-3-pro-preview", Some("skip_thought_signature_validator")),
        ("gemini-flash-latest", Some("skip_thought_signature_validator")),
        ("another-model", None),
    ] {
        let body = Dialect::Gemini.body(&CompletionRequest { model: model.to_owned(), ..everything() }, None);
        let signature = body.pointer("/contents/1/parts/1/thoughtSignature").and_then(|it| it.as_str());
        assert_eq!(signature, expected, "{model}");
    }
}
