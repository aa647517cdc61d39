//! The crash test: a host is killed with SIGKILL again and again while fifty instances work, and after every kill the
//! journal, the timers, the payments and the events that were acknowledged are compared with what must be.
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
