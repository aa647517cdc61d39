//! Verdicts beside those of others: SPIN on random charts with random properties, `@xstate/graph` on the reachable
//! states of random machines. The translations know nothing of the code under test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests"
)]

mod chart;
mod macrostep;
mod promela;
mod spin;
#[path = "../verify/support.rs"]
mod support;
mod xstate;
mod yaml;
