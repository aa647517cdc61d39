//! Charts that never rest because of timers of 0 ms, and charts that invoke themselves: findings, and above all false
//! positives.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use rawko_chart::{ChartStarts, Registry, SourceFile, load, recursive_charts};

const CODES: [&str; 2] = ["rawko::chart::zero_delay_cycle", "rawko::chart::invokes_itself"];

/// Checks the findings about endless work for states in flow style.
#[track_caller]
fn check(states: &str, expected: &[&str]) {
    let text = format!(
        "statechart: {{id: own, version: 1.2.0, initial: a, context: {{n: 0}}, states: {{{states}}}}}"
    );
    let loaded = load(&SourceFile::new("own.yaml", text), &Registry::default());
    assert!(loaded.chart.is_some(), "{:#?}", loaded.findings);
    let found: Vec<_> = loaded
        .findings
        .iter()
        .filter(|finding| CODES.contains(&finding.code))
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(found, expected, "{states}");
}

#[test]
fn timers_of_no_time_that_lead_round_are_found() {
    check(
        "a: {after: {0: b}}, b: {after: {0ms: a}}",
        &["timers of 0 ms without a guard loop forever: `a` → `b` → `a`"],
    );
    check(
        "a: {after: {0: {target: a, reenter: true}}, on: {STOP: b}}, b: {}",
        &["timers of 0 ms without a guard loop forever: `a` → `a`"],
    );
    // Through an eventless transition, an initial state and a region beside the target.
    check(
        "a: {after: {0: b}}, b: {initial: c, states: {c: {after: {0: d}}, d: {always: '#home'}}}, home: {id: home, always: a}",
        &["timers of 0 ms without a guard loop forever: `a` → `b.c` → `b.d` → `home` → `a`"],
    );
    check(
        "a: {after: {0: p.left.l}}, p: {type: parallel, states: {
            left: {initial: l, states: {l: {}}}, right: {initial: r, states: {r: {after: {0: '#start'}}}}}}, start: {id: start, after: {0: a}}",
        &["timers of 0 ms without a guard loop forever: `a` → `p.right.r` → `start` → `a`"],
    );
}

#[test]
fn timers_that_rest_are_left_alone() {
    for states in [
        // A delay, a guard, an event or the end in between.
        "a: {after: {0: b}}, b: {after: {1: a}}",
        "a: {after: {0: {target: b, guard: context.n < 3}}}, b: {after: {0: a}}",
        "a: {after: {0: b}}, b: {on: {NEXT: a}}",
        "a: {after: {0: b}}, b: {type: final}",
        // Not left, so that the timer does not start again.
        "a: {after: {0: a}}",
        "a: {after: {0: {actions: [{type: log, message: once}]}}}",
        // An eventless transition may leave the loop.
        "a: {after: {0: b}, always: {target: c, guard: context.n > 3}}, b: {after: {0: a}}, c: {}",
        "a: {after: {0: b}}, b: {after: {0: a}, initial: d, states: {d: {always: {target: '#out', guard: context.n > 3}}}}, c: {id: out}",
        // The state itself may leave the loop before the timer fires.
        "a: {entry: [{type: raise, event: CHECK}], on: {CHECK: {target: c, guard: context.n > 3}}, after: {0: b}}, b: {after: {0: a}}, c: {}",
        // History may restore another state.
        "a: {after: {0: w.back}}, w: {initial: x, states: {x: {after: {0: y}}, y: {}, back: {type: history}}}",
    ] {
        check(states, &[]);
    }
}

#[test]
fn a_chart_that_always_invokes_itself_is_found() {
    let message = "the chart always invokes itself: `own` → `own`";
    for src in ["statechart:own", "statechart:own@latest", "statechart:own@^1", "statechart:own@1.2.0"] {
        check(&format!("a: {{invoke: {{src: '{src}', onError: b}}}}, b: {{}}"), &[message]);
    }
    for states in [
        "a: {always: b}, b: {after: {0: c}}, c: {invoke: {src: 'statechart:own', onError: a}}",
        "a: {type: parallel, states: {one: {initial: x, states: {x: {}}}, two: {initial: y, states: {y: {
            invoke: {src: 'statechart:own', onError: '#out'}}}}}}, b: {id: out}",
        // Invoked before it can be left.
        "a: {invoke: {src: 'statechart:own', onDone: b, onError: b}, on: {STOP: b}, after: {1s: b}}, b: {}",
        "a: {initial: f, states: {f: {type: final}}, onDone: c}, c: {invoke: {src: 'statechart:own', onError: a}}",
    ] {
        check(states, &[message]);
    }
}

#[test]
fn recursion_that_can_end_is_left_alone() {
    for states in [
        "a: {always: {target: b, guard: context.n < 3}}, b: {invoke: {src: 'statechart:own', onError: a}}",
        "a: {always: [{target: b, guard: context.n < 3}, {target: c}]}, b: {}, c: {invoke: {src: 'statechart:own', onError: a}}",
        "a: {on: {GO: b}}, b: {invoke: {src: 'statechart:own', onError: a}}",
        "a: {invoke: {src: svc, onDone: b, onError: b}}, b: {invoke: {src: 'statechart:own', onError: a}}",
        "a: {after: {1s: b}}, b: {invoke: {src: 'statechart:own', onError: a}}",
        "a: {entry: [{type: raise, event: OUT}], on: {OUT: c}, invoke: {src: 'statechart:own', onError: c}}, c: {}",
        // Another version, another chart, or a name known only from the data.
        "a: {invoke: {src: 'statechart:own@^2', onError: b}}, b: {}",
        "a: {invoke: {src: 'statechart:other', onError: b}}, b: {}",
        "a: {invoke: {src: {expr: \"'statechart:' ~ 'own'\"}, onError: b}}, b: {}",
        // Left before it starts.
        "a: {invoke: {src: 'statechart:own', onError: b}, always: b}, b: {}",
    ] {
        check(states, &[]);
    }
}

#[test]
fn recursion_through_other_charts_is_found_between_them() {
    let chart = |id: &str, version: &str, src: &str| {
        let text = format!(
            "statechart: {{id: {id}, version: {version}, initial: a, states: {{a: {{invoke: {{src: '{src}', onError: b}}}}, b: {{}}}}}}"
        );
        let loaded = load(&SourceFile::new("chart.yaml", text), &Registry::default());
        ChartStarts { id: id.to_owned(), version: version.to_owned(), starts: loaded.starts }
    };
    let charts = [
        chart("one", "1.0.0", "statechart:two"),
        chart("two", "1.0.0", "statechart:two@1.0.0-beta"),
        chart("two", "1.5.0", "statechart:three@^3"),
        chart("three", "3.1.0", "statechart:one@~1.0"),
        chart("three", "2.0.0", "svc"),
        chart("beside", "1.0.0", "statechart:one"),
    ];
    let found: Vec<_> =
        recursive_charts(&charts).into_iter().map(|(at, finding)| (at, finding.message)).collect();
    let route = |names: [&str; 4]| format!("the chart always invokes itself: `{}`", names.join("` → `"));
    assert_eq!(
        found,
        [
            (0, route(["one", "two", "three", "one"])),
            (2, route(["two", "three", "one", "two"])),
            (3, route(["three", "one", "two", "three"])),
        ]
    );
}
