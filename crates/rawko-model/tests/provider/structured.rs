//! Structured responses: extracted, validated, retried and given up.

use expect_test::expect;
use rawko_core::Value;
use rawko_model::provider::{
    CompletionRequest, OutputSchema, Repair, Scripted, StructuredError, complete_structured,
};
use rawko_testkit::{ModelAnswer, ProviderServer, Reason, WireProtocol};
use serde_json::json;

use crate::support::{ask, provider, request, shown};

fn schema() -> OutputSchema {
    let schema = json!({"type": "object", "properties": {"decision": {"enum": ["go", "stop"]}, "why": {"type": "string"}},
        "required": ["decision"], "additionalProperties": false});
    OutputSchema { name: "verdict".to_owned(), schema: Value::from_json(schema) }
}

fn asked() -> CompletionRequest {
    CompletionRequest { schema: Some(schema()), ..request() }
}

#[tokio::test]
async fn every_service_gives_data() {
    for format in [WireProtocol::OpenAi, WireProtocol::Gemini, WireProtocol::Ollama, WireProtocol::Responses]
    {
        let reply = format.reply(&ModelAnswer::text(&["{\"deci", "sion\": \"go\"}"]));
        let server = ProviderServer::replying([reply]).await.unwrap();
        let (_, result) = ask(&provider(format, &server.url()), asked()).await;
        let expected =
            "Stop | \"{\\\"decision\\\": \\\"go\\\"}\" | 11 in, 7 out | data {\"decision\":\"go\"}";
        assert_eq!(shown(&result), expected, "{format:?}");
    }
}

/// Anthropic responds through a tool, which stays hidden.
#[tokio::test]
async fn the_tool_of_an_answer_is_not_seen() {
    let with_answer = |answer: ModelAnswer| answer.call("t1", "rawko_answer", json!({"decision": "go"}));
    let table = [
        with_answer(ModelAnswer::text(&[])),
        with_answer(ModelAnswer::text(&["I think {so}:"])),
        with_answer(ModelAnswer::text(&[]).call("t0", "Read", json!({"path": "x"}))),
    ];
    let mut lines = String::new();
    for answer in table {
        let server = ProviderServer::replying([WireProtocol::Anthropic.reply(&answer)]).await.unwrap();
        let (events, result) = ask(&provider(WireProtocol::Anthropic, &server.url()), asked()).await;
        lines += &format!("{}\n", shown(&result));
        assert!(!serde_json::to_string(&events).unwrap().contains("rawko_answer"));
    }
    expect![[r#"
        Stop | "{\"decision\":\"go\"}" | 11 in, 7 out | data {"decision":"go"}
        Stop | "I think {so}:\n{\"decision\":\"go\"}" | 11 in, 7 out | data {"decision":"go"}
        ToolCalls | Read({"path":"x"}) as t0 | "\n{\"decision\":\"go\"}" | 11 in, 7 out
    "#]]
    .assert_eq(&lines);
}

/// Runs a script and describes the result, its repairs and its output tokens.
async fn outcome(script: &str, attempts_max: u32) -> String {
    let scripted = Scripted::of_text("script.yaml", script).unwrap();
    let mut heard = 0;
    let result = complete_structured(&scripted, asked(), Repair { attempts_max }, &mut |_| heard += 1).await;
    assert!(heard > 0, "whoever listens hears all attempts");
    match result {
        Ok(it) => format!("{} after {} repairs, {} tokens out", it.value, it.repairs, it.usage.output_tokens),
        Err(StructuredError::Unfit { unfit, usage, .. }) => {
            format!("unfit: {unfit} ({} tokens out)", usage.output_tokens)
        }
        Err(StructuredError::Provider(error)) => format!("provider: {error}"),
    }
}

#[tokio::test]
async fn answers_are_asked_for_again() {
    let usage = "usage: {input_tokens: 10, output_tokens: 5}";
    let good = format!("- {{data: {{decision: go}}, {usage}}}\n");
    let bad = format!("- {{data: {{decision: maybe}}, {usage}}}\n");
    let prose = format!("- {{text: I would rather not, {usage}}}\n");
    let cases = [
        ("good at once", good.clone(), 2),
        (
            "in a fence",
            format!("- {{text: \"Here:\\n```json\\n{{\\\"decision\\\": \\\"go\\\"}}\\n```\", {usage}}}"),
            2,
        ),
        ("wrong, then good", format!("{bad}{good}"), 2),
        ("prose, wrong, then good", format!("{prose}{bad}{good}"), 2),
        ("wrong for ever", format!("{bad}{bad}{bad}"), 2),
        ("no attempt left", bad.clone(), 0),
        ("cut short", format!("- {{text: '{{\"decision\": \"g', stop_reason: length, {usage}}}"), 2),
        (
            "complete although cut",
            format!("- {{text: '{{\"decision\": \"go\"}} because', stop_reason: length, {usage}}}"),
            2,
        ),
        ("nothing", format!("- {{text: '', {usage}}}\n{good}"), 2),
        ("tools", format!("- {{tool_calls: [{{name: Read}}], {usage}}}"), 2),
        ("a failure on the way", format!("{bad}- {{error: {{code: rate_limited}}}}"), 2),
    ];
    let mut lines = String::new();
    for (name, script, attempts_max) in cases {
        lines += &format!("{name}\n    {}\n", outcome(&script, attempts_max).await);
    }
    expect![[r#"
        good at once
            {"decision":"go"} after 0 repairs, 5 tokens out
        in a fence
            {"decision":"go"} after 0 repairs, 5 tokens out
        wrong, then good
            {"decision":"go"} after 1 repairs, 10 tokens out
        prose, wrong, then good
            {"decision":"go"} after 2 repairs, 15 tokens out
        wrong for ever
            unfit: the answer does not fit its schema: at `/decision`: "maybe" is not one of "go" or "stop" (15 tokens out)
        no attempt left
            unfit: the answer does not fit its schema: at `/decision`: "maybe" is not one of "go" or "stop" (5 tokens out)
        cut short
            unfit: the answer was cut short by the limit of output tokens before its JSON was complete (5 tokens out)
        complete although cut
            {"decision":"go"} after 0 repairs, 5 tokens out
        nothing
            {"decision":"go"} after 1 repairs, 10 tokens out
        tools
            unfit: the model asked for tools and has not answered yet (5 tokens out)
        a failure on the way
            provider: scripted error: rate_limited
    "#]].assert_eq(&lines);
}

/// The retry message names the error and the expected shape.
#[tokio::test]
async fn what_the_model_is_told() {
    let server = ProviderServer::replying([
        WireProtocol::OpenAi.reply(&ModelAnswer::text(&["{\"decision\": \"maybe\", \"more\": 1}"])),
        WireProtocol::OpenAi.reply(&ModelAnswer::text(&["{\"decision\": \"stop\"}"])),
    ])
    .await
    .unwrap();
    let provider = provider(WireProtocol::OpenAi, &server.url());
    let request = CompletionRequest { idempotency: "i1".to_owned(), ..asked() };
    complete_structured(&provider, request, Repair::default(), &mut |_| {}).await.unwrap();
    let asked = server.asked();
    let messages = asked[1].body["messages"].as_array().unwrap();
    let told: Vec<String> = messages
        .iter()
        .skip(2)
        .map(|it| format!("{}: {}", it["role"], it["content"].as_str().unwrap()))
        .collect();
    expect![[r#"
        "assistant": {"decision": "maybe", "more": 1}
        "user": This answer is invalid: the answer does not fit its schema: at `/decision`: "maybe" is not one of "go" or "stop"; Additional properties are not allowed ('more' was unexpected).
        Answer again with one JSON value that matches this JSON Schema, and nothing before or after it:
        {"type":"object","properties":{"decision":{"enum":["go","stop"]},"why":{"type":"string"}},"required":["decision"],"additionalProperties":false}"#]].assert_eq(&told.join("\n"));
    let keys: Vec<&str> = asked.iter().map(|asked| asked.headers["idempotency-key"].as_str()).collect();
    assert_eq!(keys, ["i1", "i1-again"], "another request has another key");
}

#[tokio::test]
async fn an_answer_of_length_inside_json_has_no_data() {
    let reply =
        WireProtocol::OpenAi.reply(&ModelAnswer::text(&["{\"decision\": \"go"]).because(Reason::Length));
    let server = ProviderServer::replying([reply]).await.unwrap();
    let (_, result) = ask(&provider(WireProtocol::OpenAi, &server.url()), asked()).await;
    assert_eq!(result.unwrap().data, None);
}

#[tokio::test]
async fn a_wrong_schema_is_nobody_elses_fault() {
    let schema = OutputSchema { name: "x".to_owned(), schema: Value::from_json(json!({"type": "objekt"})) };
    let scripted = Scripted::of_text("script.yaml", "- data: {}").unwrap();
    let request = CompletionRequest { schema: Some(schema), ..request() };
    let result = complete_structured(&scripted, request, Repair::default(), &mut |_| {}).await;
    assert!(result.unwrap_err().to_string().starts_with("the schema itself is wrong: "));
}

/// Services limited to objects are asked for one, and the requested value is extracted from it.
#[tokio::test]
async fn an_answer_that_is_no_object() {
    let schema = OutputSchema { name: "list".to_owned(), schema: Value::from_json(json!({"type": "array"})) };
    let table = [
        (
            WireProtocol::OpenAi,
            ModelAnswer::text(&["{\"answer\": [1, 2]}"]),
            "/response_format/json_schema/schema/properties/answer",
        ),
        (
            WireProtocol::Anthropic,
            ModelAnswer::text(&[]).call("t1", "rawko_answer", json!({"answer": [1, 2]})),
            "/tools/0/input_schema/properties/answer",
        ),
        (WireProtocol::Gemini, ModelAnswer::text(&["[1, 2]"]), "/generationConfig/responseSchema"),
        (WireProtocol::Ollama, ModelAnswer::text(&["[1, 2]"]), "/format"),
    ];
    for (format, answer, place) in table {
        let server = ProviderServer::replying([format.reply(&answer)]).await.unwrap();
        let asked = CompletionRequest { schema: Some(schema.clone()), ..request() };
        let (_, result) = ask(&provider(format, &server.url()), asked).await;
        assert_eq!(result.unwrap().data, Some(Value::from_json(json!([1, 2]))), "{format:?}");
        assert_eq!(server.asked()[0].body.pointer(place), Some(&json!({"type": "array"})), "{format:?}");
    }
}
