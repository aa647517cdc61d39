//! Child instances: they begin with their parent's step, end with it, and send it messages.

use rawko_core::Value;
use serde_json::json;

use crate::bench::{Act, bench, journal, rest, send, start};

const PARENT: &str = "
statechart:
  id: parent
  initial: working
  context: {heard: [], got: null, why: null}
  states:
    working:
      invoke:
        id: kid
        src: statechart:kid@^1
        input: {n: '3'}
        onDone: {target: done, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: {target: done, actions: [{type: assign, context_updates: {why: event.data.message}}]}
      on:
        TELL: {actions: [{type: send, target: kid, event: GO}]}
        PROGRESS: {actions: [{type: assign, context_updates: {heard: 'append(context.heard, event.data.at)'}}]}
        LEAVE: left
    left: {}
    done: {type: final, output: {got: context.got, heard: context.heard, why: context.why}}
";

const KID: &str = "
statechart:
  id: kid
  version: 1.2.0
  initial: waiting
  context: {n: 0}
  states:
    waiting: {on: {GO: half}}
    half:
      entry: [{type: emit, event: PROGRESS, data: {at: half}}, {type: send, target: self, event: ON}]
      on: {ON: whole}
    whole: {type: final, output: context.n * 2}
";

#[tokio::test]
async fn a_child_works_and_its_parent_hears_everything_in_order() {
    let bench = bench(&[PARENT, KID]);
    let host = bench.host().await;
    start(&host, "parent", json!({})).await;
    assert_eq!(rest(&host, "i").await, "waits [working]");
    assert_eq!(rest(&host, "i.kid.0").await, "waits [waiting]");
    send(&host, "i", "TELL").await;
    assert_eq!(rest(&host, "i").await, r#"done [done] {"got":6,"heard":["half"],"why":null}"#);
    assert_eq!(
        journal(&host, "i"),
        ["0 Started ", "1 Stepped TELL", "2 Stepped PROGRESS", "3 Stepped invoke_done"]
    );
    assert_eq!(journal(&host, "i.kid.0"), ["0 Started ", "1 Stepped GO", "2 Stepped ON"]);
    assert_eq!(bench.store.inbound(None).unwrap(), []);
}

#[tokio::test]
async fn a_child_ends_when_its_parent_leaves_the_state() {
    let host = bench(&[PARENT, KID]).host().await;
    start(&host, "parent", json!({})).await;
    send(&host, "i", "LEAVE").await;
    assert_eq!(rest(&host, "i").await, "waits [left]");
    assert_eq!(rest(&host, "i.kid.0").await, "cancelled [waiting]");
}

#[tokio::test]
async fn a_cancelled_child_is_an_error_to_its_parent() {
    let host = bench(&[PARENT, KID]).host().await;
    start(&host, "parent", json!({})).await;
    host.cancel("i.kid.0", Value::str("enough")).await.unwrap();
    assert_eq!(
        rest(&host, "i").await,
        r#"done [done] {"got":null,"heard":[],"why":"it was cancelled: enough"}"#
    );
}

#[tokio::test]
async fn a_version_that_is_not_there_is_a_clear_error() {
    let older = KID.replace("1.2.0", "0.9.0");
    let host = bench(&[PARENT, older.leak()]).host().await;
    start(&host, "parent", json!({})).await;
    let why = "no version of chart `kid` matches `^1`; available: 0.9.0";
    assert_eq!(
        rest(&host, "i").await,
        format!("done [done] {}", json!({"got": null, "heard": [], "why": why}))
    );
}

#[tokio::test]
async fn instances_send_to_each_other_by_id() {
    const PING: &str = "
statechart:
  id: ping
  initial: a
  context: {other: null}
  states:
    a:
      on:
        HIT: {target: b, actions: [{type: send, target: context.other, event: HIT}]}
    b: {}
";
    let host = bench(&[PING]).host().await;
    for (id, other) in [("x", "y"), ("y", "x")] {
        let input = json!({"other": other}).into();
        host.start(rawko_host::StartOptions { chart: "ping".into(), input, id: Some(id.into()) })
            .await
            .unwrap();
    }
    send(&host, "x", "HIT").await;
    assert_eq!(rest(&host, "x").await, "waits [b]");
    assert_eq!(rest(&host, "y").await, "waits [b]");
}

/// A chart that invokes itself six times, one instance below the other; the first one ends on an event.
const CHAIN: &str = "
statechart:
  id: chain
  version: 1.0.0
  initial: working
  context: {left: 6}
  states:
    working:
      invoke: {src: {expr: \"context.left > 0 ? 'statechart:chain' : 'job'\"}, input: {left: context.left - 1}}
      on: {STOP: done}
    done: {type: final}
";

#[tokio::test(flavor = "multi_thread")]
async fn closing_waits_for_the_clean_up_of_all_generations() {
    for way in ["close", "cancel"] {
        let bench = bench(&[CHAIN]).service("job", &[Act::Hang]);
        let host = bench.host().await;
        start(&host, "chain", json!({})).await;
        bench.until_called(1).await;
        match way {
            "close" => {
                send(&host, "i", "STOP").await;
                host.close().await;
            }
            _ => drop(host.cancel("i", Value::str("enough")).await.unwrap()),
        }
        let mut cleaned = bench.cleaned.lock().unwrap().clone();
        cleaned.sort();
        // A message that reaches an ended instance has it cleaned up again.
        cleaned.dedup();
        let chain: Vec<String> = (0..7).map(|depth| format!("i{}", ".chain.0".repeat(depth))).collect();
        assert_eq!(cleaned, chain, "{way}");
    }
}

/// Without a limit of their number, small instances stay in memory and large ones do not.
#[tokio::test]
async fn small_instances_stay_in_memory() {
    for (bytes, stay) in [(10, true), (30_000, false)] {
        let host = bench(&[KID]).host().await;
        let text = "x".repeat(bytes);
        for number in 0..1_100 {
            let input = json!({"n": text}).into();
            let id = Some(format!("k{number}"));
            host.start(rawko_host::StartOptions { chart: "kid".into(), input, id }).await.unwrap();
        }
        assert_eq!(host.in_memory() == 1_100, stay, "{bytes}: {}", host.in_memory());
        assert!(host.in_memory() >= 1_024, "{bytes}: {}", host.in_memory());
    }
}

#[tokio::test]
async fn thousands_of_instances_need_few_in_memory() {
    let bench = bench(&[KID]).in_memory(10);
    let host = bench.host().await;
    for number in 0..2_000 {
        let id = Some(format!("k{number}"));
        host.start(rawko_host::StartOptions { chart: "kid".into(), input: json!({"n": number}).into(), id })
            .await
            .unwrap();
    }
    assert!(host.in_memory() <= 11, "{}", host.in_memory());
    for number in [0, 999, 1_999] {
        let id = format!("k{number}");
        send(&host, &id, "GO").await;
        assert_eq!(rest(&host, &id).await, format!("done [whole] {}", number * 2));
    }
}
