//! Reasoning in every wire format: how it is requested, decoded, sent back with the results of the tools it led to, and
//! omitted for another model. The server is a real one; the streams are as the services document them.

use expect_test::expect;
use rawko_core::Value;
use rawko_model::provider::{
    CompletionRequest, Dialect, EffortLevel, HttpProvider, OpenAiTraits, ReasoningEffort, ReasoningReturn,
    SchemaSupport,
};
use rawko_model::{Message, MessagePart, Role, ToolResult};
use rawko_testkit::{ModelReply, ProviderServer, WireProtocol, anthropic, gemini, ollama, openai, responses};
use serde_json::json;

use crate::support::{ask, dialect, shown};

/// One service: its model, and its stream of thoughts that lead to a tool call.
struct Service {
    name: &'static str,
    dialect: Dialect,
    model: &'static str,
    reply: ModelReply,
}

fn compatible(reasoning: ReasoningReturn) -> Dialect {
    Dialect::OpenAi(OpenAiTraits { schema: SchemaSupport::JsonObject, is_original: false, reasoning })
}

fn chat(field: &str) -> ModelReply {
    let call = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": "Read", "arguments": "{\"path\":\"a\"}"}});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 40,
        "prompt_cache_hit_tokens": 64, "completion_tokens_details": {"reasoning_tokens": 30}}});
    ModelReply::events([
        openai::delta(json!({"role": "assistant", "content": null, field: "I should"})),
        openai::delta(json!({field: " look."})),
        openai::delta(json!({"tool_calls": [call]})),
        openai::finish("tool_calls"),
        openai::event(&usage),
        openai::DONE.to_owned(),
    ])
}

/// OpenAI keeps the thoughts of the chat protocol: only their number is known.
fn chat_of_openai() -> ModelReply {
    let call = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": "Read", "arguments": "{\"path\":\"a\"}"}});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 40,
        "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 30}}});
    ModelReply::events([
        openai::delta(json!({"role": "assistant", "content": null})),
        openai::delta(json!({"tool_calls": [call]})),
        openai::finish("tool_calls"),
        openai::event(&usage),
        openai::DONE.to_owned(),
    ])
}

fn claude() -> ModelReply {
    let start = json!({"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 10,
        "cache_read_input_tokens": 60, "cache_creation_input_tokens": 20, "output_tokens": 1}}});
    ModelReply::events([
        anthropic::event(&start),
        anthropic::block_start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        anthropic::block_delta(0, json!({"type": "thinking_delta", "thinking": "I should"})),
        anthropic::block_delta(0, json!({"type": "thinking_delta", "thinking": " look."})),
        anthropic::block_delta(0, json!({"type": "signature_delta", "signature": "SIG1"})),
        anthropic::block_stop(0),
        anthropic::block_start(1, json!({"type": "redacted_thinking", "data": "HIDDEN"})),
        anthropic::block_stop(1),
        anthropic::block_start(2, json!({"type": "tool_use", "id": "c1", "name": "Read", "input": {}})),
        anthropic::block_delta(2, json!({"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"})),
        anthropic::block_stop(2),
        anthropic::end("tool_use", 40),
        anthropic::stop(),
    ])
}

fn thoughts_of_gemini() -> ModelReply {
    let call = json!({"functionCall": {"name": "Read", "args": {"path": "a"}}, "thoughtSignature": "SIG1"});
    let second = json!({"functionCall": {"name": "Glob", "args": {"pattern": "*"}}});
    let end = json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 90,
        "cachedContentTokenCount": 64, "candidatesTokenCount": 10, "thoughtsTokenCount": 30}});
    ModelReply::events([
        gemini::parts(json!([{"text": "I should look.", "thought": true}])),
        gemini::parts(json!([call, second])),
        gemini::event(&end),
    ])
}

fn items_of_responses() -> ModelReply {
    let item = |content: Option<&str>| json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": content});
    let call =
        json!({"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "Read", "arguments": ""});
    let usage = json!({"input_tokens": 90, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 30}});
    ModelReply::events([
        responses::added(0, item(None)),
        responses::delta("reasoning_summary_text", 0, "I should"),
        responses::delta("reasoning_summary_text", 0, " look."),
        responses::done(0, item(Some("ENCRYPTED"))),
        responses::added(1, call.clone()),
        responses::delta("function_call_arguments", 1, "{\"path\":\"a\"}"),
        responses::done(1, call),
        responses::end(None, usage),
    ])
}

fn lines_of_ollama() -> ModelReply {
    let call = json!({"function": {"name": "Read", "arguments": {"path": "a"}}});
    ModelReply::lines([
        ollama::line(json!({"role": "assistant", "content": "", "thinking": "I should"})),
        ollama::line(json!({"role": "assistant", "content": "", "thinking": " look."})),
        ollama::line(json!({"role": "assistant", "content": "", "tool_calls": [call]})),
        ollama::end("stop", 90, 40),
    ])
}

fn services() -> Vec<Service> {
    let with_tools = compatible(ReasoningReturn::WithTools);
    let service = |name, dialect, model, reply| Service { name, dialect, model, reply };
    let anthropic = dialect(WireProtocol::Anthropic);
    vec![
        service("Anthropic, adaptive", anthropic, "claude-opus-4-7", claude()),
        service("Anthropic, budget", anthropic, "claude-sonnet-4-5", claude()),
        service("Anthropic, without thinking", anthropic, "claude-3-5-haiku-latest", claude()),
        service("OpenAI chat", dialect(WireProtocol::OpenAi), "gpt-5.2", chat_of_openai()),
        service("OpenAI responses", dialect(WireProtocol::Responses), "gpt-5.2", items_of_responses()),
        service("DeepSeek", with_tools, "deepseek-v4-pro", chat("reasoning_content")),
        service("vLLM", with_tools, "qwen3", chat("reasoning")),
        service("never sent back", compatible(ReasoningReturn::Never), "x", chat("reasoning_content")),
        service("always sent back", compatible(ReasoningReturn::Always), "x", chat("reasoning_content")),
        service("Gemini 3", dialect(WireProtocol::Gemini), "gemini-3-pro", thoughts_of_gemini()),
        service("Gemini 2.5", dialect(WireProtocol::Gemini), "gemini-2.5-flash", thoughts_of_gemini()),
        service("Ollama", dialect(WireProtocol::Ollama), "qwen3", lines_of_ollama()),
        service("Ollama, levels", dialect(WireProtocol::Ollama), "gpt-oss:20b", lines_of_ollama()),
    ]
}

fn asking(model: &str, messages: Vec<Message>) -> CompletionRequest {
    CompletionRequest {
        model: model.to_owned(),
        messages: messages.into(),
        reasoning: Some(ReasoningEffort::Level(EffortLevel::Medium)),
        ..CompletionRequest::default()
    }
}

/// Returns the results of all calls of a message.
fn results(message: &Message) -> Message {
    let result = |id: &str| ToolResult { id: id.to_owned(), content: "found".to_owned(), is_error: false };
    let parts = message.tool_uses().map(|call| MessagePart::ToolResult(result(&call.id))).collect();
    Message { role: Role::User, parts }
}

/// Returns the parameters of a request that concern reasoning, and its assistant messages.
fn told(body: &serde_json::Value) -> String {
    let keys =
        ["max_tokens", "thinking", "output_config", "reasoning", "reasoning_effort", "think", "include"];
    let mut lines: Vec<String> =
        keys.iter().filter_map(|key| Some(format!("{key}: {}", body.get(*key)?))).collect();
    lines.extend(body.pointer("/generationConfig/thinkingConfig").map(|it| format!("thinkingConfig: {it}")));
    let lists = ["messages", "contents", "input"].iter().filter_map(|key| body.get(*key)?.as_array());
    let is_user =
        |item: &serde_json::Value| item.get("role").and_then(serde_json::Value::as_str) == Some("user");
    lines.extend(lists.flatten().filter(|item| !is_user(item)).map(|item| format!("- {item}")));
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

#[tokio::test]
async fn goes_back_as_it_came() {
    let mut table = String::new();
    for service in services() {
        let Service { name, dialect, model, reply } = service;
        let server = ProviderServer::replying([reply]).await.unwrap();
        let provider = HttpProvider::new("one", dialect, server.url(), None);
        let first = Message::text(Role::User, "Fix it.");
        let (events, completion) = ask(&provider, asking(model, vec![first.clone()])).await;
        let completion_shown = shown(&completion);
        let said: String = events
            .iter()
            .map(|event| match serde_json::to_value(event).unwrap() {
                json if json["type"] == "reasoning_delta" => json["text"].as_str().unwrap().to_owned(),
                _ => String::new(),
            })
            .collect();
        let answer = completion.unwrap().message;
        let messages = vec![first, answer.clone(), results(&answer)];
        // The first request names the parameters, the second returns the thoughts.
        ask(&provider, asking(model, messages)).await.1.unwrap_err();
        let body = server.asked().remove(1).body;
        table += &format!("{name}\n    {completion_shown}\n    streamed {said:?}\n{}", told(&body));
    }
    expect![[r#"
        Anthropic, adaptive
            ToolCalls | thinks "I should look." signed SIG1 | thinks "" signed HIDDEN (redacted) | Read({"path":"a"}) as c1 | 90 in, 40 out, 60 cached, 20 written
            streamed "I should look."
            max_tokens: 16384
            thinking: {"type":"adaptive","display":"summarized"}
            output_config: {"effort":"medium"}
            - {"role":"assistant","content":[{"type":"thinking","thinking":"I should look.","signature":"SIG1"},{"type":"redacted_thinking","data":"HIDDEN"},{"type":"tool_use","id":"c1","name":"Read","input":{"path":"a"}}]}
        Anthropic, budget
            ToolCalls | thinks "I should look." signed SIG1 | thinks "" signed HIDDEN (redacted) | Read({"path":"a"}) as c1 | 90 in, 40 out, 60 cached, 20 written
            streamed "I should look."
            max_tokens: 24576
            thinking: {"type":"enabled","budget_tokens":8192}
            - {"role":"assistant","content":[{"type":"thinking","thinking":"I should look.","signature":"SIG1"},{"type":"redacted_thinking","data":"HIDDEN"},{"type":"tool_use","id":"c1","name":"Read","input":{"path":"a"}}]}
        Anthropic, without thinking
            ToolCalls | thinks "I should look." signed SIG1 | thinks "" signed HIDDEN (redacted) | Read({"path":"a"}) as c1 | 90 in, 40 out, 60 cached, 20 written
            streamed "I should look."
            max_tokens: 8192
            - {"role":"assistant","content":[{"type":"thinking","thinking":"I should look.","signature":"SIG1"},{"type":"redacted_thinking","data":"HIDDEN"},{"type":"tool_use","id":"c1","name":"Read","input":{"path":"a"}}]}
        OpenAI chat
            ToolCalls | Read({"path":"a"}) as c1 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed ""
            reasoning_effort: "medium"
            - {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}]}
            - {"role":"tool","tool_call_id":"c1","content":"found"}
        OpenAI responses
            ToolCalls | thinks "I should look." signed ENCRYPTED as rs_1 | Read({"path":"a"}) as c1 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed "I should look."
            reasoning: {"effort":"medium","summary":"auto"}
            include: ["reasoning.encrypted_content"]
            - {"type":"reasoning","summary":[{"type":"summary_text","text":"I should look."}],"encrypted_content":"ENCRYPTED","id":"rs_1"}
            - {"type":"function_call","call_id":"c1","name":"Read","arguments":"{\"path\":\"a\"}"}
            - {"type":"function_call_output","call_id":"c1","output":"found"}
        DeepSeek
            ToolCalls | thinks "I should look." as reasoning_content | Read({"path":"a"}) as c1 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed "I should look."
            reasoning_effort: "medium"
            - {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}],"reasoning_content":"I should look."}
            - {"role":"tool","tool_call_id":"c1","content":"found"}
        vLLM
            ToolCalls | thinks "I should look." as reasoning | Read({"path":"a"}) as c1 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed "I should look."
            reasoning_effort: "medium"
            - {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}],"reasoning":"I should look."}
            - {"role":"tool","tool_call_id":"c1","content":"found"}
        never sent back
            ToolCalls | thinks "I should look." as reasoning_content | Read({"path":"a"}) as c1 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed "I should look."
            reasoning_effort: "medium"
            - {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}]}
            - {"role":"tool","tool_call_id":"c1","content":"found"}
        always sent back
            ToolCalls | thinks "I should look." as reasoning_content | Read({"path":"a"}) as c1 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed "I should look."
            reasoning_effort: "medium"
            - {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}],"reasoning_content":"I should look."}
            - {"role":"tool","tool_call_id":"c1","content":"found"}
        Gemini 3
            ToolCalls | thinks "I should look." | thinks "" signed SIG1 | Read({"path":"a"}) as call_1 | Glob({"pattern":"*"}) as call_2 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed "I should look."
            thinkingConfig: {"includeThoughts":true,"thinkingLevel":"high"}
            - {"role":"model","parts":[{"functionCall":{"name":"Read","args":{"path":"a"}},"thoughtSignature":"SIG1"},{"functionCall":{"name":"Glob","args":{"pattern":"*"}}}]}
        Gemini 2.5
            ToolCalls | thinks "I should look." | thinks "" signed SIG1 | Read({"path":"a"}) as call_1 | Glob({"pattern":"*"}) as call_2 | 90 in, 40 out, 64 cached, 30 reasoning
            streamed "I should look."
            thinkingConfig: {"includeThoughts":true,"thinkingBudget":8192}
            - {"role":"model","parts":[{"functionCall":{"name":"Read","args":{"path":"a"}},"thoughtSignature":"SIG1"},{"functionCall":{"name":"Glob","args":{"pattern":"*"}}}]}
        Ollama
            ToolCalls | thinks "I should look." | Read({"path":"a"}) as call_1 | 90 in, 40 out
            streamed "I should look."
            think: true
            - {"role":"assistant","content":"","tool_calls":[{"function":{"name":"Read","arguments":{"path":"a"}}}],"thinking":"I should look."}
            - {"role":"tool","tool_name":"Read","content":"found"}
        Ollama, levels
            ToolCalls | thinks "I should look." | Read({"path":"a"}) as call_1 | 90 in, 40 out
            streamed "I should look."
            think: "medium"
            - {"role":"assistant","content":"","tool_calls":[{"function":{"name":"Read","arguments":{"path":"a"}}}],"thinking":"I should look."}
            - {"role":"tool","tool_name":"Read","content":"found"}
    "#]].assert_eq(&table);
}

/// A fallback in the middle: the other model gets the conversation without thoughts and signatures, and its own
/// thoughts from then on.
#[tokio::test]
async fn of_another_model_is_left_out() {
    for first in services() {
        let server = ProviderServer::replying([first.reply]).await.unwrap();
        let provider = HttpProvider::new("one", first.dialect, server.url(), None);
        let prompt = Message::text(Role::User, "Fix it.");
        let answer = ask(&provider, asking(first.model, vec![prompt.clone()])).await.1.unwrap().message;
        let messages = vec![prompt, answer.clone(), results(&answer)];
        for second in services() {
            let name = format!("{} after {}", second.name, first.name);
            let server = ProviderServer::replying([second.reply]).await.unwrap();
            let provider = HttpProvider::new("two", second.dialect, server.url(), None);
            let completion = ask(&provider, asking(second.model, messages.clone())).await.1.unwrap();
            let body = server.asked().remove(0).body.to_string();
            for foreign in ["I should", "SIG1", "HIDDEN", "ENCRYPTED", "rs_1"] {
                assert!(!body.contains(foreign), "{name} sends {foreign}: {body}");
            }
            // With a budget, a turn that began without thoughts must continue without.
            let has_budget = body.contains("budget_tokens");
            assert!(!has_budget, "{name}: {body}");
            let origins: Vec<&str> = completion
                .message
                .parts
                .iter()
                .filter_map(|part| match part {
                    MessagePart::Reasoning(reasoning) => Some(reasoning.origin.as_str()),
                    _ => None,
                })
                .collect();
            let own = format!("two/{}", second.model);
            assert!(origins.iter().all(|origin| *origin == own), "{name}: {origins:?}");
        }
    }
}

/// Reasoning is no answer: a structured response is not looked for in it.
#[tokio::test]
async fn is_never_the_answer() {
    let reply = ModelReply::events([
        openai::delta(json!({"reasoning_content": "{\"verdict\": \"no\"}"})),
        openai::delta(json!({"content": "{\"verdict\": \"yes\"}"})),
        openai::finish("stop"),
        openai::DONE.to_owned(),
    ]);
    let server = ProviderServer::replying([reply]).await.unwrap();
    let provider = HttpProvider::new("one", compatible(ReasoningReturn::WithTools), server.url(), None);
    let schema = Value::from_json(json!({"type": "object", "required": ["verdict"]}));
    let schema = Some(rawko_model::provider::OutputSchema { name: "verdict".into(), schema });
    let request = CompletionRequest { schema, ..asking("x", vec![Message::text(Role::User, "Well?")]) };
    let completion = ask(&provider, request).await.1.unwrap();
    assert_eq!(completion.data.unwrap().get("verdict").as_str(), Some("yes"));
}
