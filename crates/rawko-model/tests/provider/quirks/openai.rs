//! OpenAI and compatible servers.

use expect_test::expect;
use rawko_testkit::{ModelReply, ReplyEnding, WireProtocol, openai};
use serde_json::json;

use super::check;

fn openai_call(piece: serde_json::Value) -> String {
    openai::delta(json!({"tool_calls": [piece]}))
}

#[tokio::test]
async fn are_all_taken() {
    let hello = || openai::delta(json!({"content": "Hello"}));
    let read = |arguments: &str| json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "Read", "arguments": arguments}});
    let cases = vec![
        ("an empty body", ModelReply::events([] as [&str; 0])),
        ("only [DONE]", ModelReply::events([openai::DONE])),
        ("no [DONE] after the reason", ModelReply::events([hello(), openai::finish("stop")])),
        (
            "no line end after the last event",
            ModelReply::events([hello() + openai::finish("stop").trim_end()]),
        ),
        (
            "the end comes without a reason, but with [DONE]",
            ModelReply::events([hello(), openai::DONE.into()]),
        ),
        ("no reason and no [DONE]", ModelReply::events([hello()])),
        ("the connection breaks in the middle", ModelReply::events([hello()]).ending(ReplyEnding::Cut)),
        ("the connection breaks in an event", ModelReply::events([hello() + "data: {\"choices\": [{\"de"])),
        (
            "the connection breaks after the reason",
            ModelReply::events([hello(), openai::finish("stop")]).ending(ReplyEnding::Cut),
        ),
        ("nothing is counted", ModelReply::events([hello(), openai::finish("stop"), openai::DONE.into()])),
        (
            "the count comes without choices",
            ModelReply::events([hello(), openai::finish("stop"), openai::usage(5, 2), openai::DONE.into()]),
        ),
        (
            "the count is null",
            ModelReply::events([
                openai::event(
                    &json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": null}),
                ),
                openai::DONE.into(),
            ]),
        ),
        (
            "content is null",
            ModelReply::events([openai::delta(json!({"content": null})), hello(), openai::finish("stop")]),
        ),
        (
            "content is a list",
            ModelReply::events([
                openai::delta(json!({"content": [{"type": "text", "text": "Hi"}]})),
                openai::finish("stop"),
            ]),
        ),
        (
            "id and name with every piece",
            ModelReply::events([
                openai_call(read("{\"pa")),
                openai_call(read("th\": 1}")),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "a name in two pieces",
            ModelReply::events([
                openai_call(json!({"index": 0, "id": "c1", "function": {"name": "Re"}})),
                openai_call(json!({"index": 0, "function": {"name": "ad", "arguments": "{}"}})),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "all calls with index 0",
            ModelReply::events([
                openai_call(json!({"index": 0, "id": "c1", "function": {"name": "Read", "arguments": "{}"}})),
                openai_call(json!({"index": 0, "id": "c2", "function": {"name": "Glob", "arguments": "{}"}})),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "calls without index and id, arguments not as text",
            ModelReply::events([
                openai::delta(
                    json!({"tool_calls": [{"function": {"name": "Read", "arguments": {"a": 1}}}, {"function": {"name": "Glob"}}]}),
                ),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "the old function call beside the new",
            ModelReply::events([
                openai::delta(
                    json!({"tool_calls": [read("{}")], "function_call": {"name": "Read", "arguments": "{}"}}),
                ),
                openai::finish("function_call"),
            ]),
        ),
        (
            "a call, and stop as the reason",
            ModelReply::events([openai_call(read("{}")), openai::finish("stop")]),
        ),
        ("tools as the reason, and no call", ModelReply::events([hello(), openai::finish("tool_calls")])),
        ("a reason nobody knows", ModelReply::events([hello(), openai::finish("eos")])),
        (
            "length inside a call",
            ModelReply::events([openai_call(read("{\"path\": \"sr")), openai::finish("length")]),
        ),
        (
            "arguments that are no JSON",
            ModelReply::events([openai_call(read("{path: x}")), openai::finish("tool_calls")]),
        ),
        (
            "arguments in a string once more",
            ModelReply::events([openai_call(read("\"{\\\"a\\\": 1}\"")), openai::finish("tool_calls")]),
        ),
        (
            "a failure in the stream",
            ModelReply::events([
                hello(),
                openai::event(
                    &json!({"error": {"message": "overloaded", "type": "overloaded_error", "code": 503}}),
                ),
            ]),
        ),
        (
            "a failure in the stream, as text",
            ModelReply::events([openai::event(&json!({"error": "it broke"}))]),
        ),
        (
            "a failure with status 200",
            ModelReply::json(200, &json!({"error": {"message": "slow down", "type": "rate_limit_error"}})),
        ),
        ("JSON that is something else", ModelReply::json(200, &json!({"status": "ok"}))),
        ("a page of a proxy", ModelReply::text(200, "<html><body>Welcome</body></html>")),
        ("data that is no JSON", ModelReply::events(["data: hello\n\n"])),
        (
            "a server that does not stream",
            ModelReply::json(
                200,
                &json!({"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi", "tool_calls": null}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 4, "completion_tokens": 1}}),
            ),
        ),
        (
            "comments between events",
            ModelReply::events([
                ": keep-alive\n\n".to_owned(),
                hello(),
                ": keep-alive\n\n".into(),
                openai::finish("stop"),
            ]),
        ),
        (
            "thoughts before the answer",
            ModelReply::events([
                openai::delta(json!({"reasoning_content": "hm"})),
                hello(),
                openai::finish("stop"),
            ]),
        ),
        ("Z.ai lost its model", ModelReply::events([hello(), openai::finish("network_error")])),
    ];
    check(WireProtocol::OpenAi, cases, expect![[r#"
        an empty body
            network_error: test: the provider closed the connection without a response
        only [DONE]
            network_error: test: the provider returned an empty response
        no [DONE] after the reason
            Stop | "Hello" | 9 in, 2 out (estimate)
        no line end after the last event
            Stop | "Hello" | 9 in, 2 out (estimate)
        the end comes without a reason, but with [DONE]
            Other | "Hello" | 9 in, 2 out (estimate)
        no reason and no [DONE]
            network_error: test: the provider's response was cut off
        the connection breaks in the middle
            network_error: test: the provider's response was cut off
        the connection breaks in an event
            network_error: test: the provider's response was cut off
        the connection breaks after the reason
            Stop | "Hello" | 9 in, 2 out (estimate)
        nothing is counted
            Stop | "Hello" | 9 in, 2 out (estimate)
        the count comes without choices
            Stop | "Hello" | 5 in, 2 out
        the count is null
            Stop | "x" | 9 in, 1 out (estimate)
        content is null
            Stop | "Hello" | 9 in, 2 out (estimate)
        content is a list
            Stop | "Hi" | 9 in, 1 out (estimate)
        id and name with every piece
            ToolCalls | Read({"path":1}) as c1 | 9 in, 4 out (estimate)
        a name in two pieces
            ToolCalls | Read({}) as c1 | 9 in, 2 out (estimate)
        all calls with index 0
            ToolCalls | Read({}) as c1 | Glob({}) as c2 | 9 in, 4 out (estimate)
        calls without index and id, arguments not as text
            ToolCalls | Read({"a":1}) as call_1 | Glob({}) as call_2 | 9 in, 5 out (estimate)
        the old function call beside the new
            ToolCalls | Read({}) as c1 | 9 in, 2 out (estimate)
        a call, and stop as the reason
            ToolCalls | Read({}) as c1 | 9 in, 2 out (estimate)
        tools as the reason, and no call
            Other | "Hello" | 9 in, 2 out (estimate)
        a reason nobody knows
            Other | "Hello" | 9 in, 2 out (estimate)
        length inside a call
            Length | 9 in, 0 out (estimate)
        arguments that are no JSON
            ToolCalls | Read("{path: x}") as c1 | 9 in, 4 out (estimate)
        arguments in a string once more
            ToolCalls | Read({"a":1}) as c1 | 9 in, 3 out (estimate)
        a failure in the stream
            model_unavailable: test: the provider failed during its response: overloaded
        a failure in the stream, as text
            model_unavailable: test: the provider failed during its response: it broke
        a failure with status 200
            rate_limited: test: the provider failed during its response: slow down
        JSON that is something else
            unknown: test: the provider's response cannot be parsed: it is not an event stream: `{"status":"ok"}`
        a page of a proxy
            unknown: test: the provider's response cannot be parsed: it is not an event stream: `<html><body>Welcome</body></html>`
        data that is no JSON
            unknown: test: the provider's response cannot be parsed: expected value at line 1 column 1, in `hello`
        a server that does not stream
            Stop | "Hi" | 4 in, 1 out
        comments between events
            Stop | "Hello" | 9 in, 2 out (estimate)
        thoughts before the answer
            Stop | thinks "hm" as reasoning_content | "Hello" | 9 in, 3 out (estimate)
        Z.ai lost its model
            network_error: test: the provider lost its own connection to the model
    "#]]).await;
}
