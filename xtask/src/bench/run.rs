//! Runs all measurements: each repetition runs all workloads on all peers before the next begins, so that a busy minute
//! on a shared machine affects all peers alike.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::options::Options;
use super::peers::{Language, Peer};
use super::samples::Samples;
use super::tools::Tools;
use super::{calls, hook, progress, startup, together};

/// In the order of the table.
pub(crate) const WORKLOADS: [&str; 20] = [
    "w1", "w2", "w3", "w4", "w4b", "w5", "w6", "w7", "w8", "w9", "w9d", "w10", "w10d", "verify", "park",
    "agent", "calls", "st", "hook", "at",
];

pub(crate) fn all(tools: &Tools, options: &Options) -> Result<Samples> {
    let mut samples = Samples::default();
    for repetition in 1..=options.repetitions {
        for workload in WORKLOADS.into_iter().filter(|workload| options.wants(workload)) {
            progress(&format!("repetition {repetition} of {}: {workload}", options.repetitions));
            for peer in options.peers.iter().copied().filter(|peer| peer.can(workload)) {
                once(tools, options, peer, workload, &mut samples)
                    .with_context(|| format!("{} {workload}", peer.name()))?;
            }
        }
    }
    Ok(samples)
}

fn once(tools: &Tools, options: &Options, peer: Peer, workload: &str, samples: &mut Samples) -> Result<()> {
    if workload == "st" {
        return startup::measure(tools, peer, samples);
    }
    match workload {
        "hook" => return hook::measure(tools, peer, samples),
        "agent" => return calls::measure_agent(tools, peer, samples),
        "calls" => return calls::measure_calls(tools, peer, samples),
        "at" => return together::measure(tools, peer, samples),
        _ => {}
    }
    // These rows measure this number of instances and of states, so it is never reduced.
    let n =
        events(peer, workload) / if options.quick && !matches!(workload, "park" | "verify") { 5 } else { 1 };
    let output = peer
        .bench(tools, workload, n)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("its program could not be started")?;
    ensure!(output.status.success(), "its program failed; what must hold afterwards did not, or it broke");
    let lines = String::from_utf8(output.stdout)?;
    lines.lines().try_for_each(|line| samples.add_line(peer, workload, line))
}

/// Number of events (W6: rounds, W7: instances, W9: iterations): enough for about a second, and divisible as the checks
/// require.
fn events(peer: Peer, workload: &str) -> u64 {
    let (rust, javascript, python) = match workload {
        "w1" | "w2" => (5_000_000, 1_000_000, 20_000),
        "w3" => (1_000_000, 100_000, 2_000),
        "w4" => (500_000, 50_000, 1_000),
        "w4b" => (5_000_000, 500_000, 5_000),
        "w5" => (5_000_000, 300_000, 10_000),
        "w6" => (200_000, 20_000, 2_000),
        "w8" => (200_000, 20_000, 1_280),
        "w9" => (200_000, 20_000, 1_000),
        "w9d" => (5_000, 5_000, 500),
        "w10" | "w10d" | "park" => (10_000, 10_000, 10_000),
        // Regions of this length; the states are their product.
        "verify" => (32, 32, 32),
        _ => (100_000, 100_000, 20_000),
    };
    match peer.language() {
        Language::Rust => rust,
        Language::JavaScript => javascript,
        Language::Python => python,
    }
}
