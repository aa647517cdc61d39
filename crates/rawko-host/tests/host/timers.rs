//! Timers: they fire on time, in order, and across restarts.

use serde_json::json;

use crate::bench::{bench, journal, rest, send, start, until_over};

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
