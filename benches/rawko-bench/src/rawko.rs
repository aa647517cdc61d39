//! rawko on every workload, through the same public calls a host makes: load, start, step, save, restore.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail, ensure};
use rawko_core::{Chart, Event, Snapshot, Status, Step, StepError, Value};

use crate::load::load;
use rawko_bench::charts::{self, Move};
use rawko_bench::report::{Report, resident_bytes, timed};

/// One of the two step functions.
type Take = fn(&Chart, &mut Snapshot, Event, i64) -> Result<Step, StepError>;

pub(crate) fn run(workload: &str, n: Option<u64>) -> Result<()> {
    let report = Report::new("rawko", workload);
    match workload {
        "w5" => w5(&report, n.unwrap_or(1_000_000)),
        "w6" => w6(&report, n.unwrap_or(200_000)),
        "w7" => w7(&report, n.unwrap_or(100_000)),
        "w9" => crate::w9::run(&report, n.unwrap_or(200_000)),
        "verify" => crate::verify::run(&report, n.unwrap_or(32)),
        "w10" => crate::w10::run(&report, n.unwrap_or(10_000)),
        other => sends(&report, other, n, rawko_core::step),
    }
}

pub(crate) fn run_traced(workload: &str, n: Option<u64>) -> Result<()> {
    sends(&Report::new("rawko-trace", workload), workload, n, rawko_core::step_traced)
}

fn sends(report: &Report, workload: &str, n: Option<u64>, take: Take) -> Result<()> {
    match workload {
        "w1" => w1(report, n.unwrap_or(1_000_000), take),
        "w2" => w2(report, n.unwrap_or(1_000_000), take),
        "w3" => w3(report, n.unwrap_or(1_000_000), take),
        "w4" => w4(report, n.unwrap_or(500_000), take),
        "w4b" => w4b(report, n.unwrap_or(1_000_000), take),
        other => bail!("rawko has no workload {other}"),
    }
}

/// A started instance of a chart.
struct Instance {
    chart: Chart,
    snapshot: Snapshot,
}

impl Instance {
    fn start(text: &str, input: Value) -> Result<Self> {
        let chart = load(text)?;
        let (snapshot, _) = rawko_core::start(&chart, input, 0)?;
        Ok(Self { chart, snapshot })
    }

    /// Sends one event `n` times, each as its own macrostep, and reports the time per event.
    fn send_many(&mut self, report: &Report, name: &str, n: u64, take: Take) -> Result<()> {
        // Each event is created when it is sent, as in a host; only its name is allocated before.
        let name: Arc<str> = name.into();
        let (spent, result) = timed(|| {
            for _ in 0..n {
                let event = Event::named(Arc::clone(&name), Value::Null);
                take(&self.chart, &mut self.snapshot, event, 0)?;
            }
            Ok::<(), StepError>(())
        });
        result?;
        report.ns_per_event(spent, n)
    }

    fn leaves(&self) -> Vec<&str> {
        leaves(&self.chart, &self.snapshot)
    }

    fn context(&self, key: &str) -> Value {
        self.snapshot.context_map(&self.chart).get(key).clone()
    }
}

/// Returns the keys of the innermost active states, which are unique in these charts.
fn leaves<'a>(chart: &'a Chart, snapshot: &Snapshot) -> Vec<&'a str> {
    snapshot.configuration().frontier().iter().map(|node| &*chart.node(*node).key).collect()
}

fn w1(report: &Report, n: u64, take: Take) -> Result<()> {
    let mut instance = Instance::start(charts::W1, Value::Null)?;
    instance.send_many(report, "TOGGLE", n, take)?;
    report.check("the state", instance.leaves(), vec![if n.is_multiple_of(2) { "off" } else { "on" }])
}

fn w2(report: &Report, n: u64, take: Take) -> Result<()> {
    let limit = Value::map([("limit", Value::Int(n as i64))]);
    let mut instance = Instance::start(charts::W2, limit)?;
    instance.send_many(report, "INC", n, take)?;
    let end = (instance.snapshot.status(), instance.context("count"));
    report.check("status, count", end, (Status::Done, Value::Int(n as i64)))
}

fn w3(report: &Report, n: u64, take: Take) -> Result<()> {
    let mut instance = Instance::start(charts::W3, Value::Null)?;
    instance.send_many(report, "STEP", n, take)?;
    let leaf = ["A_x", "A_y", "B_x", "B_y"][(n % 4) as usize];
    let want: Vec<String> = (0..4).map(|region| format!("r{region}_{leaf}")).collect();
    report.check("the states", instance.leaves(), want.iter().map(String::as_str).collect())
}

fn w4(report: &Report, n: u64, take: Take) -> Result<()> {
    let mut instance = Instance::start(charts::W4, Value::Null)?;
    instance.send_many(report, "FLIP", n, take)?;
    let (entered, exited) = (Value::Int(12 * (n as i64 + 1)), Value::Int(12 * n as i64));
    report.check(
        "entered, exited",
        (instance.context("entered"), instance.context("exited")),
        (entered, exited),
    )
}

fn w4b(report: &Report, n: u64, take: Take) -> Result<()> {
    let mut instance = Instance::start(charts::W4, Value::Null)?;
    instance.send_many(report, "TICK", n, take)?;
    let want = (Value::Int(n as i64), Value::Int(12));
    report.check("ticks, entered", (instance.context("ticks"), instance.context("entered")), want)
}

fn w5(report: &Report, n: u64) -> Result<()> {
    let (cold, first) = timed(|| Instance::start(charts::W5, Value::Null));
    report.each("load_ms", "ms", 1e6, cold, 1)?;
    drop(first?);
    let mut again = Vec::new();
    for _ in 0..11 {
        let (warm, instance) = timed(|| Instance::start(charts::W5, Value::Null));
        instance?;
        again.push(warm);
    }
    again.sort_by_key(|spent| spent.cpu);
    report.each("load_warm_ms", "ms", 1e6, again[5], 1)?;

    let mut instance = Instance::start(charts::W5, Value::Null)?;
    let (next, jump) = (Event::named("NEXT", Value::Null), Event::named("JUMP", Value::Null));
    let events: Vec<&Event> =
        charts::w5_moves(n).map(|step| if step == Move::Jump { &jump } else { &next }).collect();
    let (spent, result) = timed(|| {
        for event in events {
            rawko_core::step(&instance.chart, &mut instance.snapshot, event.clone(), 0)?;
        }
        Ok::<(), StepError>(())
    });
    result?;
    report.ns_per_event(spent, n)?;
    report.check("the state", instance.leaves(), vec![charts::w5_end(n).as_str()])
}

fn w6(report: &Report, n: u64) -> Result<()> {
    let Instance { chart, mut snapshot } = Instance::start(charts::W3, Value::Null)?;
    for _ in 0..5 {
        rawko_core::step(&chart, &mut snapshot, Event::named("STEP", Value::Null), 0)?;
    }
    let (save, bytes) = timed(|| (0..n).map(|_| snapshot.to_json(&chart).len()).sum::<usize>());
    let text = snapshot.to_json(&chart);
    ensure!(bytes == text.len() * n as usize, "the same snapshot gave different texts");
    let (restore, restored) = timed(|| {
        let mut last = Snapshot::from_json(&chart, &text);
        for _ in 1..n {
            last = Snapshot::from_json(&chart, &text);
        }
        last
    });
    let restored = restored.map_err(|error| anyhow!("{error}"))?;
    report.check("the states", leaves(&chart, &restored), leaves(&chart, &snapshot))?;
    ensure!(restored == snapshot, "what was restored is not what was saved");
    report.each("save_us", "us", 1e3, save, n)?;
    report.each("restore_us", "us", 1e3, restore, n)?;
    report.amount("saved_bytes", text.len() as f64, "B", 1)
}

fn w7(report: &Report, n: u64) -> Result<()> {
    let chart = load(charts::W2)?;
    for _ in 0..2_000 {
        rawko_core::start(&chart, Value::Null, 0)?;
    }
    let before = resident_bytes()?;
    let mut kept = Vec::with_capacity(n as usize);
    let (spent, result) = timed(|| {
        for _ in 0..n {
            kept.push(rawko_core::start(&chart, Value::Null, 0)?.0);
        }
        Ok::<(), StepError>(())
    });
    result?;
    report.amount("bytes_each", (resident_bytes()? - before) / n as f64, "B", n)?;
    report.amount("created_per_s", n as f64 / spent.wall.as_secs_f64(), "1/s", n)?;
    let started = kept.iter().filter(|snapshot| leaves(&chart, snapshot) == ["counting"]).count();
    report.check("instances started and kept", started as u64, n)
}
