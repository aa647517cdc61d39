//! The charts of the walks.

pub(crate) const CHARTS: &[&str] = &[
    "
statechart:
  id: each
  initial: working
  context: {list: [1, 2, 3, 4], got: null, why: null, seen: []}
  states:
    working:
      invoke:
        id: calls
        src: echo
        each: context.list
        max_concurrent: 1
        input: {n: item, at: index}
        onItemDone: {actions: [{type: assign, context_updates: {seen: 'append(context.seen, event.index)'}}]}
        onDone: {target: failing, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: {target: done, actions: [{type: assign, context_updates: {why: event.data}}]}
    failing:
      invoke:
        id: mixed
        src: {expr: item}
        each: '[\"echo\", \"forbidden\"]'
        max_concurrent: 1
        join: settled
        onItemError: {actions: [{type: assign, context_updates: {seen: 'append(context.seen, event.data.category)'}}]}
        onDone: {target: done, actions: [{type: assign, context_updates: {why: event.data}}]}
        onError: done
    done: {type: final, output: {got: context.got, why: context.why, seen: context.seen}}
",
    "
statechart:
  id: each_nested
  initial: working
  context: {got: null}
  states:
    working:
      invoke:
        id: inner
        src: statechart:each
        each: '[[1, 2], [3]]'
        max_concurrent: 1
        input: {list: item}
        onDone: {target: done, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: {target: done, actions: [{type: assign, context_updates: {got: event.data}}]}
    done: {type: final, output: context.got}
",
    "
statechart:
  id: each_any
  initial: racing
  context: {got: null}
  states:
    racing:
      invoke:
        id: race
        src: {expr: item}
        each: '[\"never\", \"never\", \"echo\"]'
        join: any
        onDone: {target: waiting, actions: [{type: assign, context_updates: {got: event.data.index}}]}
        onError: done
    waiting:
      invoke: {id: wait, src: never, each: '[1, 2, 3]', max_concurrent: 2, onDone: done, onError: done}
      on: {LEAVE: done}
    done: {type: final, output: context.got}
",
    "
statechart:
  id: each_people
  initial: asking
  context: {got: null}
  states:
    asking:
      invoke:
        id: ask
        src: human
        each: '[\"ada\", \"bo\"]'
        join: settled
        input: {question: item}
        onDone: {target: done, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: done
    done: {type: final, output: context.got}
",
    "
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
",
    "
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
",
    "
statechart:
  id: family
  initial: working
  context: {got: null, why: null}
  states:
    working:
      invoke:
        id: middle
        src: statechart:middle
        onDone: {target: done, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: {target: done, actions: [{type: assign, context_updates: {why: event.data.message}}]}
    done: {type: final, output: {got: context.got, why: context.why}}
",
    "
statechart:
  id: middle
  initial: working
  context: {got: null}
  states:
    working:
      invoke:
        id: at_once
        src: statechart:at_once
        onDone: {target: asking, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: failed
    asking:
      invoke: {id: ask, src: echo, input: {a: '1'}, onDone: done, onError: failed}
    failed: {}
    done: {type: final, output: context.got}
",
    "
statechart:
  id: at_once
  initial: done
  states:
    done: {type: final, output: \"'quick'\"}
",
    "
statechart:
  id: orphaned
  initial: working
  context: {why: null}
  states:
    working:
      invoke:
        id: nobody
        src: statechart:nobody
        onDone: done
        onError: {target: done, actions: [{type: assign, context_updates: {why: event.data}}]}
    done: {type: final, output: context.why}
",
    "
statechart:
  id: timers
  initial: a
  context: {n: 0}
  states:
    a: {after: {40ms: b, 30s: late}}
    b:
      entry: [{type: send, target: self, event: PING, delay: 30ms}, {type: send, target: self, event: NEVER, delay: 20s, id: gone}]
      on: {PING: c}
    c:
      entry: [{type: cancel, id: gone}, {type: assign, context_updates: {n: context.n + 1}}]
      after:
        20ms: {target: c, reenter: true, guard: context.n < 4}
        60ms: d
    d: {type: final, output: context.n}
    late: {}
",
    "
statechart:
  id: person
  initial: asking
  context: {said: null}
  states:
    asking:
      invoke:
        id: ask
        src: human
        input: {question: \"'may I?'\"}
        onDone: {target: told, actions: [{type: assign, context_updates: {said: event.data}}]}
        onError: told
    told:
      invoke:
        id: again
        src: human
        input: {question: \"'and now?'\", expires: \"'80ms'\"}
        onDone: done
        onError: {target: done, actions: [{type: assign, context_updates: {said: event.data}}]}
    done: {type: final, output: context.said}
",
    "
statechart:
  id: two_people
  initial: asking
  context: {}
  states:
    asking:
      regions:
        one:
          initial: a
          states:
            a: {invoke: {id: first, src: human, onDone: b, onError: b}}
            b: {type: final}
        two:
          initial: a
          states:
            a: {invoke: {id: second, src: human, onDone: b, onError: b}}
            b: {type: final}
      onDone: done
    done: {type: final}
",
    "
statechart:
  id: sender
  initial: a
  context: {other: null, troubles: []}
  states:
    a:
      on:
        HIT: {actions: [{type: send, target: context.other, event: HIT, data: {n: 1}}]}
        PRINT: {actions: [{type: send, target: printer, event: PAGE}]}
        JAM: {actions: [{type: send, target: printer, event: JAM}]}
        LOSE: {actions: [{type: send, target: nobody-there, event: HELLO}]}
        UP: {actions: [{type: send, target: parent, event: HELLO}]}
        CALL: {actions: [{type: invoke, handler: echo, params: {a: 1}}]}
        BAD: {actions: [{type: invoke, handler: forbidden, params: {a: 1}}]}
        error.communication:
          actions: [{type: assign, context_updates: {troubles: 'append(context.troubles, event.data.message)'}}]
        END: done
    done: {type: final, output: context.troubles}
",
    "
statechart:
  id: retries
  initial: working
  context: {got: null, why: null}
  states:
    working:
      invoke:
        id: try
        src: flaky
        retry: {max_attempts: 3, initial_delay: 20ms}
        onDone: {target: crashing, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: crashing
    crashing:
      invoke:
        id: crash
        src: crashes
        onDone: done
        onError: {target: slow, actions: [{type: assign, context_updates: {why: event.data}}]}
    slow:
      invoke: {id: slow, src: never, timeout: 60ms, onDone: done, onError: refused, onTimeout: refused}
    refused:
      invoke:
        id: no
        src: forbidden
        onDone: done
        onError: {target: missing, actions: [{type: assign, context_updates: {why: event.data.message}}]}
    missing:
      invoke: {id: missing, src: not_there, onDone: done, onError: done}
    done: {type: final, output: {got: context.got, why: context.why}}
",
    "
statechart:
  id: unhandled
  initial: working
  context: {n: 14}
  states:
    working:
      invoke: {id: pay, src: charge_card, input: {amount: context.n}, onDone: done}
      on: {MEND: {actions: [{type: assign, context_updates: {n: 1}}]}}
    done: {type: final}
",
    "
statechart:
  id: budgets
  initial: spending
  context: {n: 0, why: null}
  states:
    spending:
      budget: {tokens: 25}
      initial: one
      states:
        one:
          invoke:
            id: think
            src: model:m
            input: {tokens: '10'}
            onDone: {target: one, reenter: true, actions: [{type: assign, context_updates: {n: context.n + 1}}]}
            onError: {target: '#done', actions: [{type: assign, context_updates: {why: event.data}}]}
    done: {type: final, output: {n: context.n, why: context.why}}
",
    "
statechart:
  id: office
  initial: clerk
  context: {got: null}
  states:
    clerk:
      tools: {allowed: ['agent:*', echo]}
      budget: {tokens: 1000}
      invoke:
        id: clerk
        src: agent:clerk
        onDone: {target: boss, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: boss
    boss: {invoke: {id: boss, src: agent:boss, onDone: temp, onError: temp}}
    temp: {invoke: {id: temp, src: agent:temp, input: {a: '1'}, onDone: thief, onError: thief}}
    thief: {invoke: {id: thief, src: agent:thief, onDone: done, onError: done}}
    done: {type: final, output: context.got}
",
    "
statechart:
  id: runaway
  initial: a
  context: {on: true}
  states:
    a: {on: {GO: b, STAY: {actions: [{type: log, message: stays}]}}}
    b: {always: {target: c, guard: context.on}}
    c: {always: {target: b, guard: context.on}}
",
    "
statechart:
  id: stubborn
  initial: paying
  context: {tries: 0}
  states:
    paying:
      invoke:
        id: pay
        src: charge_card
        input: {amount: '14'}
        onDone: paid
        onError: {target: paying, actions: [{type: assign, context_updates: {tries: context.tries + 1}}]}
    paid: {type: final}
",
    "
statechart:
  id: long
  initial: a
  context: {texts: []}
  states:
    a:
      on:
        ADD: {actions: [{type: assign, context_updates: {texts: 'append(context.texts, event.data)'}}]}
        ASK: asking
    asking:
      invoke: {id: ask, src: echo, input: {all: context.texts}, onDone: done, onError: a}
    done: {type: final, output: 'length(context.texts)'}
",
];
