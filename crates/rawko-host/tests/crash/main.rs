//! The crash test: kills a host with SIGKILL again and again while fifty instances run. After every kill it compares
//! the journal, the timers, the payments and the acknowledged events with a model.
//!
//! The same program is the harness and the host. `RAWKO_SEED=n` repeats a run, `RAWKO_KILLS=5000` makes a long one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests"
)]

mod bank;
mod charts;
mod child;
mod dice;
mod harness;
mod hub;
mod ledger;
mod tear;

fn main() {
    match std::env::var("RAWKO_CRASH_HOST") {
        Ok(orders) => child::main(&orders),
        Err(_) => harness::main(),
    }
}
