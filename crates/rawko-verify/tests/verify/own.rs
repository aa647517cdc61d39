//! Own properties: a table of charts and properties with their verdicts, each violation replayed in the simulation.

use crate::support::{replay, report};

/// Verdict, events of the trace and the configuration it replays to.
fn judged(chart: &str, property: &str) -> String {
    let text = format!("{chart}\nproperties:\n  p: {property}\n");
    let report = report(&[&text]);
    let found = report.property("p").unwrap_or_else(|| panic!("`{property}` was not read"));
    let Some(trace) = &found.trace else { return found.verdict.as_str().to_owned() };
    let lines = replay(&[&text], trace);
    let event = |event: &rawko_core::Value| match event.get("type").as_str() {
        Some(name) => name.to_owned(),
        None => format!("+{}", event.get("advance")),
    };
    let mut events: Vec<String> = trace.events.iter().map(event).collect();
    if let Some(at) = trace.loop_from {
        events.insert(at, "(".to_owned());
        // A loop comes back to where it began.
        let (first, last) = (&lines[at], lines.last().unwrap());
        assert_eq!(first.configuration, last.configuration, "{property}");
    }
    format!("{} → {}", events.join(" "), lines.last().unwrap().configuration.join(" "))
}

fn table(chart: &str, rows: &[(&str, &str)]) {
    for (property, expected) in rows {
        assert_eq!(judged(chart, property), *expected, "{property}");
    }
}

const REVIEW: &str = "
id: review
initial: draft
context: {owner: null, tries: 0}
states:
  draft:
    on: {SUBMIT: {target: review, actions: [{type: assign, context_updates: {owner: \"'ada'\"}}]}}
  review:
    on:
      APPROVE: approved
      REJECT: {target: draft, actions: [{type: assign, context_updates: {tries: 'context.tries + 1'}}]}
    after: {24h: expired}
  approved:
    invoke: {id: deploy, src: deployer, onDone: done, onError: review}
  done: {type: final}
  expired: {type: final, tags: [failed]}
";

#[test]
fn safety() {
    table(
        REVIEW,
        &[
            (r#"{never: "in('approved') and in('draft')"}"#, "holds"),
            (r#"{never: "in('approved')"}"#, "SUBMIT APPROVE → approved"),
            (r#"{always: "in('draft') or context.owner != null"}"#, "holds"),
            (r#"{always: "context.tries < 2"}"#, "SUBMIT REJECT SUBMIT REJECT → draft"),
            (r#"{never: "event('APPROVE') and in('draft')"}"#, "APPROVE → draft"),
            (r#"{never: "invoked('deploy') and not in('approved')"}"#, "holds"),
            (r#"{never: "invoked('deployer')"}"#, "SUBMIT APPROVE → approved"),
            (r#"{never: "ended('failed')"}"#, "SUBMIT +86400000 → expired"),
            (r#"{never: "ended('loop')"}"#, "holds"),
            (r#"{never: "context.owner in ['bob', 'eve']"}"#, "holds"),
            (r#"{never: "called('Write')"}"#, "holds"),
        ],
    );
}

#[test]
fn order() {
    table(
        REVIEW,
        &[
            (r#"{before: {first: "in('approved')", then: "invoked('deploy')"}}"#, "holds"),
            (r#"{before: {first: "event('APPROVE')", then: "in('approved')"}}"#, "holds"),
            (r#"{before: {first: "in('approved')", then: "ended()"}}"#, "SUBMIT +86400000 → expired"),
            (r#"{before: {first: "event('REJECT')", then: "in('approved')"}}"#, "SUBMIT APPROVE → approved"),
            (
                r#"{before: {first: "invoked('deploy')", then: "in('approved')"}}"#,
                "SUBMIT APPROVE → approved",
            ),
        ],
    );
}

#[test]
fn time() {
    table(
        REVIEW,
        &[
            (r#"{within: {from: "in('review')", to: "not in('review')", time: 24h}}"#, "holds"),
            (
                r#"{within: {from: "in('review')", to: "not in('review')", time: 23h}}"#,
                "SUBMIT +82800001 → review",
            ),
            (r#"{within: {from: "in('draft')", to: "in('review')", time: 1h}}"#, "+3600001 → draft"),
            (
                r#"{within: {from: "in('approved')", to: "ended()", time: 7d}}"#,
                "SUBMIT APPROVE +604800001 → approved",
            ),
        ],
    );
}

#[test]
fn liveness() {
    table(
        REVIEW,
        &[
            (r#"{leads_to: {from: "in('draft')", to: "in('review')"}}"#, " → draft"),
            (r#"{leads_to: {from: "in('draft')", to: "in('review')"}, assume: [people_answer]}"#, " → draft"),
            (r#"{leads_to: {from: "in('draft')", to: "in('review')"}, assume: [events_arrive]}"#, "holds"),
            (
                r#"{leads_to: {from: "in('draft')", to: "ended()"}, assume: [events_arrive]}"#,
                "( SUBMIT REJECT → draft",
            ),
            (r#"{leads_to: {from: "in('review')", to: "not in('review')"}}"#, "holds"),
            (
                r#"{leads_to: {from: "in('approved')", to: "ended()"}}"#,
                "SUBMIT APPROVE error.invoke.deploy REJECT → draft",
            ),
        ],
    );
}

const QUESTION: &str = "
id: q
initial: asking
states:
  asking: {invoke: {id: ask, src: human, onDone: [{target: done, guard: event.data.approved}, {target: waiting}]}}
  waiting: {after: {1h: asking}}
  done: {type: final}
";

#[test]
fn people_and_fairness() {
    table(
        QUESTION,
        &[
            (r#"{leads_to: {from: "in('asking')", to: "ended()"}}"#, " → asking"),
            (
                r#"{leads_to: {from: "in('asking')", to: "ended()"}, assume: [people_answer]}"#,
                "( done.invoke.ask +3600000 → asking",
            ),
            (
                r#"{leads_to: {from: "in('asking')", to: "in('waiting') or ended()"}, assume: [people_answer]}"#,
                "holds",
            ),
            (r#"{leads_to: {from: "in('waiting')", to: "in('asking')"}}"#, "holds"),
        ],
    );
}

const PARALLEL: &str = "
id: p
type: parallel
states:
  left:
    initial: idle
    states:
      idle: {on: {GO: busy}}
      busy: {after: {10s: idle}}
  right:
    initial: idle
    states:
      idle: {on: {GO: {target: busy, guard: event.data.both}, R: busy}}
      busy: {on: {STOP: idle}, after: {15s: idle}}
";

#[test]
fn regions_and_races() {
    table(
        PARALLEL,
        &[
            (r#"{never: "in('left.busy') and in('right.busy')"}"#, "GO → left.busy right.busy"),
            (r#"{never: "in('right.busy') and not in('left.busy')"}"#, "R → left.idle right.busy"),
            (r#"{leads_to: {from: "in('left.busy')", to: "in('left.idle')"}}"#, "holds"),
            (r#"{leads_to: {from: "in('right.busy')", to: "in('right.idle')"}}"#, "holds"),
            (r#"{within: {from: "in('right.busy')", to: "in('right.idle')", time: 15s}}"#, "holds"),
        ],
    );
}

const PASSING: &str = "
id: s
initial: a
states:
  a: {on: {GO: b}}
  b: {entry: [{type: raise, event: INNER}], on: {INNER: c}}
  c: {always: d}
  d: {entry: [{type: invoke, handler: 'tool:Read'}], invoke: {id: job, src: svc, retry: {max_attempts: 2, initial_delay: 1s}, onDone: e, onError: e}}
  e: {type: final}
";

/// Configurations count at rest; events and effects count in the step between.
#[test]
fn steps_between_two_rests() {
    table(
        PASSING,
        &[
            (r#"{never: "in('b') or in('c')"}"#, "holds"),
            (r#"{never: "event('INNER')"}"#, "GO → d"),
            (r#"{never: "called('Read')"}"#, "GO → d"),
            (r#"{before: {first: "event('INNER')", then: "invoked('job')"}}"#, "holds"),
            (r#"{before: {first: "invoked('job')", then: "event('INNER')"}}"#, "GO → d"),
            (r#"{leads_to: {from: "in('d')", to: "ended()"}}"#, "holds"),
            (
                r#"{within: {from: "event('error.invoke.job')", to: "ended()", time: 1s}}"#,
                "GO error.invoke.job +1001 → d",
            ),
        ],
    );
}

const UNHANDLED: &str = "
id: u
initial: a
states:
  a: {on: {GO: b, OTHER: {actions: [{type: log, message: seen}]}}}
  b: {on: {BACK: a}}
";

/// An event that nothing handles is a step, too; time that passes is not.
#[test]
fn steps_in_which_nothing_happens() {
    table(
        UNHANDLED,
        &[
            (r#"{never: "in('b') and not event('GO')"}"#, "GO OTHER → b"),
            // Events that nothing handles do not count as those that arrive.
            (
                r#"{leads_to: {from: "event('OTHER') and in('b')", to: "in('a')"}, assume: [events_arrive]}"#,
                "holds",
            ),
            (r#"{leads_to: {from: "event('OTHER') and in('b')", to: "in('a')"}}"#, "GO OTHER → b"),
        ],
    );
}

#[test]
fn a_wildcard_takes_the_event_of_a_property() {
    let chart = "
id: w
initial: a
states:
  a: {on: {'*': b}}
  b: {type: final}
";
    table(
        chart,
        &[
            (r#"{before: {first: "event('X')", then: "in('b')"}}"#, "ANY_OTHER → b"),
            (r#"{never: "event('X')"}"#, "X → b"),
        ],
    );
}

/// More timers than one explore every order, however long they are sampled.
#[test]
fn timers_that_start_one_another() {
    let chart = "
id: t
type: parallel
states:
  left:
    initial: a
    states: {a: {after: {2s: b}}, b: {after: {3s: a}, on: {RESET: {target: b, reenter: true}}}}
  right:
    initial: a
    states: {a: {after: {5s: b}}, b: {after: {2s: a}, on: {RESET: {target: a, reenter: true}}}}
";
    table(
        chart,
        &[
            (r#"{leads_to: {from: "in('left.a')", to: "in('left.b')"}}"#, "holds"),
            (r#"{within: {from: "in('right.a')", to: "in('right.b')", time: 5s}}"#, "holds"),
        ],
    );
}

#[test]
fn own_properties_have_formulas() {
    let chart = "
id: c
initial: a
states: {a: {on: {GO: b}, after: {1h: b}}, b: {type: final}}
properties:
  n: {never: \"in('a') and in('b')\"}
  a: {always: \"in('a') or ended()\"}
  b: {before: {first: \"in('a')\", then: \"ended()\"}}
  w: {within: {from: \"in('a')\", to: \"ended()\", time: 90m}}
  l: {leads_to: {from: \"in('a')\", to: \"ended()\"}, assume: [people_answer, events_arrive]}
";
    let report = report(&[chart]);
    let ltl = |name: &str| report.property(name).unwrap().ltl.clone().unwrap();
    assert_eq!(ltl("n"), "G !(in('a') and in('b'))");
    assert_eq!(ltl("a"), "G (in('a') or ended())");
    assert_eq!(ltl("b"), "!(ended()) W (in('a'))");
    assert_eq!(ltl("w"), "G (entered(in('a')) -> F[0, 90m] (ended()))");
    assert_eq!(ltl("l"), "people_answer & events_arrive -> G ((in('a')) -> F (ended()))");
    assert_eq!(report.property("no_trap").unwrap().ltl, None);
}
