//! Pairs of charts as a table: where the instance is, the mapping, and its image or the reasons.

use crate::{chart, instance, migrated};

/// A chart from its states and, before them, other keys.
fn states(more: &str, states: &str) -> String {
    format!("statechart: {{id: c, version: 1.0.0, {more} initial: a, states: {{{states}}}}}")
}

struct Pair<'p> {
    old: (&'p str, &'p str),
    events: &'p [&'p str],
    new: (&'p str, &'p str),
    map: &'p str,
    expected: Result<&'p str, &'p [&'p str]>,
}

fn check(table: &[Pair<'_>]) {
    for (number, Pair { old, events, new, map, expected }) in table.iter().enumerate() {
        let (old, new) = (chart(&states(old.0, old.1)), chart(&states(new.0, new.1)));
        let snapshot = instance(&old, events);
        let found = migrated(&old, &new, &snapshot, map);
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "pair {number}"),
            (Err(found), Err(expected)) => assert_eq!(found, expected, "pair {number}"),
            _ => panic!("pair {number}: {found:?}, expected {expected:?}"),
        }
    }
}

const TWO: &str = "a: {on: {GO: b}}, b: {}";

#[test]
fn states_are_found_by_path_mapping_and_key_below_a_moved_parent() {
    let nested = "a: {on: {GO: r.y}}, r: {initial: x, states: {x: {}, y: {}}}";
    let moved = "a: {on: {GO: s.y}}, s: {initial: x, states: {x: {}, y: {}}}";
    let flat = "a: {on: {GO: s}}, s: {}";
    check(&[
        Pair { old: ("", TWO), events: &["GO"], new: ("", TWO), map: "", expected: Ok("b") },
        Pair {
            old: ("", TWO),
            events: &["GO"],
            new: ("", "a: {on: {GO: z}}, z: {}"),
            map: "",
            expected: Err(&["state `b` is not in the new chart; map it under `states`"]),
        },
        Pair {
            old: ("", TWO),
            events: &["GO"],
            new: ("", "a: {on: {GO: z}}, z: {}"),
            map: "states: {b: z}",
            expected: Ok("z"),
        },
        Pair {
            old: ("", nested),
            events: &["GO"],
            new: ("", moved),
            map: "states: {r: s}",
            expected: Ok("s.y"),
        },
        Pair {
            old: ("", nested),
            events: &["GO"],
            new: ("", flat),
            map: "states: {r: s}",
            expected: Ok("s"),
        },
        Pair {
            old: ("", nested),
            events: &["GO"],
            new: ("", flat),
            map: "states: {r.y: s}",
            expected: Ok("s"),
        },
        Pair {
            old: ("", nested),
            events: &["GO"],
            new: ("", "a: {on: {GO: s.q}}, s: {initial: q, states: {q: {}}}"),
            map: "states: {r: s}",
            expected: Err(&["state `r.y` has no counterpart `s.y`; map it under `states`"]),
        },
        // An explicit id is a name that survives a move.
        Pair {
            old: ("", "a: {on: {GO: b}}, b: {id: the_b}"),
            events: &["GO"],
            new: ("", "a: {on: {GO: '#the_b'}}, r: {initial: q, states: {q: {id: the_b}}}"),
            map: "",
            expected: Ok("r.q"),
        },
    ]);
}

#[test]
fn what_the_new_chart_adds_below_or_beside_is_entered_by_default() {
    let parallel = "a: {on: {GO: p}}, p: {regions: {l: {initial: x, states: {x: {}}}, m: {initial: y, states: {y: {}}}}}";
    let more = "a: {on: {GO: p}}, p: {regions: {l: {initial: x, states: {x: {}}}, m: {initial: y, states: {y: {}}}, n: {initial: z, states: {z: {after: {1h: w}}, w: {}}}}}";
    let fewer = "a: {on: {GO: p}}, p: {initial: x, states: {x: {}}}";
    check(&[
        Pair {
            old: ("", TWO),
            events: &["GO"],
            new: ("", "a: {on: {GO: b}}, b: {initial: x, states: {x: {}, y: {}}}"),
            map: "",
            expected: Ok("b.x; (enters `b.x` by default)"),
        },
        Pair {
            old: ("", parallel),
            events: &["GO"],
            new: ("", more),
            map: "",
            expected: Ok(
                "p.l.x p.m.y p.n.z; after 1h at 3601000; (enters `p.n.z` by default); (sets `after 1h` of `p.n.z` from now)",
            ),
        },
        Pair {
            old: ("", parallel),
            events: &["GO"],
            new: ("", fewer),
            map: "states: {p.l.x: p.x}",
            expected: Err(&["state `p.m.y` is not in the new chart; map it under `states`"]),
        },
        Pair {
            old: ("", parallel),
            events: &["GO"],
            new: ("", fewer),
            map: "states: {p.l.x: p.x, p.m: null}",
            expected: Ok("p.x"),
        },
        // One state becomes two regions.
        Pair {
            old: ("", TWO),
            events: &["GO"],
            new: ("", parallel),
            map: "states: {b: [p.l.x, p.m.y]}",
            expected: Ok("p.l.x p.m.y"),
        },
        Pair {
            old: ("", parallel),
            events: &["GO"],
            new: ("", "a: {on: {GO: x}}, x: {on: {GO: y}}, y: {}"),
            map: "states: {p.l.x: x, p.m.y: y}",
            expected: Err(&["`x` and `y` cannot be active together in the new chart"]),
        },
        Pair {
            old: ("", TWO),
            events: &["GO"],
            new: ("", "a: {on: {GO: b}}, b: {type: final}"),
            map: "",
            expected: Err(&[
                "`b` is final in the new chart: the instance would be done without a step; map it to another state",
            ]),
        },
        Pair {
            old: ("", "a: {on: {GO: b}}, b: {type: final}"),
            events: &["GO"],
            new: ("", TWO),
            map: "",
            expected: Err(&["it has ended (done)"]),
        },
    ]);
}

#[test]
fn a_state_is_split_by_its_data_and_the_context_is_computed_and_checked() {
    let split = "a: {on: {GO: high}}, high: {}, low: {}";
    let old = ("context: {points: 7},", TWO);
    let schema = "context_schema: {type: object, properties: {score: {type: integer, maximum: 50}}},";
    let limited = format!("context: {{score: 0}}, {schema}");
    let map = "{states: {b: [{guard: old.points > 5, target: high}, {target: low}]}, context: {score: old.points * 10}}";
    check(&[
        Pair {
            old,
            events: &["GO"],
            new: ("context: {score: 0, points: 1, kind: new},", split),
            map,
            expected: Ok(r#"high; {"score":70,"points":7,"kind":"new"}"#),
        },
        Pair {
            old: ("context: {points: 2},", TWO),
            events: &["GO"],
            new: ("context: {score: 0},", split),
            map,
            expected: Ok(r#"low; {"score":20}; (drops `context.points`)"#),
        },
        Pair {
            old,
            events: &["GO"],
            new: (&limited, split),
            map,
            expected: Err(&[
                "`context.score` does not match the context's schema: expected at most 50, found 70",
            ]),
        },
        Pair {
            old,
            events: &["GO"],
            new: ("context: {score: 0},", TWO),
            map: "context: {score: old.points / 0}",
            expected: Err(&["`context.score` cannot be computed: division by zero in `old.points / 0`"]),
        },
    ]);
}

#[test]
fn open_timers_keep_their_time_and_have_an_heir_or_an_end() {
    let old = ("", "a: {after: {24h: b}}, b: {}");
    let both = "a: {after: {24h: b, 48h: b}}, b: {}";
    check(&[
        Pair { old, events: &[], new: old, map: "", expected: Ok("a; after 24h at 86400000") },
        Pair {
            old,
            events: &[],
            new: ("", "a: {after: {2d: b}}, b: {}"),
            map: "",
            expected: Ok("a; after 2d at 86400000"),
        },
        Pair {
            old,
            events: &[],
            new: ("", both),
            map: "",
            expected: Ok(
                "a; after 24h at 86400000; after 2d at 172801000; (sets `after 2d` of `a` from now)",
            ),
        },
        Pair {
            old,
            events: &[],
            new: ("", both),
            map: "timers: {a: {24h: 48h}}",
            expected: Ok(
                "a; after 2d at 86400000; after 24h at 86401000; (sets `after 24h` of `a` from now)",
            ),
        },
        Pair {
            old,
            events: &[],
            new: ("", "a: {on: {GO: b}}, b: {}"),
            map: "",
            expected: Err(&[
                "timer `after 24h` of `a` has no heir in the new chart; map it under `timers`, to `null` to end it",
            ]),
        },
        Pair {
            old,
            events: &[],
            new: ("", "a: {on: {GO: b}}, b: {}"),
            map: "timers: {a: null}",
            expected: Ok("a; (ends timer `after 24h` of `a`)"),
        },
        // The timer of a state that the image does not have goes to the one that the mapping names.
        Pair {
            old: ("", "a: {initial: x, after: {24h: b}, states: {x: {}}}, b: {}"),
            events: &[],
            new: ("", "a: {always: y}, y: {after: {48h: b}}, b: {}"),
            map: "{states: {a.x: y, a: b}, timers: {a: {24h: 48h}}}",
            expected: Ok("y; after 2d at 86400000"),
        },
        // A delayed event is a timer as well.
        Pair {
            old: ("", "a: {entry: [{type: send, event: TICK, delay: 1h}], on: {TICK: b}}, b: {}"),
            events: &[],
            new: ("", "a: {on: {TOCK: b}}, b: {}"),
            map: "",
            expected: Err(&[
                "a delayed event `TICK` is not handled by the new chart; map it under `events`, to `null` to drop it",
            ]),
        },
        Pair {
            old: ("", "a: {entry: [{type: send, event: TICK, delay: 1h}], on: {TICK: b}}, b: {}"),
            events: &[],
            new: ("", "a: {on: {TOCK: b}}, b: {}"),
            map: "events: {TICK: TOCK}",
            expected: Ok("a; TOCK at 3600000"),
        },
        Pair {
            old: ("unhandled: defer,", "a: {on: {GO: b}}, b: {on: {LATER: a}}"),
            events: &["LATER"],
            new: ("unhandled: defer,", "a: {on: {GO: b}}, b: {}"),
            map: "events: {LATER: null}",
            expected: Ok("a; (drops a deferred event `LATER`)"),
        },
    ]);
}

#[test]
fn open_calls_keep_their_id_and_have_an_heir_or_an_end() {
    let call = |id: &str, src: &str| {
        format!("a: {{invoke: {{id: {id}, src: {src}, onDone: b, onError: b}}}}, b: {{}}")
    };
    let unnamed = "r: {invoke: {src: pay, onDone: b, onError: b}}, b: {}, a: {always: r}";
    let moved = "s: {invoke: {src: pay, onDone: b, onError: b}}, b: {}, a: {always: s}";
    let (pay, bill, ask) = (call("pay", "pay"), call("bill", "pay"), call("pay", "human"));
    let each = "a: {invoke: {id: pay, src: pay, each: '[1, 2]', onDone: b, onError: b}}, b: {}";
    let least = |count: &str| {
        format!(
            "a: {{invoke: {{id: pay, src: pay, each: range(2), join: {{at_least: {count}}}, onDone: b, onError: b}}}}, b: {{}}"
        )
    };
    let decided =
        "the join of `pay` in the new chart is decided already, by its finished items or their number";
    let more = "a: {invoke: [{id: pay, src: pay, onDone: b, onError: b}, {id: mail, src: mail, onDone: b, onError: b}]}, b: {}";
    check(&[
        Pair { old: ("", &pay), events: &[], new: ("", &pay), map: "", expected: Ok("a; pay#1 of pay") },
        Pair {
            old: ("", &pay),
            events: &[],
            new: ("", &bill),
            map: "",
            expected: Err(&[
                "open call `pay` has no heir in the new chart; map it under `invokes`, to `null` to end it",
            ]),
        },
        Pair {
            old: ("", &pay),
            events: &[],
            new: ("", &bill),
            map: "invokes: {pay: bill}",
            expected: Ok("a; bill#1 of pay"),
        },
        Pair {
            old: ("", &pay),
            events: &[],
            new: ("", "a: {on: {GO: b}}, b: {}"),
            map: "invokes: {pay: null}",
            expected: Ok("a; (ends call `pay`)"),
        },
        Pair {
            old: ("", &pay),
            events: &[],
            new: ("", &ask),
            map: "",
            expected: Err(&[
                "open call `pay` of `pay` becomes `pay` of `human`, which is another kind of call",
            ]),
        },
        Pair {
            old: ("", &pay),
            events: &[],
            new: ("", each),
            map: "",
            expected: Err(&["open call `pay` is one call, and `pay` is an `each` in the new chart"]),
        },
        Pair {
            old: ("", each),
            events: &["@pay[0]"],
            new: ("", each),
            map: "",
            expected: Ok("a; pay[1]#3 of pay"),
        },
        Pair {
            old: ("", &least("2")),
            events: &["@pay[0]"],
            new: ("", &least("1")),
            map: "",
            expected: Err(&[decided]),
        },
        // It could never be met.
        Pair {
            old: ("", &least("2")),
            events: &["@pay[0]"],
            new: ("", &least("3")),
            map: "",
            expected: Err(&[decided]),
        },
        // A call of the new chart starts; one that has ended does not start again.
        Pair {
            old: ("", &pay),
            events: &[],
            new: ("", more),
            map: "",
            expected: Ok("a; pay#1 of pay; mail#2 of mail; (starts `mail`)"),
        },
        // An invoke without an id is found by its place.
        Pair {
            old: ("", unnamed),
            events: &[],
            new: ("", moved),
            map: "states: {r: s}",
            expected: Ok("s; s#1 of pay"),
        },
    ]);
}

#[test]
fn a_recorded_history_needs_the_states_that_it_names() {
    let old = "a: {on: {GO: r}}, r: {initial: x, on: {OUT: o}, states: {x: {on: {GO: y}}, y: {}, h: {type: history}}}, o: {on: {BACK: r.h}}";
    let without = "a: {on: {GO: r}}, r: {initial: x, on: {OUT: o}, states: {x: {}, z: {}, h: {type: history}}}, o: {on: {BACK: r.h}}";
    let no_history = "a: {on: {GO: r}}, r: {initial: x, on: {OUT: o}, states: {x: {on: {GO: y}}, y: {}}}, o: {on: {BACK: r}}";
    let events = &["GO", "GO", "OUT"];
    check(&[
        Pair { old: ("", old), events, new: ("", old), map: "", expected: Ok("o; r.h = r.y") },
        Pair {
            old: ("", old),
            events,
            new: ("", without),
            map: "",
            expected: Err(&[
                "the recorded history `r.h` names state `r.y`, which is not in the new chart; map it under `states`",
            ]),
        },
        Pair {
            old: ("", old),
            events,
            new: ("", without),
            map: "states: {r.y: r.z}",
            expected: Ok("o; r.h = r.z"),
        },
        Pair {
            old: ("", old),
            events,
            new: ("", without),
            map: "states: {r.y: o}",
            expected: Err(&[
                "the recorded history `r.h` names state `r.y`, and `o` is not one that it can restore",
            ]),
        },
        Pair {
            old: ("", old),
            events,
            new: ("", no_history),
            map: "",
            expected: Ok("o; (drops the history of `r.h`, which the new chart does not have)"),
        },
    ]);
}
