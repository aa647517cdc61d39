//! A Prometheus metric family: one name, a few labels, and a number or histogram for each label set. Implemented here,
//! because it is less code than the setup of a library.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

/// Limit on label sets per family. Label values come from projects; the rest is counted as `other`.
const SERIES_MAX: usize = 200;

/// Bucket bounds in seconds: from a commit up to an agent run.
const BOUNDS: [f64; 14] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    fn as_str(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

pub(super) struct MetricFamily {
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    labels: &'static [&'static str],
    series: Mutex<BTreeMap<Vec<String>, Series>>,
}

#[derive(Default)]
struct Series {
    /// Value, or the sum of the observations.
    sum: f64,
    count: u64,
    /// Observations per bucket, not cumulative.
    buckets: [u64; BOUNDS.len()],
}

impl MetricFamily {
    pub(super) const fn new(
        name: &'static str,
        kind: MetricKind,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { name, help, kind, labels, series: Mutex::new(BTreeMap::new()) }
    }

    pub(super) fn add(&self, labels: &[&str], by: f64) {
        self.change(labels, |series| series.sum += by);
    }

    pub(super) fn set(&self, labels: &[&str], to: f64) {
        self.change(labels, |series| series.sum = to);
    }

    pub(super) fn observe(&self, labels: &[&str], seconds: f64) {
        self.change(labels, |series| {
            series.sum += seconds;
            series.count += 1;
            if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
                series.buckets[bucket] += 1;
            }
        });
    }

    fn change(&self, labels: &[&str], change: impl FnOnce(&mut Series)) {
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let key: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
        let is_room = all.len() < SERIES_MAX || all.contains_key(&key);
        let key = if is_room { key } else { vec!["other".to_owned(); labels.len()] };
        change(all.entry(key).or_default());
    }

    pub(super) fn render(&self, out: &mut String) {
        let all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {} {}\n# TYPE {0} {}", self.name, self.help, self.kind.as_str());
        if all.is_empty() && self.labels.is_empty() && self.kind != MetricKind::Histogram {
            let _ = writeln!(out, "{} 0", self.name);
        }
        for (values, series) in all.iter() {
            match self.kind {
                MetricKind::Counter | MetricKind::Gauge => self.line(out, "", values, None, series.sum),
                MetricKind::Histogram => self.spread(out, values, series),
            }
        }
    }

    fn spread(&self, out: &mut String, values: &[String], series: &Series) {
        let mut so_far = 0;
        for (bound, count) in BOUNDS.iter().zip(series.buckets) {
            so_far += count;
            self.line(out, "_bucket", values, Some(&bound.to_string()), so_far as f64);
        }
        self.line(out, "_bucket", values, Some("+Inf"), series.count as f64);
        self.line(out, "_sum", values, None, series.sum);
        self.line(out, "_count", values, None, series.count as f64);
    }

    fn line(&self, out: &mut String, suffix: &str, values: &[String], bound: Option<&str>, value: f64) {
        let own =
            self.labels.iter().zip(values).map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let labels: Vec<String> = own.chain(bound.map(|bound| format!("le=\"{bound}\""))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(out, "{}{suffix}{labels} {value}", self.name);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_spread_counts_upwards_and_labels_are_escaped() {
        let family = MetricFamily::new("calls_seconds", MetricKind::Histogram, &["name"], "How long.");
        for seconds in [0.0004, 0.3, 4000.0] {
            family.observe(&["say \"hi\"\\"], seconds);
        }
        let mut out = String::new();
        family.render(&mut out);
        let few: Vec<&str> = out.lines().filter(|line| !line.contains("le=\"0.0")).collect();
        expect![[r#"
            # HELP calls_seconds How long.
            # TYPE calls_seconds histogram
            calls_seconds_bucket{name="say \"hi\"\\",le="0.1"} 1
            calls_seconds_bucket{name="say \"hi\"\\",le="0.25"} 1
            calls_seconds_bucket{name="say \"hi\"\\",le="0.5"} 2
            calls_seconds_bucket{name="say \"hi\"\\",le="1"} 2
            calls_seconds_bucket{name="say \"hi\"\\",le="2.5"} 2
            calls_seconds_bucket{name="say \"hi\"\\",le="5"} 2
            calls_seconds_bucket{name="say \"hi\"\\",le="10"} 2
            calls_seconds_bucket{name="say \"hi\"\\",le="60"} 2
            calls_seconds_bucket{name="say \"hi\"\\",le="600"} 2
            calls_seconds_bucket{name="say \"hi\"\\",le="+Inf"} 3
            calls_seconds_sum{name="say \"hi\"\\"} 4000.3004
            calls_seconds_count{name="say \"hi\"\\"} 3"#]]
        .assert_eq(&few.join("\n"));
    }

    /// A program that generates names must not exhaust memory.
    #[test]
    fn labels_are_bounded() {
        let family = MetricFamily::new("calls_total", MetricKind::Counter, &["name"], "How many.");
        for number in 0..SERIES_MAX + 50 {
            family.add(&[&number.to_string()], 1.0);
        }
        family.add(&["7"], 1.0);
        let mut out = String::new();
        family.render(&mut out);
        assert!(out.contains("calls_total{name=\"7\"} 2\n"), "{out}");
        assert!(out.contains("calls_total{name=\"other\"} 50\n"), "{out}");
    }
}
