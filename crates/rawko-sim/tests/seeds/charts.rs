//! The charts that work in the simulated world: orders that pay, pack, ask and report; a hub that counts and answers;
//! a spender with a budget; a builder with invokes that cannot be evaluated; a clock; a traveller;
//! a payer that fans out; a warden whose calls are refused.

use std::sync::{Arc, LazyLock};

use rawko_chart::{Registry, SourceFile, load};
use rawko_core::Chart;
use rawko_instance::{Checklist, Gate};

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
      entry: [{type: invoke, handler: notify, params: {order: context.name}}]
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
      output:
        progress: context.progress
        late: context.late
        acks: context.acks
        stamped: context.stamped
        approved: context.approved
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

/// Calls a service itself and through a child until the budget around both is used up.
const SPENDER: &str = "
statechart:
  id: spender
  initial: shopping
  context: {name: null}
  states:
    shopping:
      budget: {tool_calls: 4}
      initial: buying
      states:
        buying:
          invoke:
            id: buy
            src: buy
            input: {order: context.name}
            onDone: sending
            onError:
              - {target: spent, guard: event.data.category == 'limit'}
              - {target: sending}
        sending:
          invoke: {id: errand, src: 'statechart:errand', input: {name: context.name}, onDone: buying, onError: buying}
        spent: {type: final}
      onDone: done
    done: {type: final, output: 1}
";

const ERRAND: &str = "
statechart:
  id: errand
  initial: buying
  context: {name: null}
  states:
    buying: {invoke: {id: buy, src: buy, input: {order: context.name}, onDone: done, onError: done}}
    done: {type: final, output: 1}
";

/// Its own invoke cannot be evaluated, and neither can the one of its child, which has no `onError`.
const BUILDER: &str = "
statechart:
  id: builder
  initial: waiting
  context: {goal: null, heard: []}
  states:
    waiting: {after: {1s: planning}}
    planning:
      invoke:
        id: plan
        src: plan
        input: {next: context.goal + 1}
        onDone: broken
        onError:
          target: sketching
          actions: [{type: assign, context_updates: {heard: 'append(context.heard, event.data.category)'}}]
    sketching:
      invoke:
        id: sketch
        src: 'statechart:sketch'
        input: {goal: context.goal}
        onDone: broken
        onError:
          target: done
          actions: [{type: assign, context_updates: {heard: 'append(context.heard, event.data.category)'}}]
    broken: {}
    done: {type: final, output: context.heard}
";

const SKETCH: &str = "
statechart:
  id: sketch
  initial: waiting
  context: {goal: null}
  states:
    waiting: {after: {1s: drawing}}
    drawing: {invoke: {id: draw, src: draw, input: {next: context.goal + 1}, onDone: done}}
    done: {type: final, output: 1}
";

/// Has more timers due after a jump of the clock than fit into one transaction, and takes events in between.
const CLOCK: &str = "
statechart:
  id: clock
  initial: ticking
  context: {beats: 0, ticks: []}
  on:
    TICK: {actions: [{type: assign, context_updates: {ticks: 'append(context.ticks, event.data.n)'}}]}
  states:
    ticking:
      after:
        500:
          - guard: context.beats < 80
            target: ticking
            reenter: true
            actions: [{type: assign, context_updates: {beats: context.beats + 1}}]
          - {target: resting}
    resting: {}
";

/// Is cancelled from outside while its child waits.
const TRAVELLER: &str = "
statechart:
  id: traveller
  initial: away
  states:
    away: {invoke: {id: trip, src: 'statechart:parcel', input: {pause: 36000000}, onDone: back, onError: back}}
    back: {type: final}
";

/// Pays a list of bills three at a time, has folders of bills paid by children that fan out themselves, and races.
const PAYER: &str = "
statechart:
  id: payer
  initial: paying
  context: {bills: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], paid: null, folders: null, seen: 0}
  states:
    paying:
      invoke:
        id: bills
        src: charge
        each: context.bills
        as: bill
        max_concurrent: 3
        input: {order: '\"bill-\" ~ string(bill)', n: bill}
        timeout: 4s
        retry: {max_attempts: 1000, backoff: fixed, initial_delay: 500}
        onItemDone: {actions: [{type: assign, context_updates: {seen: context.seen + 1}}]}
        onDone: {target: filing, actions: [{type: assign, context_updates: {paid: event.data}}]}
        onError: broken
    filing:
      invoke:
        id: folders
        src: 'statechart:folder'
        each: '[100, 200, 300]'
        max_concurrent: 2
        join: settled
        input: {base: item}
        onDone: {target: racing, actions: [{type: assign, context_updates: {folders: event.data}}]}
        onError: broken
    racing:
      invoke:
        id: race
        src: stamp
        each: '[1, 2, 3, 4]'
        join: any
        input: {order: '\"race-\" ~ string(item)'}
        onDone: done
        onError: done
      after: {30s: done}
    broken: {}
    done: {type: final, output: {paid: context.paid, folders: context.folders, seen: context.seen}}
";

const FOLDER: &str = "
statechart:
  id: folder
  initial: paying
  context: {base: 0, paid: null}
  states:
    paying:
      invoke:
        id: bills
        src: charge
        each: '[1, 2]'
        input: {order: '\"bill-\" ~ string(context.base + item)', n: context.base + item}
        timeout: 4s
        retry: {max_attempts: 1000, backoff: fixed, initial_delay: 500}
        onDone: {target: done, actions: [{type: assign, context_updates: {paid: event.data}}]}
        onError: broken
    broken: {}
    done: {type: final, output: context.paid}
";

/// Makes calls that the gate refuses: by a rule, by no rule, without an approval, in a child, and from an action.
const WARDEN: &str = "
statechart:
  id: warden
  initial: denied
  context: {name: warden, heard: []}
  states:
    denied:
      invoke: {id: one, src: steal_all, onDone: broken, onError: {target: unlisted, actions: [note]}}
    unlisted:
      invoke: {id: two, src: borrow, onDone: broken, onError: {target: unapproved, actions: [note]}}
    unapproved:
      invoke: {id: three, src: 'agent:scout', onDone: broken, onError: {target: narrowed, actions: [note]}}
    narrowed:
      tools: {blocked: [buy]}
      invoke: {id: errand, src: 'statechart:errand', input: {name: context.name}, onDone: calling, onError: broken}
    calling:
      entry: [{type: invoke, handler: steal_one}]
      on:
        error.communication:
          target: done
          actions: [{type: assign, context_updates: {heard: 'append(context.heard, event.type)'}}]
    broken: {}
    done: {type: final, output: context.heard}
  actions:
    note: {type: assign, context_updates: {heard: 'append(context.heard, event.data.category)'}}
";

/// The rules of the simulated project: what they refuse is called by the warden alone.
pub(crate) fn gate() -> Gate {
    let allow = ["charge", "stamp", "notify", "buy", "plan", "draw", "steal_*", "agent:*"];
    let file = Arc::from("settings");
    let mut checklist = Checklist::default();
    checklist.require("agent", "owner", &file);
    Gate::new(&allow, &["steal_*"], None).unwrap().with_checklist(checklist)
}

/// All charts, read once.
pub(crate) fn charts() -> &'static [Arc<Chart>] {
    static CHARTS: LazyLock<Vec<Arc<Chart>>> = LazyLock::new(|| {
        let read = |text: &str| {
            let loaded = load(&SourceFile::new("chart.yaml", text), &Registry::default());
            Arc::new(loaded.chart.unwrap_or_else(|| panic!("{:?}", loaded.findings)))
        };
        [ORDER, PARCEL, HUB, SPENDER, ERRAND, BUILDER, SKETCH, CLOCK, TRAVELLER, PAYER, FOLDER, WARDEN]
            .into_iter()
            .map(read)
            .collect()
    });
    &CHARTS
}

pub(crate) fn chart(id: &str) -> Arc<Chart> {
    let found = charts().iter().find(|chart| chart.id() == id);
    Arc::clone(found.unwrap_or_else(|| panic!("there is no chart `{id}`")))
}
