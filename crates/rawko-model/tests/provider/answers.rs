//! The same responses in every wire format decode to the same events.

use expect_test::expect;
use rawko_model::provider::{BodyEnd, Decoder, ErrorCode, StreamEvent};
use rawko_testkit::{ModelAnswer, Reason, WireProtocol};
use serde_json::json;

use crate::support::{answered, ask, dialect, provider, request, shown, table};

fn answers() -> Vec<(&'static str, ModelAnswer)> {
    let input = json!({"path": "src/größe.rs", "lines": [1, 2], "deep": {"all": true}});
    vec![
        ("text", ModelAnswer::text(&["Hel", "lo", ", wörld"])),
        ("one call", ModelAnswer::text(&[]).call("id_1", "Read", input.clone())),
        (
            "text and two calls",
            ModelAnswer::text(&["I look."]).call("id_1", "Read", input).call("id_2", "Glob", json!({})),
        ),
        ("length", ModelAnswer::text(&["and then"]).because(Reason::Length)),
        ("filter", ModelAnswer::text(&["I"]).because(Reason::Filter)),
    ]
}

#[tokio::test]
async fn all_formats_say_the_same() {
    let mut rows = Vec::new();
    for (name, answer) in answers() {
        for format in WireProtocol::ALL {
            let (_, result) = answered(format, format.reply(&answer)).await;
            rows.push((format!("{name}, {format:?}"), shown(&result)));
        }
    }
    expect![[r#"
        text, OpenAi
            Stop | "Hello, wörld" | 11 in, 7 out
        text, Anthropic
            Stop | "Hello, wörld" | 11 in, 7 out
        text, Gemini
            Stop | "Hello, wörld" | 11 in, 7 out
        text, Ollama
            Stop | "Hello, wörld" | 11 in, 7 out
        text, Responses
            Stop | "Hello, wörld" | 11 in, 7 out
        one call, OpenAi
            ToolCalls | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as id_1 | 11 in, 7 out
        one call, Anthropic
            ToolCalls | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as id_1 | 11 in, 7 out
        one call, Gemini
            ToolCalls | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as call_1 | 11 in, 7 out
        one call, Ollama
            ToolCalls | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as call_1 | 11 in, 7 out
        one call, Responses
            ToolCalls | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as id_1 | 11 in, 7 out
        text and two calls, OpenAi
            ToolCalls | "I look." | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as id_1 | Glob({}) as id_2 | 11 in, 7 out
        text and two calls, Anthropic
            ToolCalls | "I look." | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as id_1 | Glob({}) as id_2 | 11 in, 7 out
        text and two calls, Gemini
            ToolCalls | "I look." | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as call_1 | Glob({}) as call_2 | 11 in, 7 out
        text and two calls, Ollama
            ToolCalls | "I look." | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as call_1 | Glob({}) as call_2 | 11 in, 7 out
        text and two calls, Responses
            ToolCalls | "I look." | Read({"path":"src/größe.rs","lines":[1,2],"deep":{"all":true}}) as id_1 | Glob({}) as id_2 | 11 in, 7 out
        length, OpenAi
            Length | "and then" | 11 in, 7 out
        length, Anthropic
            Length | "and then" | 11 in, 7 out
        length, Gemini
            Length | "and then" | 11 in, 7 out
        length, Ollama
            Length | "and then" | 11 in, 7 out
        length, Responses
            Length | "and then" | 11 in, 7 out
        filter, OpenAi
            ContentFilter | "I" | 11 in, 7 out
        filter, Anthropic
            ContentFilter | "I" | 11 in, 7 out
        filter, Gemini
            ContentFilter | "I" | 11 in, 7 out
        filter, Ollama
            Stop | "I" | 11 in, 7 out
        filter, Responses
            ContentFilter | "I" | 11 in, 7 out
    "#]].assert_eq(&table(rows));
}

/// Chunk boundaries do not change the decoded events.
#[test]
fn pieces_do_not_matter() {
    for (name, answer) in answers() {
        for format in WireProtocol::ALL {
            let bytes = format.reply(&answer).bytes();
            let decoded = |size: usize| {
                let mut decoder = Decoder::new(dialect(format), &request(), None, "test/test-model");
                let mut events = Vec::new();
                for piece in bytes.chunks(size) {
                    decoder.handle_bytes(piece).unwrap();
                    events.extend(decoder.take_events());
                }
                let (completion, last) = decoder.finish(BodyEnd::Announced).unwrap();
                events.extend(last);
                (completion, events)
            };
            let whole = decoded(bytes.len());
            for size in [1, 2, 3, 7, 64] {
                assert_eq!(decoded(size), whole, "{name}, {format:?}, pieces of {size}");
            }
        }
    }
}

/// A stream cut after any byte gives the whole response or a network error, never half a response.
#[test]
fn a_cut_at_any_byte_is_noticed() {
    for (name, answer) in answers() {
        for format in WireProtocol::ALL {
            let bytes = format.reply(&answer).bytes();
            let decoded = |length: usize| {
                let mut decoder = Decoder::new(dialect(format), &request(), None, "test/test-model");
                decoder.handle_bytes(&bytes[..length]).unwrap();
                decoder.finish(BodyEnd::Broken).map(|(completion, _)| completion)
            };
            let whole = decoded(bytes.len()).unwrap();
            for length in 0..bytes.len() {
                match decoded(length) {
                    Ok(completion) => {
                        assert_eq!(completion.message, whole.message, "{name}, {format:?}, {length}")
                    }
                    Err(error) => {
                        assert_eq!(error.code, ErrorCode::NetworkError, "{name}, {format:?}, {length}")
                    }
                }
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    /// No input panics: a real response with changed bytes, then arbitrary bytes.
    #[test]
    fn no_bytes_break_anything(
        which in 0..WireProtocol::ALL.len(),
        changes in proptest::collection::vec((0..4_000_usize, proptest::prelude::any::<u8>()), 0..6),
        after in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
    ) {
        let format = WireProtocol::ALL[which];
        for (_, answer) in answers() {
            let mut bytes = format.reply(&answer).bytes();
            let length = bytes.len();
            changes.iter().for_each(|(at, byte)| bytes[at % length] = *byte);
            bytes.extend(&after);
            let mut decoder = Decoder::new(dialect(format), &request(), None, "test/test-model");
            if decoder.handle_bytes(&bytes).is_ok() {
                let _ = decoder.finish(BodyEnd::Announced);
            }
        }
    }
}

/// Slow tokens: bytes arrive one at a time, and events are sent before the response is complete.
#[tokio::test]
async fn slow_answers_are_heard_as_they_come() {
    for format in WireProtocol::ALL {
        let reply = format.reply(&ModelAnswer::text(&["one ", "two ", "three"])).in_pieces_of(1);
        let (events, result) = answered(format, reply).await;
        let heard: Vec<&str> = events
            .iter()
            .filter_map(
                |event| if let StreamEvent::TextDelta { text } = event { Some(text.as_str()) } else { None },
            )
            .collect();
        assert_eq!(heard, ["one ", "two ", "three"], "{format:?}");
        assert!(result.is_ok(), "{format:?}");
    }
}

#[tokio::test]
async fn what_is_heard_of_a_call() {
    let answer = ModelAnswer::text(&["Now."]).call("id_1", "Read", json!({"path": "a"}));
    let mut heard = String::new();
    for format in [WireProtocol::OpenAi, WireProtocol::Anthropic, WireProtocol::Gemini] {
        let (events, _) = answered(format, format.reply(&answer)).await;
        heard += &format!("{format:?}\n");
        for event in events {
            heard += &format!("    {}\n", serde_json::to_string(&event).unwrap());
        }
    }
    expect![[r#"
        OpenAi
            {"type":"text_delta","text":"Now."}
            {"type":"tool_use_start","id":"id_1","name":"Read"}
            {"type":"tool_use_input","id":"id_1","json":"{\"p"}
            {"type":"tool_use_input","id":"id_1","json":"ath"}
            {"type":"tool_use_input","id":"id_1","json":"\":\""}
            {"type":"tool_use_input","id":"id_1","json":"a\"}"}
            {"type":"tool_use_end","id":"id_1","name":"Read"}
            {"type":"message_done","usage":{"input_tokens":11,"output_tokens":7,"cached_tokens":0,"is_estimate":false,"cost_usd":null},"stop_reason":"tool_calls"}
        Anthropic
            {"type":"text_delta","text":"Now."}
            {"type":"tool_use_start","id":"id_1","name":"Read"}
            {"type":"tool_use_input","id":"id_1","json":"{\"p"}
            {"type":"tool_use_input","id":"id_1","json":"ath"}
            {"type":"tool_use_input","id":"id_1","json":"\":\""}
            {"type":"tool_use_input","id":"id_1","json":"a\"}"}
            {"type":"tool_use_end","id":"id_1","name":"Read"}
            {"type":"message_done","usage":{"input_tokens":11,"output_tokens":7,"cached_tokens":0,"is_estimate":false,"cost_usd":null},"stop_reason":"tool_calls"}
        Gemini
            {"type":"text_delta","text":"Now."}
            {"type":"tool_use_start","id":"call_1","name":"Read"}
            {"type":"tool_use_input","id":"call_1","json":"{\"path\":\"a\"}"}
            {"type":"tool_use_end","id":"call_1","name":"Read"}
            {"type":"message_done","usage":{"input_tokens":11,"output_tokens":7,"cached_tokens":0,"is_estimate":false,"cost_usd":null},"stop_reason":"tool_calls"}
    "#]].assert_eq(&heard);
}

/// The future is dropped in the middle of a response: its listener is dropped with it.
#[tokio::test]
async fn an_abandoned_request_ends() {
    let reply = WireProtocol::OpenAi
        .reply(&ModelAnswer::text(&["x"]))
        .cut_after(150)
        .ending(rawko_testkit::ReplyEnding::Silent);
    let server = rawko_testkit::ProviderServer::replying([reply]).await.unwrap();
    let provider = provider(WireProtocol::OpenAi, &server.url());
    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let asking = tokio::spawn(async move {
        let mut listener = move |event| told.send(event).unwrap();
        provider_complete(&provider, &mut listener).await;
    });
    while server.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    assert_eq!(hears.recv().await, None, "whoever listened is let go");
}

async fn provider_complete(
    provider: &rawko_model::provider::HttpProvider,
    listener: rawko_model::provider::StreamListener<'_>,
) {
    use rawko_model::provider::Provider;
    provider.complete(request(), listener).await.unwrap_err();
}

#[tokio::test]
async fn a_known_model_has_a_cost() {
    let server =
        rawko_testkit::ProviderServer::new(|_| WireProtocol::OpenAi.reply(&ModelAnswer::text(&["x"])))
            .await
            .unwrap();
    let provider = provider(WireProtocol::OpenAi, &format!("{}/v1", server.url()));
    let mut costs = Vec::new();
    for model in ["gpt-4o", "gpt-4o-2024-08-06", "nobody-knows"] {
        let asked = rawko_model::provider::CompletionRequest { model: model.to_owned(), ..request() };
        let (events, result) = ask(&provider, asked).await;
        let cost = result.unwrap().usage.cost_usd;
        let Some(StreamEvent::MessageDone { usage, .. }) = events.last() else { panic!("{events:?}") };
        assert_eq!(usage.cost_usd, cost, "{model}");
        costs.push(cost);
    }
    // 11 input and 7 output tokens, at 2.50 and 10 dollars per million.
    let cost = (11.0 * 2.5 + 7.0 * 10.0) / 1_000_000.0;
    assert_eq!(costs, [Some(cost), Some(cost), None]);
}
