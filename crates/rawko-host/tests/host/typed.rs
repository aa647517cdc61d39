//! Validation of inputs: events against `events`, inputs against the context's schema, answers against forms.

use rawko_core::{EventRefusal, NamedEvent, Value};
use rawko_host::{Fork, HostError, PersonAnswer, StartOptions};
use serde_json::json;

use crate::bench::{bench, journal, rest, send, start};

const FORM: &str = "
statechart:
  id: form
  initial: open
  context: {title: null, copies: 1}
  context_schema: {properties: {copies: {type: integer, minimum: 1}}}
  events:
    SUBMIT: {data: {type: object, required: [title], properties: {title: {type: string}}}}
    TICK: {internal: true}
  states:
    open:
      on:
        SUBMIT: {target: closed, actions: [{type: assign, context_updates: {title: event.data.title}}]}
        TICK: closed
    closed: {type: final, output: {title: context.title}}
";

const PLAIN: &str = "
statechart:
  id: plain
  initial: a
  states:
    a: {on: {GO: b}}
    b: {on: {TELL_FORM: {actions: [{type: send, target: {literal: i}, event: SUBMIT, data: {title: 5}}]}}}
";

fn event(name: &str, data: serde_json::Value) -> NamedEvent {
    NamedEvent::new(name, Value::from_json(data))
}

#[tokio::test]
async fn an_event_that_the_chart_does_not_take_is_refused_and_changes_nothing() {
    let bench = bench(&[FORM]);
    let host = bench.host().await;
    start(&host, "form", json!({})).await;
    let refused = [
        (event("SUBMTI", json!({"title": "A"})), "unknown_event"),
        (event("TICK", json!(null)), "internal_event"),
        (event("SUBMIT", json!({"title": 5})), "wrong_event_data"),
        (event("SUBMIT", json!(null)), "wrong_event_data"),
    ];
    for (event, code) in refused {
        match host.send("i", event.clone(), None).await {
            Err(HostError::EventRefused { refusal, .. }) => assert_eq!(refusal.code(), code, "{event:?}"),
            other => panic!("{event:?}: {other:?}"),
        }
    }
    assert_eq!(journal(&host, "i"), ["0 Started "]);
    host.send("i", event("SUBMIT", json!({"title": "A"})), None).await.unwrap();
    assert_eq!(rest(&host, "i").await, r#"done [closed] {"title":"A"}"#);
}

#[tokio::test]
async fn without_declarations_only_what_no_state_handles_is_refused() {
    let bench = bench(&[PLAIN]);
    let host = bench.host().await;
    start(&host, "plain", json!({})).await;
    let unknown = host.send("i", event("G0", json!(null)), None).await;
    assert_eq!(
        unknown,
        Err(HostError::EventRefused {
            id: "i".into(),
            refusal: EventRefusal::Unknown {
                event: "G0".into(),
                declared: false,
                close: Some("GO".into()),
                known: vec!["GO".into(), "TELL_FORM".into()],
            },
        })
    );
    // Another state handles it, so it is ignored.
    assert!(!host.send("i", event("TELL_FORM", json!(null)), None).await.unwrap().handled);
    assert_eq!(journal(&host, "i"), ["0 Started ", "1 Ignored TELL_FORM"]);
}

#[tokio::test]
async fn a_message_with_wrong_data_is_refused_and_the_journal_says_so() {
    let bench = bench(&[FORM, PLAIN]);
    let host = bench.host().await;
    start(&host, "form", json!({})).await;
    let other = StartOptions { chart: "plain".into(), input: Value::Null, id: Some("other".into()) };
    host.start(other).await.unwrap();
    send(&host, "other", "GO").await;
    send(&host, "other", "TELL_FORM").await;
    assert_eq!(rest(&host, "i").await, "waits [open]");
    assert_eq!(journal(&host, "i"), ["0 Started ", "1 Failed SUBMIT"]);
    assert_eq!(bench.store.inbound(None).unwrap(), []);
}

#[tokio::test]
async fn an_input_or_an_edit_that_the_context_cannot_hold_is_refused() {
    let bench = bench(&[FORM]);
    let host = bench.host().await;
    let wrong =
        StartOptions { chart: "form".into(), input: json!({"copies": 0}).into(), id: Some("i".into()) };
    let error = host.start(wrong).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the input is invalid: `context.copies` does not match the context's schema: expected at least 1, found 0"
    );
    start(&host, "form", json!({"copies": 2})).await;
    let edit = Fork { set: vec![("copies".into(), "'two'".into())], ..Fork::default() };
    let error = host.fork("i", edit).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot set `copies`: "), "{error}");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_its_form_is_refused_and_the_question_stays() {
    const ASK: &str = "
statechart:
  id: ask
  initial: asking
  states:
    asking:
      invoke:
        id: address
        src: human
        input: {title: \"'Where?'\", form: \"{street: {type: 'string', required: true}, floor: 'integer'}\"}
        onDone: {target: done}
        onError: done
    done: {type: final}
";
    let bench = bench(&[ASK]);
    let host = bench.host().await;
    start(&host, "ask", json!({})).await;
    let answer = |data: serde_json::Value| PersonAnswer {
        approved: true,
        by: None,
        claimed: None,
        asked_ms: None,
        comment: None,
        data: Value::from_json(data),
    };
    let wrong = host.answer("i", None, answer(json!({"floor": "second"}))).await.unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the answer to `address` of instance `i` does not fit its form: \
         `street` is missing; `floor`: expected a whole number, found a string"
    );
    assert_eq!(rest(&host, "i").await, "asks [asking]");
    host.answer("i", None, answer(json!({"street": "Elm", "floor": 2}))).await.unwrap();
    assert_eq!(rest(&host, "i").await, "done [done] null");
}

#[tokio::test]
async fn an_instance_knows_itself_also_after_a_restart() {
    const OUTER: &str = "
statechart:
  id: outer
  initial: a
  states:
    a: {invoke: {id: kid, src: 'statechart:inner', onDone: {target: b, actions: [keep]}, onError: b}}
    b: {type: final, output: {me: instance.id, above: instance.parent, kid: context.kid, age: now() - instance.started}}
  context: {kid: null}
  actions:
    keep: {type: assign, context_updates: {kid: event.data}}
";
    const INNER: &str = "
statechart:
  id: inner
  initial: a
  states:
    a: {on: {GO: b}}
    b: {type: final, output: {me: instance.id, above: instance.parent, age: now() - instance.started}}
";
    let bench = bench(&[OUTER, INNER]);
    let host = bench.host().await;
    start(&host, "outer", json!({})).await;
    bench.advance(&host, 1_000);
    host.close().await;
    let host = bench.host().await;
    send(&host, "i.inner.0", "GO").await;
    let kid = r#"{"me":"i.inner.0","above":"i","age":1000}"#;
    assert_eq!(
        rest(&host, "i").await,
        format!(r#"done [b] {{"me":"i","above":null,"kid":{kid},"age":1000}}"#)
    );
}
