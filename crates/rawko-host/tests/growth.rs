//! The disk usage of a long conversation: proportional to its text, not to the number of calls that pass it on.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;

use rawko_core::{Status, Value};
use rawko_host::{Closure, Edition, Gate, Host, ServiceCall, Services};
use rawko_store::{SqliteOptions, SqliteStore, Store};

/// A hundred calls, each with the whole conversation so far; every response is 8,000 bytes, about 2,000 tokens.
const CONVERSATION: &str = "
statechart:
  id: conversation
  initial: asking
  context: {messages: [{role: user, content: Begin.}], calls: 0, of: 100}
  states:
    asking:
      invoke:
        src: model
        input: {messages: context.messages}
        onDone:
          target: deciding
          actions:
            - type: assign
              context_updates:
                messages: 'append(context.messages, event.data)'
                calls: context.calls + 1
        onError: failed
    deciding: {always: [{target: asking, guard: context.calls < context.of}, done]}
    failed: {type: final}
    done: {type: final, output: length(context.messages)}
";

const ANSWER_BYTES: usize = 8_000;

fn answer(number: usize) -> Value {
    let words = format!("answer {number}: ");
    let content: String = words.chars().chain("lorem ipsum ".chars().cycle()).take(ANSWER_BYTES).collect();
    Value::map([("role", Value::str("assistant")), ("content", Value::from(content))])
}

async fn converse(path: &Path, calls: i64) -> u64 {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path, SqliteOptions::default()).unwrap());
    let model = |call: ServiceCall| async move {
        let heard = call.input.get("messages").as_list().unwrap();
        // The model gets every message whole, regardless of how it is stored.
        for (number, message) in heard.iter().enumerate().skip(1) {
            assert_eq!(*message, answer(number));
        }
        Ok(answer(heard.len()))
    };
    let host = Host::builder()
        .store(Arc::clone(&store))
        .chart(Edition::read("conversation.yaml", CONVERSATION).unwrap())
        .services(Services::new().add("model", Closure::new(model).into_service()))
        .gate(Gate::open())
        .start()
        .await
        .unwrap();
    let input = Value::map([("of", Value::Int(calls))]);
    let results = host.execute("conversation", "latest", input).await.unwrap();
    assert_eq!(results.status, Status::Done, "{:?}", results.error);
    assert_eq!(results.output, Value::Int(calls + 1));
    host.close().await;
    store.report().unwrap().bytes
}

#[tokio::test]
async fn a_hundred_calls_of_two_hundred_thousand_tokens_stay_under_ten_megabytes() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = converse(&dir.path().join("long.db"), 100).await;
    assert!(bytes < 10_000_000, "{bytes} bytes for {} bytes of conversation", 100 * ANSWER_BYTES);
}

#[tokio::test]
async fn twice_the_conversation_takes_twice_the_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut sizes = Vec::new();
    for calls in [25, 50, 100] {
        sizes.push(converse(&dir.path().join(format!("{calls}.db")), calls).await as f64);
    }
    let (first, second) = (sizes[1] - sizes[0], sizes[2] - sizes[1]);
    // Twice as many calls again: twice the growth, plus a margin for the deeper trees of chunks.
    assert!(second < 2.5 * first, "{sizes:?}");
}
