//! Crashes and faults of a simulation: where they can happen, and what the chart receives then.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Value, World};
use rawko_sim::{
    Crash, CrashMoment, ErrorKind, InjectedFault, InjectedFaultKind, Simulation, SimulationOptions, Stimulus,
    Stubs,
};

/// Logs everything that it receives about its payment.
const ORDER: &str = r#"
id: order
initial: charging
states:
  charging:
    invoke: {id: payment, src: charge, timeout: 10s, retry: {max_attempts: 2, initial_delay: 1s}}
    on:
      done.invoke.payment: {target: over, actions: [note]}
      error.invoke.payment: {target: over, actions: [{type: log, message: "event.type ~ ' ' ~ event.data.category"}]}
  over:
    on: {'*': {actions: [note]}}
actions:
  note: {type: log, message: event.type}
"#;

/// The same without a timeout and a retry.
fn impatient() -> String {
    ORDER.replace(", timeout: 10s, retry: {max_attempts: 2, initial_delay: 1s}", "")
}

fn simulation(chart: &str, options: SimulationOptions) -> Simulation {
    let stubs: Value =
        serde_json::from_str(r#"{"charge": {"after": "2s", "done": {"receipt": "r-1"}}}"#).unwrap();
    with_stubs(chart, Stubs::from_value(&stubs).unwrap(), options)
}

fn with_stubs(chart: &str, stubs: Stubs, options: SimulationOptions) -> Simulation {
    let loaded = load(&SourceFile::new("order.yaml", chart), &Registry::default());
    let chart = Arc::new(loaded.chart.expect("the chart is well formed"));
    Simulation::new(chart, Vec::new(), stubs, World::default(), Value::Null).with_options(options)
}

/// Every kind of fault at the first call: when each message is logged, within two days.
fn check(chart: &str, expect: Expect) {
    let mut text = String::new();
    for kind in InjectedFaultKind::ALL {
        let faults = vec![InjectedFault { call: 0, kind }];
        let mut simulation = simulation(chart, SimulationOptions { faults, ..SimulationOptions::default() });
        simulation.start();
        let mut log = Vec::new();
        while let Some(ms) = simulation.next_due_in_ms() {
            let line = simulation.apply(&Stimulus::advance(ms));
            let seconds = simulation.now_ms() / 1000;
            log.extend(line.log.into_iter().map(|message| format!("{seconds}s {message}")));
        }
        let calls = simulation.call_points().len();
        writeln!(text, "{:<10} {calls} calls: {}", kind.as_str(), log.join(", ")).unwrap();
    }
    expect.assert_eq(&text);
}

#[test]
fn a_retry_handles_what_happens_to_one_call() {
    check(
        ORDER,
        expect![[r#"
        fail       2 calls: 5s done.invoke.payment
        outage     2 calls: 5s error.invoke.payment failed
        timeout    2 calls: 13s done.invoke.payment
        interrupt  2 calls: 5s done.invoke.payment
        twice      1 calls: 2s done.invoke.payment
        late       2 calls: 13s done.invoke.payment
    "#]],
    );
}

#[test]
fn without_a_timeout_the_chart_receives_the_category() {
    check(
        &impatient(),
        expect![[r#"
        fail       1 calls: 2s error.invoke.payment failed
        outage     1 calls: 2s error.invoke.payment failed
        timeout    1 calls: 2s error.invoke.payment timeout
        interrupt  1 calls: 2s error.invoke.payment interrupted
        twice      1 calls: 2s done.invoke.payment
        late       1 calls: 86402s done.invoke.payment
    "#]],
    );
}

#[test]
fn a_crash_at_any_commit_changes_no_line() {
    let play = |options| {
        let mut simulation = simulation(ORDER, options);
        let mut lines = vec![simulation.start().to_json()];
        lines.push(simulation.apply(&Stimulus::advance(3_000)).to_json());
        lines.push(simulation.apply(&Stimulus::event("MORE", Value::Null)).to_json());
        (lines, simulation.commit_points().len() as u64)
    };
    let (plain, commits) = play(SimulationOptions::default());
    assert_eq!(commits, 3);
    for commit in 0..commits {
        for moment in CrashMoment::ALL {
            let crash = Some(Crash { commit, moment });
            assert_eq!(play(SimulationOptions { crash, ..SimulationOptions::default() }).0, plain);
        }
    }
}

#[test]
fn a_runaway_ends_an_advance() {
    let chart = impatient().replace(
        "error.invoke.payment: {target: over",
        "error.invoke.payment: {target: charging, reenter: true",
    );
    let options = SimulationOptions {
        faults: vec![InjectedFault { call: 0, kind: InjectedFaultKind::Outage }],
        ..SimulationOptions::default()
    };
    let stubs = Stubs::from_value(&serde_json::from_str(r#"{"charge": {"after": 0}}"#).unwrap()).unwrap();
    let mut simulation = with_stubs(&chart, stubs, options);
    for line in [simulation.start(), simulation.apply(&Stimulus::advance(1))] {
        assert_eq!(line.error_kind, Some(ErrorKind::Runaway));
    }
}

/// What a host stalls, a simulation reports, and does not call active.
#[test]
fn timers_without_a_delay_are_a_runaway_as_on_a_host() {
    let chart = "{id: z, initial: a, context: {n: 0}, states: {
        a: {after: {0ms: {target: b, guard: context.n >= 0}}}, b: {after: {0ms: {target: a, guard: context.n >= 0}}}}}";
    let mut simulation = simulation(chart, SimulationOptions::default());
    let line = simulation.start();
    assert_eq!((line.error_kind, &*line.status), (Some(ErrorKind::Runaway), "error"), "{line:?}");
}

const BROKEN: &str = "{id: broken, initial: calling, context: {n: 0}, states: {
    calling: {invoke: {id: c, src: charge, onError: {target: calling, reenter: true}}, on: {EXTRA: over}},
    over: {type: final}}}";

fn failing(chart: &str, after_ms: u64) -> Simulation {
    let stub = format!(r#"{{"charge": {{"after": {after_ms}, "error": {{"message": "down"}}}}}}"#);
    let stubs = Stubs::from_value(&serde_json::from_str(&stub).unwrap()).unwrap();
    with_stubs(chart, stubs, SimulationOptions::default())
}

#[test]
fn a_service_that_fails_at_once_and_is_called_again_is_a_runaway() {
    let line = failing(BROKEN, 0).start();
    assert_eq!((line.error_kind, &*line.status), (Some(ErrorKind::Runaway), "error"));
    assert!(
        line.error.as_deref().is_some_and(|error| error.contains("1000 calls in a row failed")),
        "{line:?}"
    );
    assert_eq!(line.invoked.len(), 1_001);

    let handled = BROKEN.replace("EXTRA", "error.execution");
    let line = failing(&handled, 0).start();
    assert_eq!((line.error_kind, &*line.status), (None, "done"), "the chart takes it: {line:?}");
}

/// A slow call, a success and a delay each pace a loop.
#[test]
fn a_loop_that_takes_its_time_is_none() {
    let mut slow = failing(BROKEN, 1_000);
    slow.start();
    assert_eq!(slow.apply(&Stimulus::advance(2_000_000)).error_kind, None);

    let delayed = "{id: d, initial: calling, states: {
        calling: {invoke: {id: c, src: charge, onError: pausing}}, pausing: {after: {1ms: calling}}}}";
    let mut delayed = failing(delayed, 0);
    delayed.start();
    assert_eq!(delayed.apply(&Stimulus::advance(2_000)).error_kind, None);
}

/// Each fault at the first call of a chart: what it logs within a day.
fn check_each(chart: &str, others: &[&str], answers: &[Stimulus], expect: Expect) {
    let read = |text: &str| {
        let loaded = load(&SourceFile::new("chart.yaml", text), &Registry::default());
        Arc::new(loaded.chart.expect("the chart is well formed"))
    };
    let play = |faults: Vec<InjectedFault>| {
        let others = others.iter().map(|text| read(text)).collect();
        let mut simulation =
            Simulation::new(read(chart), others, Stubs::default(), World::default(), Value::Null)
                .with_options(SimulationOptions { faults, ..SimulationOptions::default() });
        let mut log = Vec::new();
        log.extend(simulation.start().log);
        let (soon, day) = (Stimulus::advance(1_000), Stimulus::advance(86_400_000));
        for stimulus in std::iter::once(&soon).chain(answers).chain([&day]) {
            let line = simulation.apply(stimulus);
            assert_eq!(line.error, None);
            log.extend(line.log);
        }
        (simulation, log)
    };
    let mut text = format!("plain      {}\n", play(Vec::new()).1.join(", "));
    for kind in play(Vec::new()).0.call_points()[0].kinds {
        let (_, log) = play(vec![InjectedFault { call: 0, kind: *kind }]);
        writeln!(text, "{:<10} {}", kind.as_str(), log.join(", ")).unwrap();
    }
    expect.assert_eq(&text);
}

#[test]
fn a_call_that_stimuli_answer_can_time_out_and_answer_twice_or_late() {
    let timed = ORDER.replace(", retry: {max_attempts: 2, initial_delay: 1s}", "");
    let answers = [Stimulus::event("done.invoke.payment", Value::Int(7))];
    check_each(
        &timed,
        &[],
        &answers,
        expect![[r#"
        plain      done.invoke.payment
        fail       error.invoke.payment failed, done.invoke.payment
        outage     error.invoke.payment failed, done.invoke.payment
        timeout    error.invoke.payment timeout
        interrupt  error.invoke.payment interrupted, done.invoke.payment
        twice      done.invoke.payment
        late       error.invoke.payment timeout
    "#]],
    );
    check_each(
        &impatient(),
        &[],
        &answers,
        expect![[r#"
        plain      done.invoke.payment
        fail       error.invoke.payment failed, done.invoke.payment
        outage     error.invoke.payment failed, done.invoke.payment
        timeout    error.invoke.payment timeout, done.invoke.payment
        interrupt  error.invoke.payment interrupted, done.invoke.payment
        twice      done.invoke.payment
    "#]],
    );
}

const FOLDING: &str = "{id: child, initial: a, states: {a: {after: {2s: b}}, b: {type: final, output: 7}}}";

#[test]
fn a_child_can_time_out_and_answer_twice_or_late() {
    let chart = ORDER.replace("src: charge", "src: 'statechart:child'");
    check_each(
        &chart,
        &[FOLDING],
        &[],
        expect![[r#"
        plain      done.invoke.payment
        fail       done.invoke.payment
        outage     error.invoke.payment failed
        timeout    done.invoke.payment
        twice      done.invoke.payment
        late       done.invoke.payment
    "#]],
    );
    check_each(
        &impatient().replace("src: charge", "src: 'statechart:child'"),
        &[FOLDING],
        &[],
        expect![[r#"
            plain      done.invoke.payment
            fail       error.invoke.payment failed
            outage     error.invoke.payment failed
            twice      done.invoke.payment
        "#]],
    );
}

/// The gate of a project refuses a call that is stubbed, and lists the reason.
#[test]
fn a_gate_refuses_stubbed_calls() {
    let gate = |allow: &[&str], deny: &[&str]| rawko_sim::Gate::new(allow, deny, Some(1)).unwrap();
    for (gate, category) in [
        (gate(&["charge"], &[]), None),
        (gate(&["other"], &[]), Some("refused")),
        (gate(&["*"], &["ch*"]), Some("refused")),
        (rawko_sim::Gate::new(&["*"], &[], Some(0)).unwrap(), Some("limit")),
    ] {
        let mut simulation = simulation(&impatient(), SimulationOptions::default()).with_gate(Some(gate));
        let mut lines = vec![simulation.start()];
        lines.push(simulation.apply(&Stimulus::advance(2_000)));
        let log: Vec<_> = lines.iter().flat_map(|line| line.log.clone()).collect();
        let expected =
            category.map_or("done.invoke.payment".to_owned(), |it| format!("error.invoke.payment {it}"));
        assert_eq!(log, [expected]);
        assert_eq!(lines.iter().flat_map(|line| &line.denied).count(), usize::from(category.is_some()));
    }
}

/// On a host, no gate is asked about people and child charts. A stub for one is a service in the simulation.
#[test]
fn a_gate_does_not_refuse_a_stubbed_person_or_chart() {
    for src in ["human", "'statechart:other'"] {
        let chart = impatient().replace("src: charge", &format!("src: {src}"));
        let stubs = serde_json::from_str(r#"{"payment": {"done": 1}}"#).unwrap();
        let gate = rawko_sim::Gate::new(&["other"], &["h*", "st*"], Some(0)).unwrap();
        let mut simulation =
            with_stubs(&chart, Stubs::from_value(&stubs).unwrap(), SimulationOptions::default())
                .with_gate(Some(gate));
        let line = simulation.start();
        assert_eq!((line.log, line.denied), (vec!["done.invoke.payment".to_owned()], Vec::new()), "{src}");
    }
}
