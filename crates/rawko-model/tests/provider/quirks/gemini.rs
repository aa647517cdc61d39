//! Gemini and its stop reasons.

use expect_test::expect;
use rawko_testkit::{ModelReply, ReplyEnding, WireProtocol, gemini};
use serde_json::json;

use super::check;

#[tokio::test]
async fn are_all_taken() {
    let cases = vec![
        ("an empty body", ModelReply::events([] as [&str; 0])),
        (
            "STOP with a call",
            ModelReply::events([
                gemini::parts(json!([{"functionCall": {"name": "Read", "args": {"a": 1}}}])),
                gemini::end("STOP", 3, 2),
            ]),
        ),
        (
            "two calls in one event, one without arguments",
            ModelReply::events([
                gemini::parts(
                    json!([{"functionCall": {"name": "Read", "args": {"a": 1}}}, {"functionCall": {"name": "Glob"}}]),
                ),
                gemini::end("STOP", 3, 2),
            ]),
        ),
        (
            "thoughts",
            ModelReply::events([
                gemini::parts(json!([{"text": "hm", "thought": true}, {"text": "Hi"}])),
                gemini::end("STOP", 3, 2),
            ]),
        ),
        (
            "a prompt that is refused",
            ModelReply::events([gemini::event(&json!({"promptFeedback": {"blockReason": "SAFETY"}}))]),
        ),
        (
            "a call that it could not write",
            ModelReply::events([gemini::end("MALFORMED_FUNCTION_CALL", 3, 0)]),
        ),
        ("no reason", ModelReply::events([gemini::parts(json!([{"text": "Hi"}]))])),
        (
            "cut in the middle",
            ModelReply::events([gemini::parts(json!([{"text": "Hi"}]))]).ending(ReplyEnding::Cut),
        ),
        (
            "no parts at all",
            ModelReply::events([gemini::event(
                &json!({"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}], "usageMetadata": {"promptTokenCount": 3, "thoughtsTokenCount": 60, "cachedContentTokenCount": 2}}),
            )]),
        ),
        (
            "a failure in the stream",
            ModelReply::events([
                gemini::parts(json!([{"text": "Hi"}])),
                gemini::event(
                    &json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
                ),
            ]),
        ),
    ];
    check(
        WireProtocol::Gemini,
        cases,
        expect![[r#"
            an empty body
                network_error: test: the provider closed the connection without a response
            STOP with a call
                ToolCalls | Read({"a":1}) as call_1 | 3 in, 2 out
            two calls in one event, one without arguments
                ToolCalls | Read({"a":1}) as call_1 | Glob({}) as call_2 | 3 in, 2 out
            thoughts
                Stop | thinks "hm" | "Hi" | 3 in, 2 out
            a prompt that is refused
                ContentFilter | 9 in, 0 out (estimate)
            a call that it could not write
                Other | 3 in, 0 out
            no reason
                network_error: test: the provider's response was cut off
            cut in the middle
                network_error: test: the provider's response was cut off
            no parts at all
                Length | 3 in, 60 out, 2 cached, 60 reasoning
            a failure in the stream
                model_unavailable: test: the provider failed during its response: The model is overloaded.
        "#]],
    )
    .await;
}
