//! Measurements: the protocol's lines, collected over all repetitions.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::peers::Peer;

/// Clock that a row compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// CPU-bound work: time spent waiting for a core on a shared machine does not count.
    Cpu,
    Wall,
}

#[derive(Clone, Copy)]
struct Sample {
    value: f64,
    cpu: Option<f64>,
}

/// Metric of a peer in a workload.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) peer: Peer,
    pub(crate) workload: String,
    pub(crate) metric: String,
}

#[derive(Default)]
pub(crate) struct Samples {
    by_key: BTreeMap<Key, Vec<Sample>>,
}

impl Samples {
    /// Adds one protocol line, printed by this peer for this workload.
    pub(crate) fn add_line(&mut self, peer: Peer, workload: &str, line: &str) -> Result<()> {
        let line: Value =
            serde_json::from_str(line).with_context(|| format!("not a line of the protocol: {line}"))?;
        let value = line["value"].as_f64().context("a line has a value")?;
        let metric = line["metric"].as_str().context("a line has a metric")?;
        let honest = line["peer"] == peer.name() && line["w"] == workload.to_uppercase();
        ensure!(honest, "{} answered for somebody else: {line}", peer.name());
        self.add(peer, workload, metric, value, line["cpu"].as_f64());
        Ok(())
    }

    pub(crate) fn add(&mut self, peer: Peer, workload: &str, metric: &str, value: f64, cpu: Option<f64>) {
        let key = Key { peer, workload: workload.to_owned(), metric: metric.to_owned() };
        self.by_key.entry(key).or_default().push(Sample { value, cpu });
    }

    pub(crate) fn median(&self, peer: Peer, workload: &str, metric: &str, clock: Clock) -> Option<f64> {
        let key = Key { peer, workload: workload.to_owned(), metric: metric.to_owned() };
        self.by_key.get(&key).and_then(|samples| median(values(samples, clock)))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.by_key.keys()
    }

    pub(crate) fn values(&self, key: &Key, clock: Clock) -> Vec<f64> {
        self.by_key.get(key).map_or_else(Vec::new, |samples| values(samples, clock))
    }
}

/// Numbers other than times have no CPU value, so both clocks return the same.
fn values(samples: &[Sample], clock: Clock) -> Vec<f64> {
    samples
        .iter()
        .map(|sample| match clock {
            Clock::Cpu => sample.cpu.unwrap_or(sample.value),
            Clock::Wall => sample.value,
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        even if even % 2 == 0 => Some((values[middle - 1] + values[middle]) / 2.0),
        _ => Some(values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_the_clock_that_was_asked_for() {
        let mut samples = Samples::default();
        for (value, cpu) in [(9.0, 3.0), (7.0, 1.0), (8.0, 2.0)] {
            samples.add(Peer::Rawko, "w1", "ns_per_event", value, Some(cpu));
        }
        assert_eq!(samples.median(Peer::Rawko, "w1", "ns_per_event", Clock::Cpu), Some(2.0));
        assert_eq!(samples.median(Peer::Rawko, "w1", "ns_per_event", Clock::Wall), Some(8.0));
        assert_eq!(samples.median(Peer::Rawko, "w2", "ns_per_event", Clock::Wall), None);
    }

    #[test]
    fn a_line_of_another_peer_is_refused() {
        let line = r#"{"peer":"scion","w":"W1","metric":"ns_per_event","value":1,"cpu":1,"unit":"ns","n":1}"#;
        assert!(Samples::default().add_line(Peer::XState, "w1", line).is_err());
        assert!(Samples::default().add_line(Peer::Scion, "w1", line).is_ok());
    }
}
