//! Messages between instances in both directions: orders report every round to a hub, which answers each report.

use crate::charts::ORDER;

/// Receives a report of every round of every order, and answers each.
pub(crate) const HUB: &str = "
statechart:
  id: hub
  initial: open
  context: {count: 0}
  states:
    open:
      on:
        REPORT:
          actions:
            - {type: assign, context_updates: {count: context.count + 1}}
            - {type: send, target: event.origin, event: ACK, data: {round: event.data.round}}
";

/// The order chart, changed to report every round and to end only when every report was answered.
pub(crate) fn reporting_order() -> String {
    let changes = [
        ("receipts: []}", "receipts: [], acks: []}"),
        (
            "        PACKED:",
            "        ACK: {actions: [{type: assign, context_updates: {acks: 'append(context.acks, event.data.round)'}}]}\n\
             \x20       PACKED:",
        ),
        (
            "onDone: [{target: waiting, guard: context.round + 1 < context.rounds, actions: [next]}, '#finished']",
            "onDone: [{target: waiting, guard: context.round + 1 < context.rounds, actions: [report, next]}, \
             {target: closing, actions: [report]}]",
        ),
        (
            "        failed: {}\n",
            "        closing: {always: {target: '#finished', guard: length(context.acks) == context.rounds}}\n\
             \x20       failed: {}\n",
        ),
        ("receipts: context.receipts}", "receipts: context.receipts, acks: context.acks}"),
        (
            "  actions:\n    next:",
            "  actions:\n    report: {type: send, target: hub, event: REPORT, data: {name: context.name, round: context.round}}\n\
             \x20   next:",
        ),
    ];
    changes.into_iter().fold(ORDER.to_owned(), |order, (from, to)| {
        assert!(order.contains(from), "the order has no `{from}`");
        order.replacen(from, to, 1)
    })
}
