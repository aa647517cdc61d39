//! Medians against targets: one result per row, as a table for people and as JSON for tools.

use serde_json::{Value, json};

use super::options::Options;
use super::peers::Peer;
use super::rows::{Better, Row, Target};
use super::samples::{Clock, Samples};

/// A row with its measurements.
pub(crate) struct Outcome {
    pub(crate) row: &'static Row,
    pub(crate) value: f64,
    /// Medians of all measured peers.
    others: Vec<(Peer, f64)>,
    pub(crate) verdicts: Vec<Verdict>,
}

pub(crate) struct Verdict {
    pub(crate) text: String,
    pub(crate) met: bool,
}

/// Returns `None` if the row's subject was not measured in this run.
pub(crate) fn result(row: &'static Row, samples: &Samples) -> Option<Outcome> {
    let median = |peer, workload: &str| samples.median(peer, workload, row.metric, row.clock);
    let value = median(row.subject, row.workload)?;
    let everybody = Peer::OURS.into_iter().chain(Peer::GUESTS);
    let others = everybody.filter_map(|peer| Some((peer, median(peer, row.workload)?))).collect();
    let verdicts = row.targets.iter().filter_map(|target| verdict(*target, row, value, &median)).collect();
    Some(Outcome { row, value, others, verdicts })
}

/// Returns `None` if the target's reference was not measured.
fn verdict(
    target: Target,
    row: &Row,
    value: f64,
    median: &dyn Fn(Peer, &str) -> Option<f64>,
) -> Option<Verdict> {
    Some(match target {
        Target::AtMost(most) => {
            let most_shown = if most < 1.0 { format!("1/{:.0}", 1.0 / most) } else { grouped(most) };
            Verdict { text: format!("≤ {most_shown} {}", row.unit), met: value <= most }
        }
        Target::AtLeast(least) => {
            Verdict { text: format!("≥ {} {}", grouped(least), row.unit), met: value >= least }
        }
        Target::AtLeastTimes { of, factor } => {
            let times = value / median(of, row.workload)?;
            Verdict { text: format!("≥ {factor} × {} ({times:.2})", of.title()), met: times >= factor }
        }
        Target::Share { of, parts } => {
            let times = median(of, row.workload)? / value;
            Verdict { text: format!("≤ 1/{parts} of {} (1/{times:.0})", of.title()), met: times >= parts }
        }
        Target::Times { of, factor } => {
            let times = value / median(of, row.workload)?;
            Verdict { text: format!("≤ {factor} × {} ({times:.1})", of.title()), met: times <= factor }
        }
        Target::TimesWorkload { workload, factor } => {
            let times = value / median(row.subject, workload)?;
            let name = workload.to_uppercase();
            Verdict { text: format!("≤ {factor} × {name} ({times:.1})"), met: times <= factor }
        }
    })
}

impl Outcome {
    fn of(&self, peer: Peer) -> Option<f64> {
        self.others.iter().find(|(other, _)| *other == peer).map(|(_, value)| *value)
    }

    fn times_better_than(&self, other: f64) -> f64 {
        match self.row.better {
            Better::Less => other / self.value,
            Better::More => self.value / other,
        }
    }

    fn cells(&self, guests: &[Peer]) -> Vec<String> {
        let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
        let limit =
            self.row.limit.and_then(|peer| Some(format!("{} {}", number(self.of(peer)?), peer.title())));
        let ratio =
            self.of(Peer::XState).map(|xstate| format!("{} ×", number(self.times_better_than(xstate))));
        let targets: Vec<&str> = self.verdicts.iter().map(|verdict| verdict.text.as_str()).collect();
        let met = if self.verdicts.iter().all(|verdict| verdict.met) { "yes" } else { "no" };
        let mut cells = vec![format!("{}, {}", self.row.title, self.row.unit), number(self.value)];
        cells.push(limit.unwrap_or_else(|| "–".to_owned()));
        cells.extend(guests.iter().map(|guest| shown(self.of(*guest))));
        cells.push(ratio.unwrap_or_else(|| "–".to_owned()));
        cells.push(if targets.is_empty() { "–".to_owned() } else { targets.join(", ") });
        cells.push(if targets.is_empty() { "–" } else { met }.to_owned());
        cells
    }
}

/// Formats three significant digits, with thousands separators.
fn number(value: f64) -> String {
    match value.abs() {
        size if size < 0.1 => format!("{value:.3}"),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => grouped(value),
    }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Renders a Markdown table, padded so that it is readable in a terminal too.
pub(crate) fn render(outcomes: &[Outcome], options: &Options) -> String {
    let guests: Vec<Peer> =
        options.peers.iter().copied().filter(|peer| Peer::GUESTS.contains(peer)).collect();
    let mut head = vec!["workload", "rawko", "limit"];
    head.extend(guests.iter().map(|guest| guest.title()));
    head.extend(["better than XState", "target (reached)", "met"]);
    let mut lines: Vec<Vec<String>> = vec![head.into_iter().map(str::to_owned).collect()];
    lines.extend(outcomes.iter().map(|outcome| outcome.cells(&guests)));
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let rule = widths.iter().map(|width| "-".repeat(*width)).collect();
    lines.insert(1, rule);
    lines.iter().map(|line| padded(line, &widths)).collect()
}

fn padded(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
    format!("| {} |\n", padded.join(" | "))
}

pub(crate) fn json(
    outcomes: &[Outcome],
    samples: &Samples,
    facts: &[(&'static str, String)],
    options: &Options,
) -> Value {
    let rows: Vec<Value> = outcomes.iter().map(row_json).collect();
    let measured: Vec<Value> = samples
        .keys()
        .map(|key| {
            json!({"peer": key.peer.name(), "w": key.workload, "metric": key.metric,
                "wall": samples.values(key, Clock::Wall), "cpu": samples.values(key, Clock::Cpu)})
        })
        .collect();
    let machine: serde_json::Map<String, Value> =
        facts.iter().map(|(name, fact)| ((*name).to_owned(), fact.as_str().into())).collect();
    json!({"command": options.command, "machine": machine, "rows": rows, "samples": measured})
}

fn row_json(outcome: &Outcome) -> Value {
    let medians: serde_json::Map<String, Value> =
        outcome.others.iter().map(|(peer, value)| (peer.name().to_owned(), (*value).into())).collect();
    let targets: Vec<Value> =
        outcome.verdicts.iter().map(|verdict| json!({"target": verdict.text, "met": verdict.met})).collect();
    let clock = match outcome.row.clock {
        Clock::Cpu => "cpu",
        Clock::Wall => "wall",
    };
    json!({"w": outcome.row.workload, "metric": outcome.row.metric, "title": outcome.row.title,
        "unit": outcome.row.unit, "clock": clock, "subject": outcome.row.subject.name(), "value": outcome.value,
        "medians": medians, "targets": targets})
}
