//! Tapes: recorded from a real exchange, replayed without one.

use std::sync::Arc;

use expect_test::expect;
use rawko_core::Value;
use rawko_model::provider::{
    ApiKey, CompletionRequest, Recorder, RecordingProvider, TapeProvider, request_hash,
};
use rawko_model::{Message, Role, ToolSpec};
use rawko_testkit::{ModelAnswer, ProviderServer, WireProtocol, anthropic};
use serde_json::json;

use crate::support::{KEY, ask, provider, request, shown, shown_error};

fn saying(text: &str) -> CompletionRequest {
    CompletionRequest { messages: vec![Message::text(Role::User, text)].into(), ..request() }
}

/// Three exchanges, one of them a failure, recorded from a server.
async fn recorded(folder: &std::path::Path) -> std::path::PathBuf {
    let server = ProviderServer::replying([
        WireProtocol::Anthropic.reply(&ModelAnswer::text(&["Hel", "lo"]).call(
            "t1",
            "Read",
            json!({"path": "a"}),
        )),
        WireProtocol::Anthropic
            .failure(429, "rate_limit_error", &format!("slow down, {KEY}"))
            .header("retry-after", "3"),
        WireProtocol::Anthropic.reply(&ModelAnswer::text(&["Better."])),
    ])
    .await
    .unwrap();
    let path = folder.join("made/for/it/tape.jsonl");
    let recorder = Recorder::open(&path, vec![ApiKey::new(KEY)]).unwrap();
    let record = RecordingProvider::new(
        Arc::new(provider(WireProtocol::Anthropic, &server.url())),
        Arc::clone(&recorder),
    );
    for text in ["one", "two", "two"] {
        let said = format!("{text} {}", if text == "two" { KEY } else { "" });
        let _ = ask(&record, saying(if text == "two" { text } else { &said })).await;
    }
    assert_eq!(recorder.fault(), None);
    path
}

#[tokio::test]
async fn what_was_recorded_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path()).await;
    let replay = TapeProvider::read(&path).unwrap();
    assert_eq!(replay.unused().len(), 3);
    let mut lines = String::new();
    // Not the recorded order; equal requests replay in theirs.
    for text in ["two", "one ", "two"] {
        let (events, result) = ask(&replay, saying(text)).await;
        lines += &format!("{text}: {} events, {}\n", events.len(), shown(&result));
    }
    assert!(replay.unused().is_empty());
    expect![[r#"
        two: 0 events, rate_limited in 3000 ms: test: the provider returned 429: slow down, [hidden]
        one : 9 events, ToolCalls | "Hello" | Read({"path":"a"}) as t1 | 11 in, 7 out
        two: 2 events, Stop | "Better." | 11 in, 7 out
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn a_tape_has_no_key_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path()).await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(!text.contains(KEY));
    let recorder = Recorder::open(&path, vec![ApiKey::new(KEY)]).unwrap();
    let nobody = provider(WireProtocol::OpenAi, "http://127.0.0.1:9");
    let _ =
        ask(&RecordingProvider::new(Arc::new(nobody), recorder), saying(&format!("my key is {KEY}"))).await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 4, "a tape is added to");
    assert!(text.contains("my key is [hidden]") && !text.contains(KEY));
}

#[tokio::test]
async fn unexpected_and_unused_exchanges() {
    let folder = tempfile::tempdir().unwrap();
    let replay = TapeProvider::read(&recorded(folder.path()).await).unwrap();
    let tool = ToolSpec { name: "Read".to_owned(), description: String::new(), input_schema: Value::Null };
    let mut lines = Vec::new();
    for request in [
        saying("something else"),
        CompletionRequest { system: "Be long.".to_owned(), ..saying("one ") },
        CompletionRequest { model: "other".to_owned(), ..saying("one ") },
        CompletionRequest { tools: vec![tool], agent: "developer".to_owned(), ..saying("one ") },
        CompletionRequest { temperature: Some(1.0), ..saying("one ") },
    ] {
        lines.push(shown_error(&ask(&replay, request).await.1.unwrap_err()));
    }
    for text in ["one ", "two", "two", "two"] {
        if let Err(error) = ask(&replay, saying(text)).await.1 {
            lines.push(shown_error(&error));
        }
    }
    let shown = lines.join("\n").replace(&folder.path().display().to_string(), "FOLDER");
    expect![[r#"
        invalid_request: FOLDER/made/for/it/tape.jsonl has no answer to a request to `test-model` with 1 messages that ends in `something else`: next on it is a request to `test-model` with 1 messages that ends in `one `; they differ in message 1
        invalid_request: FOLDER/made/for/it/tape.jsonl has no answer to a request to `test-model` with 1 messages that ends in `one `: next on it is a request to `test-model` with 1 messages that ends in `one `; they differ in the system prompt
        invalid_request: FOLDER/made/for/it/tape.jsonl has no answer to a request to `other` with 1 messages that ends in `one `: next on it is a request to `test-model` with 1 messages that ends in `one `; they differ in the model
        invalid_request: FOLDER/made/for/it/tape.jsonl has no answer to a request of `developer` to `test-model` with 1 messages that ends in `one `: next on it is a request to `test-model` with 1 messages that ends in `one `; they differ in the tools
        invalid_request: FOLDER/made/for/it/tape.jsonl has no answer to a request to `test-model` with 1 messages that ends in `one `: next on it is a request to `test-model` with 1 messages that ends in `one `; they differ in the schema or the limits
        rate_limited in 3000 ms: test: the provider returned 429: slow down, [hidden]
        invalid_request: FOLDER/made/for/it/tape.jsonl has no answer to a request to `test-model` with 1 messages that ends in `two`: the tape is at its end"#]].assert_eq(&shown);
}

#[test]
fn only_what_the_model_sees_matters() {
    let with_input = |json: &str| {
        let input: Value = serde_json::from_str(json).unwrap();
        let tool = ToolSpec { name: "Read".to_owned(), description: String::new(), input_schema: input };
        CompletionRequest { tools: vec![tool], ..request() }
    };
    let one = with_input("{\"a\": 1, \"b\": {\"c\": 2, \"d\": 3}}");
    let same = [
        with_input("{\"b\": {\"d\": 3, \"c\": 2}, \"a\": 1}"),
        CompletionRequest { idempotency: "x".to_owned(), attempt: 3, ..one.clone() },
        CompletionRequest { agent: "x".to_owned(), occasion: "y".to_owned(), ..one.clone() },
    ];
    let other = [
        with_input("{\"a\": 2, \"b\": {\"c\": 2, \"d\": 3}}"),
        CompletionRequest { system: "x".to_owned(), ..one.clone() },
        CompletionRequest { model: "x".to_owned(), ..one.clone() },
    ];
    assert!(same.iter().all(|it| request_hash(it) == request_hash(&one)));
    assert!(other.iter().all(|it| request_hash(it) != request_hash(&one)));
}

#[test]
fn a_broken_tape_says_where() {
    let problem = |text: &str| TapeProvider::of_text("tape.jsonl", text).err().unwrap();
    assert!(problem("\n{\"version\": 1}").starts_with("tape.jsonl:2: missing field"));
    assert!(problem("hello").starts_with("tape.jsonl:1: expected value"));
    let missing = TapeProvider::read(std::path::Path::new("no/such/tape.jsonl")).err().unwrap();
    assert!(missing.starts_with("cannot read no/such/tape.jsonl: "));
}

/// Reasoning is on a tape with its signature, and an older tape without it can still be read.
#[tokio::test]
async fn reasoning_is_recorded_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape.jsonl");
    let reply = rawko_testkit::ModelReply::events([
        anthropic::start(3),
        anthropic::block_start(0, json!({"type": "thinking", "thinking": "hm", "signature": "SIG"})),
        anthropic::block_stop(0),
        anthropic::block_start(1, json!({"type": "text", "text": "Yes."})),
        anthropic::end("end_turn", 4),
        anthropic::stop(),
    ]);
    let server = ProviderServer::replying([reply]).await.unwrap();
    let recorder = Recorder::open(&path, Vec::new()).unwrap();
    let record = RecordingProvider::new(Arc::new(provider(WireProtocol::Anthropic, &server.url())), recorder);
    let (live_events, live) = ask(&record, saying("one")).await;
    let (events, replayed) = ask(&TapeProvider::read(&path).unwrap(), saying("one")).await;
    assert_eq!((events, replayed.clone()), (live_events, live));
    assert_eq!(shown(&replayed), "Stop | thinks \"hm\" signed SIG | \"Yes.\" | 3 in, 4 out");
    let old = r#"{"version":1,"hash":"x","request":{"model":"m","system":"","messages":[],"tools":[],"schema":null,"output_tokens_max":null,"temperature":null,"idempotency":""},"events":[],"result":{"completion":{"message":{"role":"assistant","parts":[]},"stop_reason":"stop","usage":{"input_tokens":1,"output_tokens":1,"cached_tokens":0,"is_estimate":false,"cost_usd":null},"data":null}}}"#;
    assert!(TapeProvider::of_text("old.jsonl", old).is_ok());
}
