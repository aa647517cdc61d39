//! Timers: they fire on time, in order, and across restarts.

use rawko_host::{Category, InstanceLimits};
use serde_json::json;

use crate::bench::{Act, bench, journal, rest, send, start, until_over};

const CHAIN: &str = "
statechart:
  id: chain
  initial: a
  context: {at: []}
  actions:
    note: {type: assign, context_updates: {at: 'append(context.at, now())'}}
  states:
    a: {after: {1s: {target: b, actions: [note]}}, on: {SKIP: b}}
    b: {after: {1s: {target: c, actions: [note]}}}
    c: {type: final, output: context.at}
";

#[tokio::test]
async fn a_late_host_fires_a_chain_at_the_times_it_was_due() {
    let bench = bench(&[CHAIN]);
    let host = bench.host().await;
    start(&host, "chain", json!({})).await;
    bench.advance(&host, 999);
    assert_eq!(rest(&host, "i").await, "waits [a]");
    host.close().await;
    let host = bench.host().await;
    bench.advance(&host, 3_600_000);
    until_over(&host, "i").await;
    let output = host.results("i").unwrap().output.to_json();
    assert_eq!(output, json!([1_001_000, 1_002_000]));
    assert_eq!(journal(&host, "i"), ["0 Started ", "1 Stepped timer_fired", "2 Stepped timer_fired"]);
}

#[tokio::test]
async fn an_event_that_comes_after_a_deadline_comes_after_its_timer() {
    let bench = bench(&[CHAIN]);
    let host = bench.host().await;
    start(&host, "chain", json!({})).await;
    bench.advance(&host, 1_500);
    let receipt = send(&host, "i", "SKIP").await;
    assert!(!receipt.handled);
    assert_eq!(journal(&host, "i"), ["0 Started ", "1 Stepped timer_fired", "2 Ignored SKIP"]);
}

/// An instance that was stopped in a runaway loop rests with a reason, in memory and on disk; waiting for it ends.
#[tokio::test]
async fn a_runaway_instance_rests_with_its_reason() {
    let by_events = "
statechart:
  id: by_events
  initial: a
  states:
    a: {entry: [{type: send, target: self, event: X}], on: {X: {target: a, reenter: true}}}
";
    let by_refusals = "
statechart:
  id: by_refusals
  initial: a
  states:
    a: {invoke: {id: q, src: 'statechart:no_such_chart', onError: {target: a, reenter: true}}}
";
    let by_failures = "
statechart:
  id: by_failures
  initial: a
  states:
    a: {invoke: {id: q, src: down, onError: {target: a, reenter: true}}}
";
    for (chart, text) in
        [("by_events", by_events), ("by_refusals", by_refusals), ("by_failures", by_failures)]
    {
        let mut bench = bench(&[text]).service("down", &[Act::Fail(Category::Failed, "down")]);
        bench.limits =
            InstanceLimits { zero_delay_steps_max: 100, failed_calls_max: 50, ..InstanceLimits::default() };
        let host = bench.host().await;
        start(&host, chart, json!({})).await;
        let settled = host.settled("i", std::time::Duration::from_millis(1)).await.unwrap();
        assert_eq!(settled, rawko_host::SettleReason::Failed, "{chart}");
        let row = host.reader().find("i").unwrap();
        assert!(row.head.fault.as_deref().is_some_and(|fault| fault.contains("runaway")), "{chart}: {row:?}");
    }
}
