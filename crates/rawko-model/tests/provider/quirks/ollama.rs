//! Ollama, line by line.

use expect_test::expect;
use rawko_testkit::{Ending, Format, Reply, ollama};
use serde_json::json;

use super::check;

#[tokio::test]
async fn are_all_taken() {
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
