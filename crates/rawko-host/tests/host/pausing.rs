//! Paused instances move only on a resume, and a host that was asked about one instance moves no other.

use rawko_core::{NamedEvent, Value};
use rawko_host::{Host, HostError, OnRestart, PersonAnswer, Receipt, StartOptions};
use rawko_store::WaitReason;
use serde_json::json;

use crate::bench::{Act, Bench, bench, journal, rest, start};

/// Calls a service, counts events, and gives up after ten seconds.
const WORK: &str = "
statechart:
  id: work
  initial: busy
  context: {why: null, news: []}
  states:
    busy:
      on: {NEWS: {actions: [{type: assign, context_updates: {news: 'context.news + [event.data]'}}]}}
      after: {10s: late}
      invoke:
        id: job
        src: job
        onDone: {target: done}
        onError: {target: done, actions: [{type: assign, context_updates: {why: event.data.category}}]}
    late: {type: final, output: \"'late'\"}
    done: {type: final, output: {why: context.why, news: context.news}}
";

fn working(restart: OnRestart) -> Bench {
    bench(&[WORK]).service("job", &[Act::Hang, Act::Answer(json!(1))]).on_restart("job", restart)
}

async fn pause(host: &Host, id: &str) -> Receipt {
    host.pause(id, Value::str("ada")).await.unwrap()
}

async fn resume(host: &Host, id: &str) -> Receipt {
    host.resume(id, Value::str("ada")).await.unwrap()
}

#[tokio::test]
async fn a_call_that_may_be_repeated_is_stopped_and_resumed_with_the_same_key() {
    for through_restart in [false, true] {
        let bench = working(OnRestart::Retry);
        let mut host = bench.host().await;
        start(&host, "work", json!({})).await;
        bench.until_called(1).await;
        assert!(pause(&host, "i").await.handled);
        assert_eq!(rest(&host, "i").await, "paused [busy]");
        assert!(!pause(&host, "i").await.handled, "pausing twice changes nothing");
        if through_restart {
            host.close().await;
            host = bench.host().await;
            assert_eq!(rest(&host, "i").await, "paused [busy]");
        }
        assert_eq!(bench.called(), ["job i/0/1 1"]);
        assert!(resume(&host, "i").await.handled);
        assert_eq!(rest(&host, "i").await, r#"done [done] {"why":null,"news":[]}"#);
        assert_eq!(bench.called(), ["job i/0/1 1", "job i/0/1 1"]);
        assert_eq!(bench.stopped(), ["i/0/1"]);
        let told = journal(&host, "i");
        assert_eq!(told[1..3], ["1 Stepped pause_requested", "2 Stepped resume_requested"]);
        let audit = bench.store.audit(Some("i"), 100).unwrap();
        let decisions: Vec<_> = audit.iter().map(|line| (&*line.decision, line.reason.as_str())).collect();
        assert_eq!(decisions[1..3], [("paused", "by ada"), ("resumed", "by ada")]);
    }
}

#[tokio::test]
async fn a_call_that_may_not_be_repeated_goes_on_and_is_interrupted_only_by_a_lost_host() {
    let bench = working(OnRestart::Unknown);
    let host = bench.host().await;
    start(&host, "work", json!({})).await;
    bench.until_called(1).await;
    pause(&host, "i").await;
    resume(&host, "i").await;
    pause(&host, "i").await;
    assert_eq!((bench.called().len(), bench.stopped().len()), (1, 0), "it was neither stopped nor repeated");
    host.close().await;
    let host = bench.host().await;
    assert_eq!(rest(&host, "i").await, "paused [busy]");
    resume(&host, "i").await;
    assert_eq!(rest(&host, "i").await, r#"done [done] {"why":"interrupted","news":[]}"#);
}

#[tokio::test]
async fn timers_stand_still() {
    let bench = working(OnRestart::Retry);
    let host = bench.host().await;
    start(&host, "work", json!({})).await;
    bench.until_called(1).await;
    bench.advance(&host, 4_000);
    pause(&host, "i").await;
    bench.advance(&host, 3_600_000);
    host.close().await;
    let host = bench.host().await;
    bench.advance(&host, 3_600_000);
    assert_eq!(rest(&host, "i").await, "paused [busy]");
    bench.acts(&[Act::Hang]);
    resume(&host, "i").await;
    bench.until_called(2).await;
    let due_ms = bench.store.find("i").unwrap().unwrap().head.next_due_ms.unwrap();
    assert_eq!(due_ms - bench.now_ms(), 6_000, "as much time is left as before the pause");
    bench.advance(&host, 6_000);
    assert_eq!(crate::bench::over(&host, "i").await, r#"done [late] "late""#);
}

#[tokio::test]
async fn events_are_stored_once_and_applied_in_order_on_resume() {
    let bench = working(OnRestart::Retry);
    let host = bench.host().await;
    start(&host, "work", json!({})).await;
    bench.until_called(1).await;
    pause(&host, "i").await;
    let news = |n: i64| NamedEvent::new("NEWS", Value::Int(n));
    for (number, key) in [(1, "a"), (2, "b"), (1, "a"), (3, "c")] {
        let receipt = host.send("i", news(number), Some(key)).await.unwrap();
        assert!(receipt.queued || key == "a", "{receipt:?}");
    }
    let refused = host.send("i", NamedEvent::new("NEWZ", Value::Null), None).await;
    assert!(matches!(refused, Err(HostError::EventRefused { .. })), "{refused:?}");
    assert_eq!(journal(&host, "i").len(), 2, "nothing moved");
    host.close().await;
    let host = bench.host().await;
    assert_eq!(journal(&host, "i").len(), 2, "nothing moved");
    resume(&host, "i").await;
    assert_eq!(rest(&host, "i").await, r#"done [done] {"why":null,"news":[1,2,3]}"#);
    assert!(bench.store.open_effects(None).unwrap().is_empty());
}

const ASKS: &str = "
statechart:
  id: asks
  initial: asking
  states:
    asking:
      invoke: {id: ask, src: human, input: {expires: 10000}, onDone: done, onError: expired}
    done: {type: final}
    expired: {type: final}
";

#[tokio::test]
async fn answers_and_retries_are_refused_requests_do_not_expire_and_a_cancel_ends_it() {
    let bench = bench(&[ASKS]);
    let host = bench.host().await;
    start(&host, "asks", json!({})).await;
    pause(&host, "i").await;
    let answer = || PersonAnswer {
        approved: true,
        by: None,
        claimed: None,
        asked_ms: None,
        comment: None,
        data: Value::Null,
    };
    let paused = HostError::Paused { id: "i".into() };
    assert_eq!(host.answer("i", None, answer()).await, Err(paused.clone()));
    assert_eq!(host.retry("i").await, Err(paused));
    bench.advance(&host, 60_000);
    resume(&host, "i").await;
    assert_eq!(rest(&host, "i").await, "asks [asking]", "the request has as much time left as before");
    assert!(!resume(&host, "i").await.handled, "resuming an instance that is not paused changes nothing");
    pause(&host, "i").await;
    host.cancel("i", Value::Null).await.unwrap();
    assert_eq!(rest(&host, "i").await, "cancelled [asking]");
    assert!(matches!(host.pause("i", Value::Null).await, Err(HostError::Over { .. })));
}

const PARENT: &str = "
statechart:
  id: parent
  initial: busy
  states:
    busy:
      invoke: {id: child, src: 'statechart:work', onDone: done, onError: failed}
    done: {type: final, output: \"'done'\"}
    failed: {type: final}
";

#[tokio::test]
async fn descendants_are_paused_and_resumed_with_it() {
    let bench = bench(&[PARENT, WORK])
        .service("job", &[Act::Hang, Act::Answer(json!(1))])
        .on_restart("job", OnRestart::Retry);
    let host = bench.host().await;
    start(&host, "parent", json!({})).await;
    bench.until_called(1).await;
    pause(&host, "i").await;
    let waits = |id: &str| bench.store.find(id).unwrap().unwrap().head.wait;
    assert_eq!((waits("i"), waits("i.work.0")), (WaitReason::Paused, WaitReason::Paused));
    // A child that is resumed by itself ends; its result waits for the resume of its parent.
    resume(&host, "i.work.0").await;
    rest(&host, "i.work.0").await;
    assert_eq!(rest(&host, "i").await, "paused [busy]");
    host.close().await;
    let host = bench.host().await;
    assert_eq!(rest(&host, "i").await, "paused [busy]");
    resume(&host, "i").await;
    assert_eq!(rest(&host, "i").await, r#"done [done] "done""#);
    assert_eq!(bench.called().len(), 2);
}

const TELLS: &str = "
statechart:
  id: tells
  initial: telling
  states:
    telling:
      entry: [{type: send, event: NEWS, target: i, data: 7}]
      always: told
    told: {type: final}
";

#[tokio::test]
async fn a_host_that_is_asked_about_one_instance_moves_no_other() {
    let bench = bench(&[WORK, TELLS])
        .service("job", &[Act::Hang, Act::Answer(json!(1))])
        .on_restart("job", OnRestart::Retry);
    let host = bench.host().await;
    start(&host, "work", json!({})).await;
    bench.until_called(1).await;
    let (before, calls) = (journal(&host, "i").len(), bench.called().len());
    host.close().await;
    let host = bench.command().await;
    let other = StartOptions { chart: "tells".into(), id: Some("other".into()), ..StartOptions::default() };
    host.start(other).await.unwrap();
    assert_eq!(rest(&host, "other").await, "done [told] null");
    bench.advance(&host, 60_000);
    assert_eq!((journal(&host, "i").len(), bench.called().len()), (before, calls), "the first one moved");
    assert_eq!((host.drives("other"), host.drives("i")), (Ok(true), Ok(false)));
    host.close().await;
    assert_eq!(bench.store.inbound(None).unwrap().len(), 1, "the event waits for a host that drives it");
    let host = bench.command().await;
    assert_eq!(rest(&host, "i").await, r#"done [late] "late""#, "asked about it, the host moves it");
}
