//! Seeded simulation of many instances in a world full of faults: crashes between any two operations, refused commits,
//! results and messages duplicated, reordered, late and lost, clock jumps. Every seed must keep every invariant.
//!
//! `RAWKO_SEED=n` runs one seed; `RAWKO_SEEDS=n` runs that many; otherwise as many as fit into `RAWKO_SEED_SECONDS`
//! (60). The seed is printed first when one fails, and reproduces the failure exactly.

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
mod run;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn every_seed_keeps_every_invariant() {
    if let Some(seed) = number("RAWKO_SEED") {
        println!("{:?}", run::run(seed));
        return;
    }
    let most = number("RAWKO_SEEDS").unwrap_or(u64::MAX);
    let seconds = number("RAWKO_SEED_SECONDS").unwrap_or(60);
    let limit = if most == u64::MAX { Duration::from_secs(seconds) } else { Duration::MAX };
    let first = number("RAWKO_FIRST_SEED").unwrap_or(1);
    let (from, mut totals) = (Instant::now(), run::Totals::default());
    let mut seeds = 0;
    for seed in (first..).take(usize::try_from(most).unwrap_or(usize::MAX)) {
        match catch_unwind(AssertUnwindSafe(|| run::run(seed))) {
            Ok(one) => totals.add(&one),
            Err(_) => {
                eprintln!("RAWKO_SEED={seed} fails; run it again with that variable set");
                panic!("seed {seed} breaks an invariant");
            }
        }
        seeds += 1;
        if from.elapsed() > limit {
            break;
        }
    }
    println!("{seeds} seeds in {:?}: {totals:?}", from.elapsed());
}
