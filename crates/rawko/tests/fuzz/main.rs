//! Fuzzing of every parser of a stranger's text. The corpus in the tree is replayed in every run, followed by a few seeded
//! mutations; `RAWKO_FUZZ=SECONDS` (the nightly tier) mutates for that long, shared by all targets. `RAWKO_FUZZ_TARGET`
//! chooses one, `RAWKO_FUZZ_SEED` repeats a run.
//!
//! A panic names the target, the seed and the file with the input, to be added to the corpus once it is fixed. A stack
//! overflow ends the process: the input is then in the file that was written before.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod driver;
mod mutate;
mod targets;

use std::time::Duration;

use driver::Driver;

/// Mutations of each target in a normal run.
const QUICK: u64 = 150;

#[test]
fn no_text_makes_a_parser_panic_hang_or_overflow() {
    let seconds: Option<u64> = std::env::var("RAWKO_FUZZ").ok().and_then(|text| text.parse().ok());
    let only = std::env::var("RAWKO_FUZZ_TARGET").ok();
    let seed = std::env::var("RAWKO_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let is_chosen = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let all: Vec<_> = targets::ALL.iter().filter(|target| is_chosen(target.name)).collect();
    assert!(!all.is_empty(), "no target {only:?}");
    let share = seconds.map(|seconds| Duration::from_secs(seconds) / u32::try_from(all.len()).unwrap());
    let mut failures = Vec::new();
    let mut runs = 0;
    for target in all {
        let mut driver = Driver::new(target, seed);
        driver.replay();
        match share {
            Some(share) => driver.mutate_for(share),
            None => driver.mutate_times(QUICK),
        }
        println!("{}", driver.summary());
        runs += driver.runs;
        failures.extend(driver.failures);
    }
    println!("fuzz: {runs} inputs, {} failures", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_target_has_a_corpus() {
    for target in targets::ALL {
        assert!(!driver::corpus(target.name).is_empty(), "{}", target.name);
    }
}
