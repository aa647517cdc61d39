//! What real services and their imitators do beside their documentation, as tables of raw bytes. Each of these was seen
//! on a wire.

use expect_test::{Expect, expect};
use rawko_testkit::{Ending, Format, Reply, anthropic, gemini, ollama, openai};
use serde_json::json;

use crate::support::{answered, shown, table};

async fn check(format: Format, cases: Vec<(&str, Reply)>, expected: Expect) {
    let mut rows = Vec::new();
    for (name, reply) in cases {
        let (_, result) = answered(format, reply).await;
        rows.push((name.to_owned(), shown(&result)));
    }
    expected.assert_eq(&table(rows));
}

fn openai_call(piece: serde_json::Value) -> String {
    openai::delta(json!({"tool_calls": [piece]}))
}

#[tokio::test]
async fn openai_and_whoever_is_compatible() {
    let hello = || openai::delta(json!({"content": "Hello"}));
    let read = |arguments: &str| json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "Read", "arguments": arguments}});
    let cases = vec![
        ("an empty body", Reply::events([] as [&str; 0])),
        ("only [DONE]", Reply::events([openai::DONE])),
        ("no [DONE] after the reason", Reply::events([hello(), openai::finish("stop")])),
        ("no line end after the last event", Reply::events([hello() + openai::finish("stop").trim_end()])),
        ("the end comes without a reason, but with [DONE]", Reply::events([hello(), openai::DONE.into()])),
        ("no reason and no [DONE]", Reply::events([hello()])),
        ("the connection breaks in the middle", Reply::events([hello()]).ending(Ending::Cut)),
        ("the connection breaks in an event", Reply::events([hello() + "data: {\"choices\": [{\"de"])),
        (
            "the connection breaks after the reason",
            Reply::events([hello(), openai::finish("stop")]).ending(Ending::Cut),
        ),
        ("nothing is counted", Reply::events([hello(), openai::finish("stop"), openai::DONE.into()])),
        (
            "the count comes without choices",
            Reply::events([hello(), openai::finish("stop"), openai::usage(5, 2), openai::DONE.into()]),
        ),
        (
            "the count is null",
            Reply::events([
                openai::event(
                    &json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": null}),
                ),
                openai::DONE.into(),
            ]),
        ),
        (
            "content is null",
            Reply::events([openai::delta(json!({"content": null})), hello(), openai::finish("stop")]),
        ),
        (
            "content is a list",
            Reply::events([
                openai::delta(json!({"content": [{"type": "text", "text": "Hi"}]})),
                openai::finish("stop"),
            ]),
        ),
        (
            "id and name with every piece",
            Reply::events([
                openai_call(read("{\"pa")),
                openai_call(read("th\": 1}")),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "a name in two pieces",
            Reply::events([
                openai_call(json!({"index": 0, "id": "c1", "function": {"name": "Re"}})),
                openai_call(json!({"index": 0, "function": {"name": "ad", "arguments": "{}"}})),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "all calls with index 0",
            Reply::events([
                openai_call(json!({"index": 0, "id": "c1", "function": {"name": "Read", "arguments": "{}"}})),
                openai_call(json!({"index": 0, "id": "c2", "function": {"name": "Glob", "arguments": "{}"}})),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "calls without index and id, arguments not as text",
            Reply::events([
                openai::delta(
                    json!({"tool_calls": [{"function": {"name": "Read", "arguments": {"a": 1}}}, {"function": {"name": "Glob"}}]}),
                ),
                openai::finish("tool_calls"),
            ]),
        ),
        (
            "the old function call beside the new",
            Reply::events([
                openai::delta(
                    json!({"tool_calls": [read("{}")], "function_call": {"name": "Read", "arguments": "{}"}}),
                ),
                openai::finish("function_call"),
            ]),
        ),
        ("a call, and stop as the reason", Reply::events([openai_call(read("{}")), openai::finish("stop")])),
        ("tools as the reason, and no call", Reply::events([hello(), openai::finish("tool_calls")])),
        ("a reason nobody knows", Reply::events([hello(), openai::finish("eos")])),
        (
            "length inside a call",
            Reply::events([openai_call(read("{\"path\": \"sr")), openai::finish("length")]),
        ),
        (
            "arguments that are no JSON",
            Reply::events([openai_call(read("{path: x}")), openai::finish("tool_calls")]),
        ),
        (
            "arguments in a string once more",
            Reply::events([openai_call(read("\"{\\\"a\\\": 1}\"")), openai::finish("tool_calls")]),
        ),
        (
            "a failure in the stream",
            Reply::events([
                hello(),
                openai::event(
                    &json!({"error": {"message": "overloaded", "type": "overloaded_error", "code": 503}}),
                ),
            ]),
        ),
        ("a failure in the stream, as text", Reply::events([openai::event(&json!({"error": "it broke"}))])),
        (
            "a failure with status 200",
            Reply::json(200, &json!({"error": {"message": "slow down", "type": "rate_limit_error"}})),
        ),
        ("JSON that is something else", Reply::json(200, &json!({"status": "ok"}))),
        ("a page of a proxy", Reply::text(200, "<html><body>Welcome</body></html>")),
        ("data that is no JSON", Reply::events(["data: hello\n\n"])),
        (
            "a server that does not stream",
            Reply::json(
                200,
                &json!({"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi", "tool_calls": null}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 4, "completion_tokens": 1}}),
            ),
        ),
        (
            "comments between events",
            Reply::events([
                ": keep-alive\n\n".to_owned(),
                hello(),
                ": keep-alive\n\n".into(),
                openai::finish("stop"),
            ]),
        ),
        (
            "thoughts before the answer",
            Reply::events([
                openai::delta(json!({"reasoning_content": "hm"})),
                hello(),
                openai::finish("stop"),
            ]),
        ),
        ("Z.ai lost its model", Reply::events([hello(), openai::finish("network_error")])),
    ];
    check(Format::OpenAi, cases, expect![[r#"
        an empty body
            network_error: test: the provider answered with nothing
        only [DONE]
            network_error: test: the answer of the provider ended before anything was said
        no [DONE] after the reason
            Stop | "Hello" | 9 in, 2 out (estimate)
        no line end after the last event
            Stop | "Hello" | 9 in, 2 out (estimate)
        the end comes without a reason, but with [DONE]
            Other | "Hello" | 9 in, 2 out (estimate)
        no reason and no [DONE]
            network_error: test: the answer of the provider was cut off in the middle
        the connection breaks in the middle
            network_error: test: the answer of the provider was cut off in the middle
        the connection breaks in an event
            network_error: test: the answer of the provider was cut off in the middle
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
            model_unavailable: test: the provider failed while it answered: overloaded
        a failure in the stream, as text
            model_unavailable: test: the provider failed while it answered: it broke
        a failure with status 200
            rate_limited: test: the provider failed while it answered: slow down
        JSON that is something else
            unknown: test: the provider's answer cannot be understood: it is no stream of events: `{"status":"ok"}`
        a page of a proxy
            unknown: test: the provider's answer cannot be understood: it is no stream of events: `<html><body>Welcome</body></html>`
        data that is no JSON
            unknown: test: the provider's answer cannot be understood: expected value at line 1 column 1, in `hello`
        a server that does not stream
            Stop | "Hi" | 4 in, 1 out
        comments between events
            Stop | "Hello" | 9 in, 2 out (estimate)
        thoughts before the answer
            Stop | "Hello" | 9 in, 2 out (estimate)
        Z.ai lost its model
            network_error: test: the provider lost its own connection to the model
    "#]]).await;
}

#[tokio::test]
async fn anthropic() {
    let text = |said: &str| {
        [
            anthropic::block_start(0, json!({"type": "text", "text": ""})),
            anthropic::block_delta(0, json!({"type": "text_delta", "text": said})),
            anthropic::block_stop(0),
        ]
        .concat()
    };
    let input =
        |piece: &str| anthropic::block_delta(0, json!({"type": "input_json_delta", "partial_json": piece}));
    let use_start = |block: serde_json::Value| anthropic::block_start(0, block);
    let cases = vec![
        ("an empty body", Reply::events([] as [&str; 0])),
        (
            "a tool use without input",
            Reply::events([
                anthropic::start(3),
                use_start(json!({"type": "tool_use", "id": "t1", "name": "Read"})),
                input("{\"a\""),
                input(": 1}"),
                anthropic::block_stop(0),
                anthropic::end("tool_use", 4),
                anthropic::stop(),
            ]),
        ),
        (
            "a tool use with all of its input at once",
            Reply::events([
                anthropic::start(3),
                use_start(json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}})),
                anthropic::block_stop(0),
                anthropic::end("tool_use", 4),
                anthropic::stop(),
            ]),
        ),
        (
            "zero in the first count, all in the last",
            Reply::events([
                anthropic::start(0),
                text("Hi"),
                anthropic::event(
                    &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 90}}),
                ),
                anthropic::stop(),
            ]),
        ),
        (
            "nothing but zero is counted",
            Reply::events([
                anthropic::start(0),
                text("Hi"),
                anthropic::end("end_turn", 0),
                anthropic::stop(),
            ]),
        ),
        (
            "no stop_sequence and no count at the end",
            Reply::events([
                anthropic::start(3),
                text("Hi"),
                anthropic::event(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})),
                anthropic::stop(),
            ]),
        ),
        ("no message_stop", Reply::events([anthropic::start(3), text("Hi"), anthropic::end("end_turn", 2)])),
        ("cut before the reason", Reply::events([anthropic::start(3), text("Hi")]).ending(Ending::Cut)),
        ("ends before the reason", Reply::events([anthropic::start(3), text("Hi")])),
        (
            "a failure in the stream",
            Reply::events([
                anthropic::start(3),
                anthropic::event(
                    &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                ),
            ]),
        ),
        (
            "a failure in OpenAI's words",
            Reply::events([
                anthropic::start(3),
                openai::event(&json!({"error": {"message": "no", "type": "rate_limit_error"}})),
            ]),
        ),
        (
            "thoughts and events of tomorrow",
            Reply::events([
                anthropic::start(3),
                anthropic::block_start(0, json!({"type": "thinking", "thinking": ""})),
                anthropic::block_delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
                anthropic::block_delta(0, json!({"type": "signature_delta", "signature": "x"})),
                anthropic::block_stop(0),
                anthropic::event(&json!({"type": "tomorrow"})),
                anthropic::block_start(1, json!({"type": "text", "text": ""})),
                anthropic::block_delta(1, json!({"type": "text_delta", "text": "Hi"})),
                anthropic::end("end_turn", 2),
                anthropic::stop(),
            ]),
        ),
        (
            "a pause",
            Reply::events([
                anthropic::start(3),
                text("Hi"),
                anthropic::end("pause_turn", 2),
                anthropic::stop(),
            ]),
        ),
        ("a malformed success", Reply::text(200, "upstream says hi")),
    ];
    check(Format::Anthropic, cases, expect![[r#"
        an empty body
            network_error: test: the provider answered with nothing
        a tool use without input
            ToolCalls | Read({"a":1}) as t1 | 3 in, 4 out
        a tool use with all of its input at once
            ToolCalls | Read({"a":1}) as t1 | 3 in, 4 out
        zero in the first count, all in the last
            Stop | "Hi" | 99 in, 2 out, 90 cached
        nothing but zero is counted
            Stop | "Hi" | 9 in, 1 out (estimate)
        no stop_sequence and no count at the end
            Stop | "Hi" | 3 in, 1 out (estimate)
        no message_stop
            Stop | "Hi" | 3 in, 2 out
        cut before the reason
            network_error: test: the answer of the provider was cut off in the middle
        ends before the reason
            network_error: test: the answer of the provider was cut off in the middle
        a failure in the stream
            model_unavailable: test: the provider failed while it answered: Overloaded
        a failure in OpenAI's words
            rate_limited: test: the provider failed while it answered: no
        thoughts and events of tomorrow
            Stop | "Hi" | 3 in, 2 out
        a pause
            Other | "Hi" | 3 in, 2 out
        a malformed success
            unknown: test: the provider's answer cannot be understood: it is no stream of events: `upstream says hi`
    "#]]).await;
}

#[tokio::test]
async fn gemini_and_its_reasons() {
    let cases = vec![
        ("an empty body", Reply::events([] as [&str; 0])),
        (
            "STOP with a call",
            Reply::events([
                gemini::parts(json!([{"functionCall": {"name": "Read", "args": {"a": 1}}}])),
                gemini::end("STOP", 3, 2),
            ]),
        ),
        (
            "two calls in one event, one without arguments",
            Reply::events([
                gemini::parts(
                    json!([{"functionCall": {"name": "Read", "args": {"a": 1}}}, {"functionCall": {"name": "Glob"}}]),
                ),
                gemini::end("STOP", 3, 2),
            ]),
        ),
        (
            "thoughts",
            Reply::events([
                gemini::parts(json!([{"text": "hm", "thought": true}, {"text": "Hi"}])),
                gemini::end("STOP", 3, 2),
            ]),
        ),
        (
            "a prompt that is refused",
            Reply::events([gemini::event(&json!({"promptFeedback": {"blockReason": "SAFETY"}}))]),
        ),
        ("a call that it could not write", Reply::events([gemini::end("MALFORMED_FUNCTION_CALL", 3, 0)])),
        ("no reason", Reply::events([gemini::parts(json!([{"text": "Hi"}]))])),
        ("cut in the middle", Reply::events([gemini::parts(json!([{"text": "Hi"}]))]).ending(Ending::Cut)),
        (
            "no parts at all",
            Reply::events([gemini::event(
                &json!({"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}], "usageMetadata": {"promptTokenCount": 3, "thoughtsTokenCount": 60, "cachedContentTokenCount": 2}}),
            )]),
        ),
        (
            "a failure in the stream",
            Reply::events([
                gemini::parts(json!([{"text": "Hi"}])),
                gemini::event(
                    &json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
                ),
            ]),
        ),
    ];
    check(
        Format::Gemini,
        cases,
        expect![[r#"
        an empty body
            network_error: test: the provider answered with nothing
        STOP with a call
            ToolCalls | Read({"a":1}) as call_1 | 3 in, 2 out
        two calls in one event, one without arguments
            ToolCalls | Read({"a":1}) as call_1 | Glob({}) as call_2 | 3 in, 2 out
        thoughts
            Stop | "Hi" | 3 in, 2 out
        a prompt that is refused
            ContentFilter | 9 in, 0 out (estimate)
        a call that it could not write
            Other | 3 in, 0 out
        no reason
            network_error: test: the answer of the provider was cut off in the middle
        cut in the middle
            network_error: test: the answer of the provider was cut off in the middle
        no parts at all
            Length | 3 in, 60 out, 2 cached
        a failure in the stream
            model_unavailable: test: the provider failed while it answered: The model is overloaded.
    "#]],
    )
    .await;
}

#[tokio::test]
async fn ollama_line_by_line() {
    let hello = || ollama::line(json!({"role": "assistant", "content": "Hi"}));
    let cases = vec![
        ("an empty body", Reply::lines([] as [&str; 0])),
        (
            "no line end after the last line",
            Reply::lines([hello(), ollama::end("stop", 3, 2).trim_end().to_owned()]),
        ),
        ("no reason, as long ago", Reply::lines([hello(), "{\"done\": true}\n".to_owned()])),
        (
            "arguments as text",
            Reply::lines([
                ollama::line(
                    json!({"content": "", "tool_calls": [{"id": "x1", "function": {"name": "Read", "arguments": "{\"a\": 1}"}}]}),
                ),
                ollama::end("stop", 3, 2),
            ]),
        ),
        ("cut in the middle", Reply::lines([hello()]).ending(Ending::Cut)),
        ("cut in a line", Reply::lines([hello() + "{\"message\": {\"con"])),
        (
            "a failure in the stream",
            Reply::lines([hello(), "{\"error\": \"model runner has unexpectedly stopped\"}\n".to_owned()]),
        ),
        ("the model was only loaded", Reply::lines([ollama::end("load", 0, 0)])),
        (
            "thoughts",
            Reply::lines([
                ollama::line(json!({"content": "", "thinking": "hm"})),
                hello(),
                ollama::end("stop", 3, 2),
            ]),
        ),
        ("something else", Reply::text(200, "<html>Welcome</html>")),
    ];
    check(
        Format::Ollama,
        cases,
        expect![[r#"
            an empty body
                network_error: test: the provider answered with nothing
            no line end after the last line
                Stop | "Hi" | 3 in, 2 out
            no reason, as long ago
                Stop | "Hi" | 9 in, 1 out (estimate)
            arguments as text
                ToolCalls | Read({"a":1}) as x1 | 3 in, 2 out
            cut in the middle
                network_error: test: the answer of the provider was cut off in the middle
            cut in a line
                network_error: test: the answer of the provider was cut off in the middle
            a failure in the stream
                model_unavailable: test: the provider failed while it answered: model runner has unexpectedly stopped
            the model was only loaded
                Other | 9 in, 0 out (estimate)
            thoughts
                Stop | "Hi" | 3 in, 2 out
            something else
                unknown: test: the provider's answer cannot be understood: expected value at line 1 column 1, in `<html>Welcome</html>`
        "#]],
    )
    .await;
}
