//! Timing and the protocol's JSON lines.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

pub struct Report {
    peer: &'static str,
    workload: String,
}

pub struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { cpu: cpu_time(), wall: Instant::now() }
    }
}

impl Report {
    pub fn new(peer: &'static str, workload: &str) -> Self {
        Self { peer, workload: workload.to_uppercase() }
    }

    /// Reports the time of one of `n` iterations.
    pub fn iterations(&self, watch: &Stopwatch, n: u64) {
        let (cpu, wall) = (cpu_time().saturating_sub(watch.cpu), watch.wall.elapsed());
        let each = |time: Duration| time.as_secs_f64() * 1e6 / n as f64;
        let line = json!({"peer": self.peer, "w": self.workload, "metric": "us_per_iteration", "value": each(wall),
            "cpu": each(cpu), "unit": "us", "n": n});
        println!("{line}");
    }
}
