//! Lower limit: the cost of a flat table-driven automaton without hierarchy, context, checks or effects. Its table is
//! built from the same chart text. W2, which a plain table cannot express, is written by hand.

use std::collections::HashMap;
use std::hint::black_box;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use rawko_bench::charts::{self, Move};
use rawko_bench::report::{Report, Spent, timed};

pub(crate) fn run(workload: &str, n: Option<u64>) -> Result<()> {
    let report = Report::new("table", workload);
    match workload {
        "w1" => w1(&report, n.unwrap_or(10_000_000)),
        "w2" => w2(&report, n.unwrap_or(10_000_000)),
        "w5" => w5(&report, n.unwrap_or(10_000_000)),
        other => bail!("the table has no workload {other}"),
    }
}

const NONE: u32 = u32::MAX;

/// `next[state * events + event]` is the target's number.
struct Table {
    states: Vec<String>,
    events: Vec<String>,
    next: Vec<u32>,
}

impl Table {
    fn load(text: &str) -> Result<Self> {
        let document: Value = serde_json::from_str(text)?;
        let nodes = document["statechart"]["states"].as_object().context("a chart has states")?;
        let states: Vec<String> = nodes.keys().cloned().collect();
        let places: HashMap<&str, u32> = nodes.keys().map(String::as_str).zip(0..).collect();
        let mut events: Vec<String> = Vec::new();
        for (event, _) in nodes.values().flat_map(handlers) {
            if !events.contains(event) {
                events.push(event.clone());
            }
        }
        let mut next = vec![NONE; states.len() * events.len()];
        for (state, node) in nodes.values().enumerate() {
            for (event, transition) in handlers(node) {
                let target = transition["target"].as_str().and_then(|target| places.get(target));
                let event = events.iter().position(|known| known == event).context("just collected")?;
                next[state * events.len() + event] = *target.context("every transition here has a target")?;
            }
        }
        Ok(Self { states, events, next })
    }

    fn event(&self, name: &str) -> Result<usize> {
        self.events.iter().position(|event| event == name).with_context(|| format!("no event {name}"))
    }

    #[inline(never)]
    fn send(&self, state: &mut u32, event: usize) {
        let target = self.next[*state as usize * self.events.len() + event];
        if target != NONE {
            *state = target;
        }
    }
}

fn handlers(node: &Value) -> impl Iterator<Item = (&String, &Value)> {
    node["on"].as_object().into_iter().flatten()
}

fn w1(report: &Report, n: u64) -> Result<()> {
    let table = Table::load(charts::W1)?;
    let (toggle, mut state) = (table.event("TOGGLE")?, 0);
    let (spent, ()) = timed(|| {
        for _ in 0..n {
            table.send(&mut state, black_box(toggle));
        }
    });
    report.check(
        "the state",
        table.states[state as usize].as_str(),
        if n.is_multiple_of(2) { "off" } else { "on" },
    )?;
    report.ns_per_event(spent, n)
}

fn w5(report: &Report, n: u64) -> Result<()> {
    let (load, table) = timed(|| Table::load(charts::W5));
    let table = table?;
    report.each("load_ms", "ms", 1e6, load, 1)?;
    let mut again: Vec<Spent> = (0..11).map(|_| timed(|| drop(Table::load(charts::W5))).0).collect();
    again.sort_by_key(|spent| spent.cpu);
    report.each("load_warm_ms", "ms", 1e6, again[5], 1)?;
    let (next, jump, mut state) = (table.event("NEXT")?, table.event("JUMP")?, 0);
    let events: Vec<usize> =
        charts::w5_moves(n).map(|step| if step == Move::Jump { jump } else { next }).collect();
    let (spent, ()) = timed(|| {
        for event in &events {
            table.send(&mut state, *event);
        }
    });
    report.check("the state", table.states[state as usize].clone(), charts::w5_end(n))?;
    report.ns_per_event(spent, n)
}

enum CounterEvent {
    Inc,
}

struct Counter {
    count: i64,
    limit: i64,
    done: bool,
}

impl Counter {
    #[inline(never)]
    fn send(&mut self, event: &CounterEvent) {
        match event {
            CounterEvent::Inc if !self.done && self.count < self.limit => self.count += 1,
            CounterEvent::Inc => {}
        }
        self.done = self.count >= self.limit;
    }
}

fn w2(report: &Report, n: u64) -> Result<()> {
    let mut counter = Counter { count: 0, limit: n as i64, done: false };
    let (spent, ()) = timed(|| {
        for _ in 0..n {
            counter.send(black_box(&CounterEvent::Inc));
        }
    });
    report.check("done, count", (counter.done, counter.count), (true, n as i64))?;
    report.ns_per_event(spent, n)
}
