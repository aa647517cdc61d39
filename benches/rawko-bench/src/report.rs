//! Timing, the protocol's JSON lines and the "must hold afterwards" checks. Separate from the workloads so that every
//! peer in this binary is measured by the same code.

use std::fmt::Debug;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// Wall clock and CPU time of the same work.
#[derive(Clone, Copy)]
pub struct Spent {
    pub wall: Duration,
    pub cpu: Duration,
}

pub fn timed<T>(work: impl FnOnce() -> T) -> (Spent, T) {
    let watch = Stopwatch::start();
    let result = work();
    (watch.spent(), result)
}

/// Measures async work, which cannot be a closure.
pub struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { cpu: cpu_time(), wall: Instant::now() }
    }

    pub fn spent(&self) -> Spent {
        Spent { wall: self.wall.elapsed(), cpu: cpu_time().saturating_sub(self.cpu) }
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Results of one peer for one workload, printed immediately.
pub struct Report {
    peer: &'static str,
    workload: String,
}

impl Report {
    pub fn new(peer: &'static str, workload: &str) -> Self {
        Self { peer, workload: workload.to_uppercase() }
    }

    pub fn ns_per_event(&self, spent: Spent, n: u64) -> Result<()> {
        self.each("ns_per_event", "ns", 1.0, spent, n)
    }

    /// Reports the time of one of `n` equal operations, in a unit of `ns_per_unit` nanoseconds.
    pub fn each(&self, metric: &str, unit: &str, ns_per_unit: f64, spent: Spent, n: u64) -> Result<()> {
        let each = |time: Duration| time.as_nanos() as f64 / n as f64 / ns_per_unit;
        self.line(metric, each(spent.wall), Some(each(spent.cpu)), unit, n)
    }

    /// Reports a number that is not a time.
    pub fn amount(&self, metric: &str, value: f64, unit: &str, n: u64) -> Result<()> {
        self.line(metric, value, None, unit, n)
    }

    fn line(&self, metric: &str, value: f64, cpu: Option<f64>, unit: &str, n: u64) -> Result<()> {
        let line = json!({"peer": self.peer, "w": self.workload, "metric": metric, "value": value, "cpu": cpu,
            "unit": unit, "n": n});
        writeln!(std::io::stdout(), "{line}")?;
        Ok(())
    }

    /// Checks a result, because the speed of wrong results is meaningless.
    pub fn check<T: PartialEq + Debug>(&self, what: &str, got: T, want: T) -> Result<()> {
        ensure!(got == want, "{} {}: {what} is {got:?}, must be {want:?}", self.peer, self.workload);
        Ok(())
    }
}

/// Returns the resident memory of this process, as reported by the kernel.
pub fn resident_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS here")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0)
}
