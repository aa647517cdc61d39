//! The real binary on a real Restate server: workers that are killed and restarted, user commands, and the invariants
//! that must hold afterwards.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod backup;
#[path = "../../../rawko-host/tests/crash/bank.rs"]
mod bank;
mod both;
#[path = "../../../rawko-host/tests/crash/charts.rs"]
mod charts;
#[path = "../cli/telemetry/collector.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod collector;
mod commands;
#[path = "../../../rawko-host/tests/crash/dice.rs"]
mod dice;
mod feed;
mod flags;
mod identity;
#[path = "../cli/jobs.rs"]
mod jobs;
mod kills;
#[path = "../../../rawko-host/tests/crash/ledger.rs"]
#[expect(clippy::expect_used, reason = "a test that cannot go on fails")]
mod ledger;
mod load;
mod many;
mod migrating;
#[path = "../cli/telemetry/otlp.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod otlp;
mod paused;
mod pausing;
#[path = "../cli/pty.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod pty;
mod rollout;
mod session;
mod support;
mod telemetry;
