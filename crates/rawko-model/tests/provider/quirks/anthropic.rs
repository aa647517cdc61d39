//! Anthropic, and servers that imitate it.

use expect_test::expect;
use rawko_testkit::{ModelReply, ReplyEnding, WireProtocol, anthropic, openai};
use serde_json::json;

use super::check;

#[tokio::test]
async fn are_all_taken() {
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
        ("an empty body", ModelReply::events([] as [&str; 0])),
        (
            "a tool use without input",
            ModelReply::events([
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
            ModelReply::events([
                anthropic::start(3),
                use_start(json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}})),
                anthropic::block_stop(0),
                anthropic::end("tool_use", 4),
                anthropic::stop(),
            ]),
        ),
        (
            "zero in the first count, all in the last",
            ModelReply::events([
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
            ModelReply::events([
                anthropic::start(0),
                text("Hi"),
                anthropic::end("end_turn", 0),
                anthropic::stop(),
            ]),
        ),
        (
            "no stop_sequence and no count at the end",
            ModelReply::events([
                anthropic::start(3),
                text("Hi"),
                anthropic::event(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})),
                anthropic::stop(),
            ]),
        ),
        (
            "no message_stop",
            ModelReply::events([anthropic::start(3), text("Hi"), anthropic::end("end_turn", 2)]),
        ),
        (
            "cut before the reason",
            ModelReply::events([anthropic::start(3), text("Hi")]).ending(ReplyEnding::Cut),
        ),
        ("ends before the reason", ModelReply::events([anthropic::start(3), text("Hi")])),
        (
            "a failure in the stream",
            ModelReply::events([
                anthropic::start(3),
                anthropic::event(
                    &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                ),
            ]),
        ),
        (
            "a failure in OpenAI's words",
            ModelReply::events([
                anthropic::start(3),
                openai::event(&json!({"error": {"message": "no", "type": "rate_limit_error"}})),
            ]),
        ),
        (
            "thoughts and events of tomorrow",
            ModelReply::events([
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
            ModelReply::events([
                anthropic::start(3),
                text("Hi"),
                anthropic::end("pause_turn", 2),
                anthropic::stop(),
            ]),
        ),
        ("a malformed success", ModelReply::text(200, "upstream says hi")),
    ];
    check(WireProtocol::Anthropic, cases, expect![[r#"
        an empty body
            network_error: test: the provider closed the connection without a response
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
            network_error: test: the provider's response was cut off
        ends before the reason
            network_error: test: the provider's response was cut off
        a failure in the stream
            model_unavailable: test: the provider failed during its response: Overloaded
        a failure in OpenAI's words
            rate_limited: test: the provider failed during its response: no
        thoughts and events of tomorrow
            Stop | thinks "hm" signed x | "Hi" | 3 in, 2 out
        a pause
            Other | "Hi" | 3 in, 2 out
        a malformed success
            unknown: test: the provider's response cannot be parsed: it is not an event stream: `upstream says hi`
    "#]]).await;
}
