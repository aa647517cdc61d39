//! Properties of every chart, tested on random ones. A failure prints the seed; `RAWKO_SEED=n` runs only that one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

mod random;

use random::Dice;
use rawko_core::{Chart, Now, Snapshot, World, start, step, step_traced};

/// Enough to cover every construct many times; use `RAWKO_CHARTS=20000` for a long run.
const CHARTS: u64 = 250;
const DELIVERIES: usize = 40;

/// Runs `check` for every seed, naming the one that fails.
fn for_each_seed(check: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let one = std::env::var("RAWKO_SEED").ok().map(|seed| seed.parse().expect("RAWKO_SEED is a number"));
    let charts = std::env::var("RAWKO_CHARTS").ok().and_then(|charts| charts.parse().ok()).unwrap_or(CHARTS);
    let seeds = one.map_or(0..charts, |seed: u64| seed..seed + 1);
    for seed in seeds {
        if let Err(panic) = std::panic::catch_unwind(|| check(seed)) {
            eprintln!("failed with RAWKO_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn chart(dice: &mut Dice) -> Chart {
    Chart::compile(random::blueprint(dice)).expect("random blueprints are well formed")
}

/// Runs a random chart through random deliveries; `each` gets the snapshot before, and the next delivery.
fn walk(seed: u64, mut each: impl FnMut(&Chart, &mut Snapshot, rawko_core::Event, Now<'_>)) {
    let mut dice = Dice::new(seed);
    let chart = chart(&mut dice);
    let world = World::default();
    let mut now_ms = 1_000;
    let Ok((mut snapshot, _)) = start(&chart, rawko_core::Value::Null, now_ms) else { return };
    for _ in 0..DELIVERIES {
        now_ms += dice.below(20) as i64;
        let event = random::delivery(&mut dice, &snapshot, &mut now_ms);
        each(&chart, &mut snapshot, event, Now::new(now_ms, &world));
    }
}

#[test]
fn the_configuration_is_always_legal() {
    for_each_seed(|seed| {
        walk(seed, |chart, snapshot, event, now| {
            let _ = step(chart, snapshot, event, now);
            assert!(chart.is_legal(snapshot.configuration()), "{:?}", snapshot.configuration());
        });
    });
}

#[test]
fn the_same_step_twice_gives_the_same_bytes() {
    for_each_seed(|seed| {
        walk(seed, |chart, snapshot, event, now| {
            let mut twin = snapshot.clone();
            let first = step_traced(chart, snapshot, event.clone(), now);
            let second = step_traced(chart, &mut twin, event, now);
            assert_eq!(first, second);
            assert_eq!(snapshot.to_json(chart), twin.to_json(chart));
        });
    });
}

#[test]
fn a_change_applied_to_the_snapshot_before_gives_the_one_after() {
    for_each_seed(|seed| {
        walk(seed, |chart, snapshot, event, now| {
            let mut copy = snapshot.clone();
            let _ = step(chart, snapshot, event, now);
            let delta = snapshot.delta_json(&copy, chart);
            copy.apply_delta_json(chart, &delta).unwrap();
            assert_eq!(&copy, snapshot, "{delta}");
            assert_eq!(copy.to_json(chart), snapshot.to_json(chart), "{delta}");
        });
    });
}

#[test]
fn a_trace_changes_nothing_but_itself() {
    for_each_seed(|seed| {
        walk(seed, |chart, snapshot, event, now| {
            let mut twin = snapshot.clone();
            let plain = step(chart, snapshot, event.clone(), now);
            let traced = step_traced(chart, &mut twin, event, now);
            assert_eq!(plain.map(|step| step.effects), traced.map(|step| step.effects));
            assert_eq!(*snapshot, twin);
        });
    });
}

#[test]
fn saving_and_restoring_between_any_two_steps_changes_nothing() {
    for_each_seed(|seed| {
        walk(seed, |chart, snapshot, event, now| {
            let text = snapshot.to_json(chart);
            let mut restored = Snapshot::from_json(chart, &text).unwrap();
            assert_eq!(restored, *snapshot, "{text}");
            let live = step(chart, snapshot, event.clone(), now);
            let revived = step(chart, &mut restored, event, now);
            assert_eq!(live, revived);
            assert_eq!(restored, *snapshot);
        });
    });
}

#[test]
fn a_failed_step_leaves_the_snapshot_as_it_was() {
    let failures = std::sync::atomic::AtomicUsize::new(0);
    for_each_seed(|seed| {
        walk(seed, |chart, snapshot, event, now| {
            let before = snapshot.clone();
            if step(chart, snapshot, event, now).is_err() {
                assert_eq!(*snapshot, before);
                failures.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        });
    });
    let failures = failures.into_inner();
    assert!(
        failures > 20 || std::env::var("RAWKO_SEED").is_ok(),
        "only {failures} steps failed: too few to tell"
    );
}
