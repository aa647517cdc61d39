//! The charts that run while the host is killed, and their settings.

/// Rounds of waiting, paying over HTTP, and packing in a child, while `TICK` events arrive from outside.
pub(crate) const ORDER: &str = "
statechart:
  id: order
  version: 1.0.0
  initial: working
  context: {name: null, round: 0, rounds: 6, ticks: [], late: 0, packed: 0, receipts: []}
  states:
    working:
      initial: waiting
      on:
        TICK: {actions: [{type: assign, context_updates: {ticks: 'append(context.ticks, event.data.n)'}}]}
        LATE: {actions: [{type: assign, context_updates: {late: context.late + 1}}]}
        PACKED: {actions: [{type: assign, context_updates: {packed: context.packed + 1}}]}
      states:
        waiting:
          entry: [{type: send, target: self, event: LATE, delay: 5}]
          after: {20: paying}
        paying:
          invoke:
            id: payment
            src: charge
            input: {order: context.name, round: context.round}
            timeout: 400ms
            retry: {max_attempts: 1000, backoff: fixed, initial_delay: 10}
            onDone:
              target: packing
              actions: [{type: assign, context_updates: {receipts: 'append(context.receipts, event.data.receipt)'}}]
            onError: failed
        packing:
          invoke:
            id: parcel
            src: statechart:parcel@^1
            onDone: [{target: waiting, guard: context.round + 1 < context.rounds, actions: [next]}, '#finished']
            onError: failed
        failed: {}
    finished:
      id: finished
      type: final
      output: {ticks: context.ticks, late: context.late, packed: context.packed, receipts: context.receipts}
  actions:
    next: {type: assign, context_updates: {round: context.round + 1}}
";

pub(crate) const PARCEL: &str = "
statechart:
  id: parcel
  version: 1.1.0
  initial: packing
  states:
    packing: {after: {10: {target: packed, actions: [{type: emit, event: PACKED}]}}}
    packed: {type: final}
";

/// The payment service is safe to call again: it identifies a payment by its key. The stamping service declares no such
/// guarantee.
pub(crate) fn settings(bank: &str) -> String {
    format!(
        "services:\n  charge:\n    http: {{url: \"http://{bank}/charge\"}}\n    on_restart: retry\n\
         \x20 stamp:\n    http: {{url: \"http://{bank}/stamp\"}}\n    on_restart: unknown\n\
         governance:\n  allow: [charge, stamp]\n"
    )
}
