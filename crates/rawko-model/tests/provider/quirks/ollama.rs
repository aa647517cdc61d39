//! Ollama, line by line.

use expect_test::expect;
use rawko_testkit::{ModelReply, ReplyEnding, WireProtocol, ollama};
use serde_json::json;

use super::check;

#[tokio::test]
async fn are_all_taken() {
    let hello = || ollama::line(json!({"role": "assistant", "content": "Hi"}));
    let cases = vec![
        ("an empty body", ModelReply::lines([] as [&str; 0])),
        (
            "no line end after the last line",
            ModelReply::lines([hello(), ollama::end("stop", 3, 2).trim_end().to_owned()]),
        ),
        ("no reason, as long ago", ModelReply::lines([hello(), "{\"done\": true}\n".to_owned()])),
        (
            "arguments as text",
            ModelReply::lines([
                ollama::line(
                    json!({"content": "", "tool_calls": [{"id": "x1", "function": {"name": "Read", "arguments": "{\"a\": 1}"}}]}),
                ),
                ollama::end("stop", 3, 2),
            ]),
        ),
        ("cut in the middle", ModelReply::lines([hello()]).ending(ReplyEnding::Cut)),
        ("cut in a line", ModelReply::lines([hello() + "{\"message\": {\"con"])),
        (
            "a failure in the stream",
            ModelReply::lines([
                hello(),
                "{\"error\": \"model runner has unexpectedly stopped\"}\n".to_owned(),
            ]),
        ),
        ("the model was only loaded", ModelReply::lines([ollama::end("load", 0, 0)])),
        (
            "thoughts",
            ModelReply::lines([
                ollama::line(json!({"content": "", "thinking": "hm"})),
                hello(),
                ollama::end("stop", 3, 2),
            ]),
        ),
        ("something else", ModelReply::text(200, "<html>Welcome</html>")),
    ];
    check(
        WireProtocol::Ollama,
        cases,
        expect![[r#"
            an empty body
                network_error: test: the provider closed the connection without a response
            no line end after the last line
                Stop | "Hi" | 3 in, 2 out
            no reason, as long ago
                Stop | "Hi" | 9 in, 1 out (estimate)
            arguments as text
                ToolCalls | Read({"a":1}) as x1 | 3 in, 2 out
            cut in the middle
                network_error: test: the provider's response was cut off
            cut in a line
                network_error: test: the provider's response was cut off
            a failure in the stream
                model_unavailable: test: the provider failed during its response: model runner has unexpectedly stopped
            the model was only loaded
                Other | 9 in, 0 out (estimate)
            thoughts
                Stop | thinks "hm" | "Hi" | 3 in, 2 out
            something else
                unknown: test: the provider's response cannot be parsed: expected value at line 1 column 1, in `<html>Welcome</html>`
        "#]],
    )
    .await;
}
