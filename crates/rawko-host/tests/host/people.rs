//! People: approvals and forms, expiry, retrying, forking.

use rawko_core::{NamedEvent, Value};
use rawko_host::{Category, Fork, HostError, PersonAnswer, StartOptions};
use serde_json::json;

use crate::bench::{Act, bench, journal, rest, send, start, until_over};

const ASK: &str = "
statechart:
  id: ask
  initial: asking
  context: {by: null, why: null, limit: 10}
  states:
    asking:
      invoke:
        id: approval
        src: human
        input: {title: \"'May I?'\", expires: \"'24h'\"}
        onDone:
          - {target: yes, guard: event.data.approved, actions: [{type: assign, context_updates: {by: event.data.by}}]}
          - no
        onError: {target: no, actions: [{type: assign, context_updates: {why: event.data.category}}]}
    yes: {on: {GO: {target: no, guard: context.limit > 10}}}
    no: {type: final, output: {why: context.why}}
";

fn answer(approved: bool) -> PersonAnswer {
    PersonAnswer {
        approved,
        by: Some("ada".into()),
        claimed: None,
        asked_ms: None,
        comment: None,
        data: Value::Null,
    }
}

#[tokio::test]
async fn a_person_is_asked_and_answers() {
    let bench = bench(&[ASK]);
    let host = bench.host().await;
    start(&host, "ask", json!({})).await;
    assert_eq!(rest(&host, "i").await, "asks [asking]");
    let wrong = host.answer("i", Some("other"), answer(true)).await;
    assert!(matches!(wrong, Err(HostError::NotAsked { .. })), "{wrong:?}");
    host.answer("i", None, answer(true)).await.unwrap();
    assert_eq!(rest(&host, "i").await, "waits [yes]");
    let twice = host.answer("i", None, answer(false)).await;
    assert_eq!(twice, Err(HostError::NothingAsked { id: "i".into() }));
}

/// Two people see a request; one denies it, and the agent asks again at once. The other has not seen the new request.
#[tokio::test]
async fn an_answer_counts_only_for_the_request_that_was_seen() {
    let again = "
statechart:
  id: again
  initial: asking
  states:
    asking:
      invoke:
        id: approval
        src: human
        onDone:
          - {target: yes, guard: event.data.approved}
          - {target: asking, reenter: true}
    yes: {type: final}
";
    let bench = bench(&[again]);
    let host = bench.host().await;
    start(&host, "again", json!({})).await;
    assert_eq!(rest(&host, "i").await, "asks [asking]");
    let key = host.reader().find("i").unwrap().key;
    let asked_ms = || host.reader().store().open_effects(Some(key)).unwrap()[0].opened_ms;
    let first = asked_ms();
    let seen = |asked_ms: i64, approved: bool| PersonAnswer { asked_ms: Some(asked_ms), ..answer(approved) };
    bench.advance(&host, 1_000);
    host.answer("i", Some("approval"), seen(first, false)).await.unwrap();
    assert_eq!(rest(&host, "i").await, "asks [asking]");
    let stale = host.answer("i", Some("approval"), seen(first, true)).await;
    assert_eq!(stale, Err(HostError::Superseded { id: "i".into(), invoke: "approval".into() }));
    host.answer("i", Some("approval"), seen(asked_ms(), true)).await.unwrap();
    assert_eq!(rest(&host, "i").await, "done [yes] null");
}

/// Neither a person who may send events nor another instance answers a request by the name of its result.
#[tokio::test]
async fn the_result_of_a_request_cannot_be_sent_as_an_event() {
    let forger = "
statechart:
  id: forger
  initial: a
  states:
    a:
      entry: [{type: send, target: {literal: i}, event: done.invoke.approval, data: {approved: true, by: \"'ceo'\"}}]
      on: {GO: b}
    b: {type: final}
";
    let bench = bench(&[ASK, forger]);
    let host = bench.host().await;
    start(&host, "ask", json!({})).await;
    for name in
        ["done.invoke.approval", "error.invoke.approval", "timeout.invoke.approval", "done.state.asking"]
    {
        let event = NamedEvent::new(name, Value::from_json(json!({"approved": true, "by": "ceo"})));
        match host.send("i", event, None).await {
            Err(HostError::EventRefused { refusal, .. }) => assert_eq!(refusal.code(), "reserved_event"),
            other => panic!("{name}: {other:?}"),
        }
    }
    host.start(StartOptions { chart: "forger".into(), id: Some("f".into()), ..StartOptions::default() })
        .await
        .unwrap();
    assert_eq!(rest(&host, "f").await, "waits [a]");
    assert_eq!(rest(&host, "i").await, "asks [asking]");
    assert!(journal(&host, "i").iter().all(|line| !line.contains("Stepped")), "{:?}", journal(&host, "i"));
    host.answer("i", None, answer(true)).await.unwrap();
    assert_eq!(rest(&host, "i").await, "waits [yes]");
}

#[tokio::test]
async fn an_approval_expires_also_across_a_restart() {
    let bench = bench(&[ASK]);
    let host = bench.host().await;
    start(&host, "ask", json!({})).await;
    host.close().await;
    let host = bench.host().await;
    bench.advance(&host, 24 * 3_600_000 - 1);
    assert_eq!(rest(&host, "i").await, "asks [asking]");
    bench.advance(&host, 1);
    until_over(&host, "i").await;
    assert_eq!(rest(&host, "i").await, r#"done [no] {"why":"expired"}"#);
}

#[tokio::test]
async fn a_fork_goes_on_from_a_past_step_with_other_values() {
    let bench = bench(&[ASK]);
    let host = bench.host().await;
    start(&host, "ask", json!({})).await;
    host.answer("i", None, answer(true)).await.unwrap();
    send(&host, "i", "GO").await;
    assert_eq!(rest(&host, "i").await, "waits [yes]");
    let set = vec![("limit".into(), "context.limit * 2".into())];
    host.fork("i", Fork { at: Some(1), set, id: Some("f".into()) }).await.unwrap();
    send(&host, "f", "GO").await;
    assert_eq!(rest(&host, "f").await, r#"done [no] {"why":null}"#);
    assert_eq!(journal(&host, "f"), ["1 Forked ", "2 Stepped GO"]);
    // From the beginning: the request is opened again, for the fork.
    host.fork("i", Fork { at: Some(0), set: vec![], id: Some("g".into()) }).await.unwrap();
    assert_eq!(rest(&host, "g").await, "asks [asking]");
    let unknown = host.fork("i", Fork { set: vec![("x".into(), "1".into())], ..Fork::default() }).await;
    assert_eq!(
        unknown.unwrap_err().to_string(),
        "cannot set `x`: the context has no such key; it has by, why, limit"
    );
}

#[tokio::test]
async fn a_failure_nobody_handles_waits_for_somebody_who_retries() {
    const CHART: &str = "
statechart:
  id: bare
  initial: a
  states:
    a: {invoke: {id: job, src: work, onDone: b}}
    b: {type: final}
";
    let acts = [Act::Fail(Category::Failed, "no disk"), Act::Answer(json!(1))];
    let bench = bench(&[CHART]).service("work", &acts);
    let host = bench.host().await;
    start(&host, "bare", json!({})).await;
    assert_eq!(rest(&host, "i").await, r#"failed [a] "no disk""#);
    host.retry("i").await.unwrap();
    assert_eq!(rest(&host, "i").await, "done [b] null");
    assert_eq!(host.retry("i").await, Err(HostError::NotFailed { id: "i".into() }));
}
