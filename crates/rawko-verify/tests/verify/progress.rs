//! Loops whose number of rounds depends on data from outside: proved to end if each round advances a counter or shortens a
//! list that it tests, and not otherwise.

use rawko_core::World;
use rawko_verify::{ExplorationLimits, PropertyVerdict, Storage, verify};

use crate::support::model;

/// Few states: their data grows without end in an exact exploration, and the proofs are general.
fn verdict(chart: &str, property: &str) -> PropertyVerdict {
    let limits = ExplorationLimits { states_max: 200, stop: &|_| false, storage: Storage::Exact };
    let report = verify(&[model(chart)], &World::default(), &limits).unwrap();
    report.property(property).unwrap().verdict
}

/// Rounds of an agent, as many as a service allows.
const ROUNDS: &str = "
id: rounds
initial: opening
context: {rounds: 0, limit: null}
states:
  opening:
    invoke:
      id: open
      src: opener
      onDone: {target: working, actions: [{type: assign, context_updates: {limit: event.data.limit}}]}
      onError: failed
  working:
    invoke:
      id: work
      src: 'agent:writer'
      onDone: {target: judging, actions: [{type: assign, context_updates: {rounds: context.rounds + 1}}]}
      onError: failed
  judging:
    always:
      - {target: done, guard: context.rounds >= context.limit}
      - working
  failed: {type: final}
  done: {type: final}
";

#[test]
fn a_counter_below_a_limit_from_outside_bounds_a_loop() {
    assert_eq!(verdict(ROUNDS, "bounded_by_budget"), PropertyVerdict::Holds);
}

#[test]
fn a_loop_without_progress_is_not_proved() {
    let advance = "{rounds: context.rounds + 1}";
    for (from, to) in [
        // It does not count, counts what nothing tests, or may not count.
        (advance, "{rounds: context.rounds}"),
        ("rounds: 0, limit", "rounds: 0, others: 0, limit"),
        (advance, "{rounds: event.data.rounds}"),
        ("context.rounds + 1", "context.rounds / context.limit + 1"),
        // The count starts again.
        (
            "      - working",
            "      - {target: working, actions: [{type: assign, context_updates: {rounds: '0'}}]}",
        ),
        ("  working:\n", "  working:\n    exit: [{type: assign, context_updates: {rounds: event.data.n}}]\n"),
        // The limit grows as well.
        (advance, "{rounds: context.rounds + 1, limit: event.data.limit}"),
        // The test is of something else, or of the wrong side.
        ("context.rounds >= context.limit", "context.rounds < context.limit"),
        ("context.rounds >= context.limit", "context.rounds >= context.limit and context.limit > 3"),
        ("context.rounds >= context.limit", "context.rounds >= event.data.limit"),
        // A float that is large enough stays the same when one is added.
        ("rounds: 0,", "rounds: 10000000000000000,"),
        ("rounds: 0,", "rounds: 0.5,"),
        ("{limit: event.data.limit}", "{limit: event.data.limit, rounds: event.data.rounds}"),
        (advance, "{rounds: context.rounds + 9000000000000000000}"),
        (advance, "{rounds: context.rounds + 0.5}"),
        // It may not grow: by an unknown amount, or not above a bound.
        (advance, "{rounds: context.rounds + event.data.n}"),
        (advance, "{rounds: 'min(context.rounds + 1, 3)'}"),
        (advance, "{rounds: 'max(context.rounds + 1, event.data.n)'}"),
        (advance, "{rounds: context.rounds - event.data.n}"),
        // A timer or an entry between the rounds sets it back.
        (
            "  working:\n",
            "  working:\n    after: {1s: {actions: [{type: assign, context_updates: {rounds: '0'}}]}}\n",
        ),
        ("  judging:\n", "  judging:\n    entry: [{type: assign, context_updates: {rounds: '0'}}]\n"),
        // The schema of the context refuses the count.
        (
            "initial: opening",
            "context_schema: {type: object, allOf: [{properties: {rounds: {maximum: 3}}}]}\ninitial: opening",
        ),
    ] {
        let mut chart = ROUNDS.replace(from, to);
        if to.contains("others") {
            chart = chart.replace(advance, "{others: context.others + 1}");
        }
        assert_ne!(chart, ROUNDS, "{from}");
        assert_ne!(verdict(&chart, "bounded_by_budget"), PropertyVerdict::Holds, "{to}");
    }
}

/// A count behind a condition may not happen, and an action that fails skips the rest of its block.
#[test]
fn a_count_that_may_be_skipped_is_not_progress() {
    let plain = "{type: assign, context_updates: {rounds: context.rounds + 1}}";
    for to in [
        "{type: choose, branches: [{guard: event.data.counts, actions: [ADVANCE]}]}",
        "{type: foreach, array: event.data.list, item: one, actions: [ADVANCE]}",
        "{type: log, message: {expr: 'round(3.5, event.data.n)'}}, ADVANCE",
        "{type: send, target: self, event: LATER, delay: event.data.ms}, ADVANCE",
    ] {
        let chart = ROUNDS.replace(plain, &to.replace("ADVANCE", plain));
        assert_ne!(chart, ROUNDS);
        assert_ne!(verdict(&chart, "bounded_by_budget"), PropertyVerdict::Holds, "{to}");
    }
}

/// The list of calls gets shorter with each of them; the list is filled again only by a completion, and those are counted.
const CALLS: &str = "
id: calls
initial: opening
context: {calls: [], completions: 0, limit: null}
states:
  opening:
    invoke:
      id: open
      src: opener
      onDone: {target: ready, actions: [{type: assign, context_updates: {limit: event.data.limit}}]}
      onError: failed
  ready:
    always:
      - {target: done, guard: context.completions >= context.limit}
      - thinking
  thinking:
    invoke:
      id: complete
      src: model:complete
      onDone:
        target: calling
        actions:
          - {type: assign, context_updates: {calls: event.data.calls, completions: context.completions + 1}}
      onError: failed
  calling:
    always:
      - {target: ready, guard: length(context.calls) == 0}
      - running
  running:
    invoke:
      id: call
      src: {expr: \"'tool:' ~ context.calls[0].name\"}
      onDone: {target: calling, actions: [{type: assign, context_updates: {calls: 'slice(context.calls, 1)'}}]}
      onError: failed
  failed: {type: final}
  done: {type: final}
";

#[test]
fn loops_in_loops_are_bounded_by_a_counter_and_a_list() {
    assert_eq!(verdict(CALLS, "bounded_by_budget"), PropertyVerdict::Holds);
    for (from, to) in [
        ("slice(context.calls, 1)", "context.calls"),
        ("slice(context.calls, 1)", "slice(context.calls, event.data.n)"),
        ("slice(context.calls, 1)", "event.data.calls"),
        ("slice(context.calls, 1)", "context.limit > 3 ? slice(context.calls, 1) : context.calls"),
        ("length(context.calls) == 0", "length(context.calls) == 0 and context.limit > 3"),
        ("slice(context.calls, 1)", "append(slice(context.calls, 1), event.data.call)"),
        ("completions: context.completions + 1", "completions: context.completions"),
        ("length(context.calls) == 0", "length(context.calls) == 1"),
    ] {
        let chart = CALLS.replace(from, to);
        assert_ne!(chart, CALLS, "{from}");
        assert_ne!(verdict(&chart, "bounded_by_budget"), PropertyVerdict::Holds, "{to}");
    }
}

/// A queue that admits what fits, in rounds without an event.
const QUEUE: &str = "
id: queue
initial: open
context: {waiting: [], running: [], most: 1}
states:
  open:
    always:
      guard: length(context.running) < context.most and length(context.waiting) > 0
      actions:
        - type: assign
          context_updates:
            running: append(context.running, context.waiting[0])
            waiting: slice(context.waiting, 1)
    on:
      ADD: {actions: [{type: assign, context_updates: {waiting: 'append(context.waiting, event.data)'}}]}
      LIMIT: {actions: [{type: assign, context_updates: {most: event.data.most}}]}
      CLOSE: closed
  closed: {type: final}
";

/// Over 1,000 rounds in one step are refused: with as many waiting, that is what a large limit leads to.
#[test]
fn an_eventless_loop_that_shortens_a_list_is_explored_but_may_be_too_long() {
    assert_eq!(verdict(QUEUE, "no_trap"), PropertyVerdict::Holds);
    assert_eq!(verdict(QUEUE, "bounded_eventless"), PropertyVerdict::Unknown);
}

/// Each round sends an event, so that three rounds end in `bad` although they are the same to the context.
#[test]
fn rounds_that_send_or_fail_are_all_tried() {
    const TICKS: &str = "
id: ticks
initial: counting
context: {waiting: [], zero: 0}
events: {ADD: {}, TICK: {internal: true}}
states:
  counting:
    always:
      guard: length(context.waiting) > 0
      actions:
        - {type: send, target: self, event: TICK}
        - {type: assign, context_updates: {waiting: 'slice(context.waiting, 1)'}}
    on:
      ADD: {actions: [{type: assign, context_updates: {waiting: event.data.list, zero: event.data.n}}]}
      TICK: one
  one: {on: {TICK: two}}
  two: {on: {TICK: bad}}
  bad: {}
properties: {p: {never: \"in('bad')\"}}
";
    assert_ne!(verdict(TICKS, "p"), PropertyVerdict::Holds);
    let failing = TICKS
        .replace(", TICK: {internal: true}", "")
        .replace("        - {type: send, target: self, event: TICK}\n", "")
        .replace("TICK:", "error.execution:");
    let round = "{waiting: 'slice(context.waiting, 1)'}}\n";
    for action in
        ["log, message: {expr: '1 / context.zero'}", "assign, context_updates: {zero: 1 / context.zero}"]
    {
        let chart = failing.replace(round, &format!("{round}        - {{type: {action}}}\n"));
        assert_ne!(chart, failing);
        assert_ne!(verdict(&chart, "p"), PropertyVerdict::Holds, "{action}");
    }
}

/// An input may set a counter to a number that does not grow.
#[test]
fn a_counter_from_the_input_counts_only_if_it_is_a_whole_number() {
    let judged = |input: &str, any_input: bool| {
        let mut chart = model(ROUNDS);
        chart.any_input = any_input;
        if !input.is_empty() {
            chart.input = rawko_core::Value::from_json(serde_json::from_str(input).unwrap());
        }
        let limits = ExplorationLimits { states_max: 200, stop: &|_| false, storage: Storage::Exact };
        let report = verify(&[chart], &World::default(), &limits).unwrap();
        let found = report.property("bounded_by_budget").unwrap();
        (found.verdict, found.bound.clone())
    };
    assert_eq!(judged(r#"{"rounds": 3}"#, false).0, PropertyVerdict::Holds);
    assert_ne!(judged(r#"{"rounds": 1e17}"#, false).0, PropertyVerdict::Holds);
    assert_ne!(judged(r#"{"rounds": -1e300}"#, false).0, PropertyVerdict::Holds);
    let (verdict, bound) = judged("", true);
    assert_eq!(verdict, PropertyVerdict::Holds);
    assert!(bound.contains("counters in the input are whole numbers"), "{bound}");
}

/// What more rounds than one do is not lost.
#[test]
fn rounds_that_differ_are_all_tried() {
    let counted = QUEUE.replace("most: 1}", "most: 1, rounds: 0}").replace(
        "waiting: slice(context.waiting, 1)",
        "waiting: slice(context.waiting, 1)\n            rounds: context.rounds + 1",
    ) + "properties: {few: {never: context.rounds > 2}}\n";
    assert_ne!(verdict(&counted, "few"), PropertyVerdict::Holds);
}
