//! ST: time from starting a process to its first transition, and its peak memory until then. Measured from outside,
//! identically for every program: it receives one event on stdin and must print the new configuration.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::peers::Peer;
use super::samples::Samples;
use super::tools::Tools;

/// A start is short, so each repetition measures several.
const STARTS: usize = 5;

pub(crate) fn measure(tools: &Tools, peer: Peer, samples: &mut Samples) -> Result<()> {
    for _ in 0..STARTS {
        let began = Instant::now();
        let mut command = peer.first(tools).context("has no program for ST")?;
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("could not be started")?;
        let answer = first_transition(&mut child);
        let elapsed = began.elapsed();
        let peak = peak_megabytes(child.id());
        drop(child.stdin.take());
        child.wait()?;
        ensure!(answer?["configuration"] == json!(["on"]), "TOGGLE did not lead from off to on");
        samples.add(peer, "st", "start_ms", elapsed.as_secs_f64() * 1e3, None);
        samples.add(peer, "st", "peak_mb", peak?, None);
    }
    Ok(())
}

/// The first line reports the start, the second the result of the event.
fn first_transition(child: &mut Child) -> Result<Value> {
    let stdin = child.stdin.as_mut().context("stdin is piped")?;
    stdin.write_all(b"{\"type\":\"TOGGLE\"}\n")?;
    stdin.flush()?;
    let stdout = child.stdout.as_mut().context("stdout is piped")?;
    let line = BufReader::new(stdout).lines().nth(1).context("it ended before the first transition")??;
    Ok(serde_json::from_str(&line)?)
}

/// Reads the peak from the kernel while the child waits for more events.
fn peak_megabytes(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM here")?;
    let kib: f64 = peak.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
