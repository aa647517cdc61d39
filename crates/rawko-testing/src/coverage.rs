//! Which states and transitions the scenarios visited, chart by chart over all files.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_core::{
    CandidateOutcome, Chart, MacrostepTrace, NodeId, NodeKind, TraceEntry, TransitionId, explain,
};

use crate::report::{ChartCoverage, ItemCoverage};

/// The visits of every chart that scenarios are about.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    charts: Vec<Visits>,
}

#[derive(Debug)]
struct Visits {
    name: String,
    chart: Arc<Chart>,
    entered: BTreeSet<NodeId>,
    taken: BTreeSet<TransitionId>,
}

impl Coverage {
    /// A chart to count, by the name its file is known by. Naming it again changes nothing.
    pub(crate) fn expect(&mut self, name: &str, chart: &Arc<Chart>) {
        if self.visits_of(chart).is_none() {
            let (entered, taken) = (BTreeSet::new(), BTreeSet::new());
            self.charts.push(Visits { name: name.to_owned(), chart: Arc::clone(chart), entered, taken });
        }
    }

    /// Counts the visits of one step. Steps of other charts are not counted.
    pub(crate) fn visit(&mut self, chart: &Chart, trace: &MacrostepTrace) {
        let Some(visits) = self.visits_of(chart) else { return };
        for entry in &trace.entries {
            match entry {
                TraceEntry::Entered { node } => {
                    visits.entered.insert(*node);
                }
                TraceEntry::Candidate { transition, outcome: CandidateOutcome::Taken } => {
                    visits.taken.insert(*transition);
                }
                _ => {}
            }
        }
    }

    /// In the order the charts were named.
    pub(crate) fn results(&self) -> Vec<ChartCoverage> {
        self.charts.iter().map(Visits::result).collect()
    }

    fn visits_of(&mut self, chart: &Chart) -> Option<&mut Visits> {
        self.charts
            .iter_mut()
            .find(|visits| visits.chart.hash() == chart.hash() && visits.chart.id() == chart.id())
    }
}

impl Visits {
    fn result(&self) -> ChartCoverage {
        let chart = &self.chart;
        // The root is always entered and a history node never is: neither counts for coverage.
        let counts =
            |node: &NodeId| *node != NodeId::ROOT && !matches!(chart.node(*node).kind, NodeKind::History(_));
        let states: Vec<_> = chart.node_ids().filter(counts).collect();
        let transitions: Vec<_> = chart.transition_ids().collect();
        let states = covered(&states, &self.entered, |node| explain::node_words(chart, *node));
        let transitions = covered(&transitions, &self.taken, |id| explain::transition_words(chart, *id));
        let total = states.total + transitions.total;
        let percent = ((states.covered + transitions.covered) * 100).checked_div(total).unwrap_or(100);
        ChartCoverage {
            chart: self.name.clone(),
            id: chart.id().to_owned(),
            percent: percent as u32,
            states,
            transitions,
            entered: self.entered.iter().map(|node| chart.node(*node).path.to_string()).collect(),
            taken: self.taken.iter().map(|id| id.0).collect(),
        }
    }
}

fn covered<T: Ord>(all: &[T], visited: &BTreeSet<T>, words: impl Fn(&T) -> String) -> ItemCoverage {
    let missing: Vec<_> = all.iter().filter(|item| !visited.contains(item)).map(words).collect();
    ItemCoverage { total: all.len(), covered: all.len() - missing.len(), missing }
}
