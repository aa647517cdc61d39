//! The charts that work in the simulated world: orders that pay, pack, ask and report; a hub that counts and answers.

use std::sync::Arc;

use rawko_chart::{Registry, Source, load};
use rawko_core::Chart;

/// Pays with retries, packs in a child, asks a person, reports to the hub and waits for its answer.
const ORDER: &str = "
statechart:
  id: order
  initial: paying
  context: {name: null, progress: [], late: 0, approved: null, acks: 0, stamped: 0}
  on:
    PROGRESS: {actions: [{type: assign, context_updates: {progress: 'append(context.progress, event.data.at)'}}]}
    LATE: {actions: [{type: assign, context_updates: {late: context.late + 1}}]}
  states:
    paying:
      entry: [{type: send, target: self, event: LATE, delay: 700}]
      invoke:
        id: payment
        src: charge
        input: {order: context.name}
        timeout: 4s
        retry: {max_attempts: 1000, backoff: fixed, initial_delay: 500}
        onDone: packing
        onError: broken
    packing:
      invoke: {id: parcel, src: 'statechart:parcel', onDone: stamping, onError: broken}
    stamping:
      invoke:
        id: stamp
        src: stamp
        input: {order: context.name}
        onDone: {target: asking, actions: [{type: assign, context_updates: {stamped: 1}}]}
        onError: asking
    asking:
      invoke:
        id: approval
        src: human
        input: {expires: 20000}
        onDone: {target: reporting, actions: [{type: assign, context_updates: {approved: event.data.approved}}]}
        onError: reporting
    reporting:
      entry: [{type: send, target: hub, event: REPORT, data: {name: context.name}}]
      on:
        ACK:
          target: leaving
          actions: [{type: assign, context_updates: {acks: context.acks + 1}}]
    leaving:
      invoke: {id: slow, src: 'statechart:parcel', input: {pause: 3600000}, onDone: broken, onError: broken}
      after: {0: again}
    again:
      after: {3s: done}
    broken: {}
    done:
      type: final
      output: {progress: context.progress, late: context.late, acks: context.acks, stamped: context.stamped}
";

/// Its first timer is due at once; it speaks to its parent twice.
const PARCEL: &str = "
statechart:
  id: parcel
  initial: folding
  context: {pause: 2000}
  states:
    folding: {after: {0: {target: filling, actions: [{type: send, target: parent, event: PROGRESS, data: {at: folded}}]}}}
    filling:
      after: {'context.pause': {target: packed, actions: [{type: emit, event: PROGRESS, data: {at: filled}}]}}
    packed: {type: final, output: 1}
";

/// Counts reports of orders and ticks from outside; answers each report.
const HUB: &str = "
statechart:
  id: hub
  initial: open
  context: {reports: [], ticks: []}
  states:
    open:
      on:
        REPORT:
          actions:
            - {type: assign, context_updates: {reports: 'append(context.reports, event.data.name)'}}
            - {type: send, target: event.origin, event: ACK}
        TICK: {actions: [{type: assign, context_updates: {ticks: 'append(context.ticks, event.data.n)'}}]}
";

pub(crate) fn charts() -> Vec<Arc<Chart>> {
    let read = |text: &str| {
        let loaded = load(&Source::new("chart.yaml", text), &Registry::default());
        Arc::new(loaded.chart.unwrap_or_else(|| panic!("{:?}", loaded.findings)))
    };
    [ORDER, PARCEL, HUB].into_iter().map(read).collect()
}
