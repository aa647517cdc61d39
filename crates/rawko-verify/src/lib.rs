//! `rawko verify`: explores every reachable configuration of a chart on the real step function, and proves or refutes
//! properties. Pure: no IO, no clock; the caller decides when to stop.
//!
//! Data from outside is tried with one value for each case that the chart distinguishes (`data`), so that every step is
//! concrete and every violation replays in `rawko simulate`. Where that is not enough, the verdict is `unknown`.

mod analysis;
mod builtin;
mod children;
mod classes;
mod data;
mod explore;
mod graph;
mod inputs;
mod liveness;
mod machine;
mod model;
mod parts;
mod report;
mod shape;
mod state;
mod tools;
mod trace;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_chart::PropertyKind;
use rawko_core::{Value, World};

pub use builtin::BUILT_IN;
pub use explore::Limits;
use explore::{Explored, Explorer, Shared};
pub use graph::Counterexample;
pub use model::Model;
pub use report::{PropertyReport, Report, Verdict};

/// States that are explored by default.
pub const STATES_MAX_DEFAULT: usize = 200_000;

/// Verifies the first chart; the others may be invoked by it.
pub fn verify(charts: &[Model], world: &World, limits: &Limits<'_>) -> Option<Report> {
    let model = charts.first()?;
    let mut shared =
        Shared { charts, world, limits, children: BTreeMap::new(), stack: Vec::new(), states: 0 };
    let input = Value::Map(Arc::default());
    shared.stack.push(format!("{} {input}", model.chart.id()));
    let explored = Explorer::new(model, false, &mut shared).run(input);
    let bound = Bound { states: shared.states, explored: &explored };
    let mut properties = Vec::new();
    for name in BUILT_IN {
        properties.push(bound.judge(name, builtin::violation(name, model, &explored)));
    }
    let mut lead = 0;
    for (number, property) in model.properties.iter().enumerate() {
        let violation = match &property.kind {
            PropertyKind::LeadsTo { .. } => {
                lead += 1;
                liveness::violation(model, &explored.graph, lead - 1, property.assume)
            }
            _ => explored.own.get(&number).cloned(),
        };
        properties.push(bound.judge(&property.name, violation));
    }
    Some(Report {
        chart: model.chart.id().to_owned(),
        states: explored.graph.nodes.len(),
        transitions: explored.graph.edges.len(),
        properties,
    })
}

struct Bound<'e> {
    states: usize,
    explored: &'e Explored,
}

impl Bound<'_> {
    fn judge(&self, name: &str, violation: Option<Counterexample>) -> PropertyReport {
        let verdict = match &violation {
            Some(_) => Verdict::Violated,
            None if self.explored.graph.complete && self.explored.gaps.is_empty() => Verdict::Holds,
            None => Verdict::Unknown,
        };
        PropertyReport { name: name.to_owned(), verdict, bound: self.text(), trace: violation }
    }

    /// Says what was explored, and what not.
    fn text(&self) -> String {
        let states = self.states;
        let mut text = match self.explored.graph.complete {
            true => format!("all {states} reachable states, with the default input"),
            false => format!("the first {states} states"),
        };
        for gap in self.explored.gaps.iter().take(3) {
            text.push_str("; ");
            text.push_str(gap);
        }
        text
    }
}
