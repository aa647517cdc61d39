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
mod oracle;
mod parts;
mod reachable;
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
pub use reachable::{Reached, reachable};
pub use report::{PropertyReport, Report, Verdict};

/// States that are explored by default.
pub const STATES_MAX_DEFAULT: usize = 200_000;

/// Verifies the first chart; the others may be invoked by it.
pub fn verify(charts: &[Model], world: &World, limits: &Limits<'_>) -> Option<Report> {
    let model = charts.first()?;
    let is_open = |analysis: &analysis::Analysis| !analysis.undecided.is_empty();
    let is_undecided =
        is_open(&model.analysis) || charts[1..].iter().any(|model| is_open(&model.child_analysis));
    // First with representative data only, so that every violation is real; then, if that does not cover every guard,
    // with both outcomes of those guards, so that what holds does so for all data.
    let states_max = if is_undecided { limits.states_max / 4 + 1 } else { limits.states_max };
    let first = Exploration::run(charts, world, limits, (false, states_max));
    let second = is_undecided.then(|| Exploration::run(charts, world, limits, (true, limits.states_max)));
    let mut properties = Vec::new();
    for name in BUILT_IN {
        let violation = |of: &Exploration| builtin::violation(name, model, &of.explored);
        let is_absence = matches!(name, "no_trap" | "no_stall" | "approval_respected");
        properties.push(judge((name, is_absence), model, (&first, second.as_ref()), violation));
    }
    let mut lead = 0;
    for (number, property) in model.properties.iter().enumerate() {
        let is_lead = matches!(property.kind, PropertyKind::LeadsTo { .. });
        let violation = |of: &Exploration| match is_lead {
            true => liveness::violation(model, &of.explored.graph, lead, property.assume),
            false => of.explored.own.get(&number).cloned(),
        };
        let is_absence = is_lead && property.assume.events_arrive;
        properties.push(judge((&property.name, is_absence), model, (&first, second.as_ref()), violation));
        lead += u32::from(is_lead);
    }
    let shown = second.as_ref().unwrap_or(&first);
    Some(Report {
        chart: model.chart.id().to_owned(),
        states: shown.explored.graph.nodes.len(),
        transitions: shown.explored.graph.edges.len(),
        properties,
    })
}

struct Exploration {
    explored: Explored,
    /// States of the chart and its children.
    states: usize,
}

impl Exploration {
    fn run(
        charts: &[Model],
        world: &World,
        limits: &Limits<'_>,
        (decides, states_max): (bool, usize),
    ) -> Self {
        let (children, input) = (BTreeMap::new(), Value::Map(Arc::default()));
        let stack = vec![format!("{} {input}", charts[0].chart.id())];
        let mut shared =
            Shared { charts, world, limits, children, stack, states: 0, decides, states_max, visit: None };
        let explored = Explorer::new(&charts[0], false, &mut shared).run(input);
        Self { explored, states: shared.states }
    }

    fn is_whole(&self) -> bool {
        self.explored.graph.complete && self.explored.gaps.is_empty()
    }

    /// Describes the explored part and its gaps.
    fn bound(&self, model: &Model) -> String {
        let states = self.states;
        let mut text = match self.explored.graph.complete {
            true => format!("all {states} reachable states, with the default input"),
            false => format!("the first {states} states"),
        };
        if inputs::timers_of(model) > 1 {
            text.push_str(", inputs at once or just before a timer");
        }
        if model.chart.unhandled() == rawko_core::Unhandled::Defer {
            text.push_str(&format!(", at most {} deferred events", inputs::DEFERRED_MAX));
        }
        for gap in self.explored.gaps.iter().take(3) {
            text.push_str("; ");
            text.push_str(gap);
        }
        text
    }
}

/// A violation of an absence (`no_trap`: nothing leads out) is one only if data that was not tried makes no difference.
fn judge(
    (name, is_absence): (&str, bool),
    model: &Model,
    (first, second): (&Exploration, Option<&Exploration>),
    violation: impl Fn(&Exploration) -> Option<Counterexample>,
) -> PropertyReport {
    let mut trace = violation(first);
    if is_absence {
        let wider = second.unwrap_or(first);
        let is_sure = wider.explored.gaps.is_empty()
            && second.is_none_or(|second| {
                violation(second).is_some_and(|other| {
                    Some(other.events) == trace.as_ref().map(|trace| trace.events.clone())
                })
            });
        trace = trace.filter(|_| is_sure);
    }
    let wider = second.unwrap_or(first);
    let mut bound = wider.bound(model);
    let verdict = match (&trace, second) {
        (Some(_), _) => Verdict::Violated,
        (None, Some(second)) if violation(second).is_some() => {
            let guards: Vec<String> =
                model.analysis.undecided.iter().take(3).map(|text| format!("`{text}`")).collect();
            bound.push_str(&format!("; depends on data in {}", guards.join(", ")));
            Verdict::Unknown
        }
        (None, None) if wider.is_whole() && violation(first).is_none() => Verdict::Holds,
        (None, Some(_)) if wider.is_whole() => Verdict::Holds,
        (None, _) => Verdict::Unknown,
    };
    PropertyReport { name: name.to_owned(), verdict, bound, trace }
}
