//! Seeded simulation of many instances in a world full of faults: crashes between any two operations, commits refused,
//! torn or of unknown outcome, instances loaded twice, a second host on the same store, results and messages
//! duplicated, reordered, late and lost, clock jumps. Every seed must keep every invariant.
//!
//! `RAWKO_SEED=n` runs one seed and prints its journals; `RAWKO_SEEDS=n` runs that many; otherwise as many as fit into
//! `RAWKO_SEED_SECONDS` (60) of the time of all cores together: 30 s on two. `RAWKO_FIRST_SEED` is where to begin. The seed is printed before it runs when it is alone,
//! and first of all when one fails; it reproduces the failure exactly.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests"
)]

mod charts;
mod checks;
mod dice;
mod fan_outs;
mod run;
mod stalls;
mod storm;
mod totals;
mod world;

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use totals::Totals;

/// Seeds between progress reports of a long run.
const PROGRESS: u64 = 5_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

thread_local! {
    /// The seed that runs in this thread.
    static RUNNING: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Prints the seed before the message of a panic.
fn name_seed_of_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(seed) = RUNNING.get() {
            eprintln!("RAWKO_SEED={seed} breaks an invariant; set that variable to run it alone");
        }
        print(panic);
    }));
}

fn one(seed: u64) -> Totals {
    let run = run::storm(seed);
    checks::check(&run);
    run.totals()
}

#[test]
fn every_seed_keeps_every_invariant() {
    if let Some(seed) = number("RAWKO_SEED") {
        println!("RAWKO_SEED={seed}");
        let run = run::storm(seed);
        println!("{}", run.trace());
        checks::check(&run);
        return;
    }
    let threads =
        std::thread::available_parallelism().map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(1));
    let most = number("RAWKO_SEEDS");
    let limit = match most {
        Some(_) => Duration::MAX,
        None => Duration::from_secs(number("RAWKO_SEED_SECONDS").unwrap_or(60)) / threads,
    };
    let first = number("RAWKO_FIRST_SEED").unwrap_or(1);
    let end = first.saturating_add(most.unwrap_or(u64::MAX));
    let (from, next, totals) = (Instant::now(), AtomicU64::new(first), Mutex::new(Totals::default()));
    name_seed_of_panics();
    let work = || {
        while from.elapsed() < limit {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            RUNNING.set(Some(seed));
            let run = one(seed);
            totals.lock().unwrap().add(&run);
            if (seed - first + 1).is_multiple_of(PROGRESS) {
                eprintln!("{} seeds in {} s", seed - first + 1, from.elapsed().as_secs());
            }
        }
    };
    // A panic of a thread fails the test when the scope ends.
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (totals, seeds) = (totals.into_inner().unwrap(), next.into_inner().min(end) - first);
    let seconds = from.elapsed().as_secs_f64();
    println!(
        "{seeds} seeds in {seconds:.1} s: {:.0} seeds/s, {:.0} steps/s, {:.0} virtual seconds/s; {totals:?}",
        seeds as f64 / seconds,
        totals.records as f64 / seconds,
        totals.virtual_ms as f64 / 1_000.0 / seconds,
    );
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in 1..=10 {
        let (first, second) = (run::storm(seed).trace(), run::storm(seed).trace());
        assert!(first == second, "seed {seed} gives two different runs:\n{first}\n---\n{second}");
    }
    assert!(run::storm(1).trace() != run::storm(2).trace(), "seeds make no difference");
}
