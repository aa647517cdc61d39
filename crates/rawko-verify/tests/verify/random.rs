//! Random charts: the exploration reaches the configurations that brute-force simulation reaches, and every violation
//! that it reports replays.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use rawko_core::{Value, World};
use rawko_sim::{Simulation, Stimulus, Stubs};

use crate::support::{model, replay, report};

const STATES: usize = 5;
const EVENTS: [&str; 3] = ["A", "B", "C"];

/// One transition: source, trigger, target, guard.
type Row = (usize, usize, usize, usize);

/// A flat chart with a counter, timers and an invoke; state 4 is final.
fn chart(rows: &[Row], invoking: usize) -> String {
    let mut text = String::from("id: r\ninitial: s0\ncontext: {n: 0}\nstates:\n");
    for state in 0..STATES - 1 {
        text.push_str(&format!("  s{state}:\n"));
        if state == invoking {
            let target = (state + 1) % STATES;
            text.push_str(&format!("    invoke: {{id: job, src: svc, onDone: s{target}, onError: s0}}\n"));
        }
        let mine = |trigger: usize| rows.iter().filter(move |row| row.0 == state && row.1 == trigger);
        text.push_str("    on:\n      NONE: []\n");
        for (number, event) in EVENTS.iter().enumerate() {
            let options: Vec<String> = mine(number).map(option).collect();
            if !options.is_empty() {
                text.push_str(&format!("      {event}: [{}]\n", options.join(", ")));
            }
        }
        let timers: Vec<String> = mine(EVENTS.len()).map(option).collect();
        if !timers.is_empty() {
            text.push_str(&format!("    after: {{10s: [{}]}}\n", timers.join(", ")));
        }
    }
    text.push_str(&format!("  s{}: {{type: final}}\n", STATES - 1));
    text
}

fn option(&(_, _, target, guard): &Row) -> String {
    let guard = ["", ", guard: 'context.n < 2'", ", guard: event.data.ok"][guard % 3];
    let count = "[{type: assign, context_updates: {n: 'context.n + 1'}}]";
    format!("{{target: s{target}{guard}, actions: {count}}}")
}

/// Follows every stimulus up to a depth, in the simulation.
fn brute_force(text: &str, depth: usize) -> BTreeSet<String> {
    let ok = |ok: bool| Value::map([("ok", Value::Bool(ok))]);
    let mut stimuli = vec![
        Stimulus::advance(10_000),
        Stimulus::event("done.invoke.job", Value::Null),
        Stimulus::event("error.invoke.job", Value::Null),
    ];
    for event in EVENTS {
        stimuli.extend([true, false].map(|truth| Stimulus::event(event, ok(truth))));
    }
    let chart = model(text).chart;
    let mut reached = BTreeSet::new();
    let mut runs: Vec<Vec<usize>> = vec![Vec::new()];
    // Runs that end alike continue alike: time counts from the last change in these charts.
    let mut seen = BTreeSet::new();
    while let Some(run) = runs.pop() {
        let input = Value::Map(Arc::default());
        let mut simulation =
            Simulation::new(Arc::clone(&chart), Vec::new(), Stubs::default(), World::default(), input);
        let mut line = simulation.start();
        for number in &run {
            line = simulation.apply(&stimuli[*number]);
        }
        let configuration = line.configuration.join(" ");
        let due = simulation.next_due_in_ms();
        if !seen.insert((configuration.clone(), line.context.get("n").as_i64().unwrap_or(0).min(2), due)) {
            continue;
        }
        reached.insert(configuration);
        if run.len() < depth {
            runs.extend((0..stimuli.len()).map(|number| [&run[..], &[number]].concat()));
        }
    }
    reached
}

/// The configurations that the exploration reaches, asked state by state.
fn explored(text: &str) -> BTreeSet<String> {
    let reached = (0..STATES).filter(|state| {
        let text = format!("{text}properties: {{p: {{never: \"in('s{state}')\"}}}}\n");
        let report = report(&[&text]);
        let property = report.property("p").unwrap();
        if let Some(trace) = &property.trace {
            let lines = replay(&[&text], trace);
            assert_eq!(lines.last().unwrap().configuration, [format!("s{state}")], "{text}");
        }
        property.verdict.as_str() == "violated"
    });
    reached.map(|state| format!("s{state}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exploration_agrees_with_brute_force(
        rows in prop::collection::vec((0..STATES - 1, 0..=EVENTS.len(), 0..STATES, 0..3usize), 1..9),
        invoking in 0..STATES,
    ) {
        let text = chart(&rows, invoking);
        prop_assert_eq!(explored(&text), brute_force(&text, 12), "{}", text);
    }

    #[test]
    fn traps_are_where_no_end_can_be_reached(
        rows in prop::collection::vec((0..STATES - 1, 0..=EVENTS.len(), 0..STATES, 0..3usize), 1..9),
    ) {
        let text = chart(&rows, STATES);
        let report = report(&[&text]);
        let violation = report.property("no_trap").unwrap().trace.clone();
        let Some(trace) = violation else { return Ok(()) };
        // From the end of the trace, the simulation finds no final state either.
        let lines = replay(&[&text], &trace);
        let last = lines.last().unwrap();
        let (state, n) = (last.configuration[0].clone(), last.context.get("n").as_i64().unwrap_or(0));
        let onwards = text.replace("initial: s0", &format!("initial: {state}")).replace("{n: 0}", &format!("{{n: {n}}}"));
        prop_assert!(!brute_force(&onwards, 12).contains("s4"), "{}", text);
    }
}
