//! Three nodes with the real binary. Separate from the other tests on Restate, because it needs the machine for itself.
//! `cargo xtask cluster` shows its output.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../rawko-host/tests/crash/bank.rs"]
mod bank;
#[path = "../../../rawko-host/tests/crash/charts.rs"]
mod charts;
#[path = "../../../rawko-host/tests/crash/dice.rs"]
mod dice;
#[path = "../../../rawko-host/tests/crash/ledger.rs"]
#[expect(clippy::expect_used, reason = "a test that cannot go on fails")]
mod ledger;
#[path = "../restate/load.rs"]
#[allow(dead_code, reason = "the other tests on Restate need more of it")]
mod load;
mod nodes;
#[path = "../restate/support.rs"]
#[allow(dead_code, reason = "the other tests on Restate need more of it")]
mod support;
