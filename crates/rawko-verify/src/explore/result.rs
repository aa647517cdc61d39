//! `ExplorationResult`: the graph of an exploration, and what its steps showed.

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::NodeId;

use crate::ceiling::StartCounts;
use crate::children::ChildOutcomes;
use crate::graph::{Counterexample, Graph, PendingWork};
use crate::spending::SpendSource;

/// What an exploration found.
pub(crate) struct ExplorationResult {
    pub(crate) graph: Graph,
    /// The first violation of each built-in property that one step shows, and of each own property by its number.
    pub(crate) built_in: BTreeMap<&'static str, Counterexample>,
    pub(crate) own: BTreeMap<usize, Counterexample>,
    pub(crate) effects: Vec<Arc<str>>,
    /// The ids of the questions that `Edge::answers` counts.
    pub(crate) questions: Vec<Arc<str>>,
    pub(crate) gaps: Vec<String>,
    /// The most items that unknown lists were tried with, in the chart and its children; 0 if there are none.
    pub(crate) items_max: usize,
    /// The most timers and deadlines that ran at the same time.
    pub(crate) clocks: usize,
    pub(crate) outcomes: ChildOutcomes,
    /// The most that child charts start, by the id of their invoke.
    pub(crate) child_starts: BTreeMap<Arc<str>, StartCounts>,
    /// What effects spend, by number, and that of the start.
    pub(crate) spendings: Vec<SpendSource>,
    pub(crate) start_spends: Vec<u16>,
    /// Why a state that only reads may write.
    pub(crate) may_write: Option<String>,
    /// Invokes of child charts that ask a person, with the question.
    pub(crate) asking: BTreeMap<Arc<str>, Arc<str>>,
    /// The guard of an eventless loop that may have more rounds than a step may have.
    pub(crate) open_loop: Option<String>,
    /// Timers with computed delays follow one another in a loop: all of their delays may be 0.
    pub(crate) has_open_delay: bool,
    /// Bytes of the identities of all states.
    pub(crate) bytes: usize,
    /// The active states of each configuration, by its number.
    pub(crate) configurations: Vec<Vec<NodeId>>,
}

impl ExplorationResult {
    pub(super) fn new(questions: Vec<Arc<str>>) -> Self {
        let mut graph = Graph { complete: true, ..Graph::default() };
        // States that were not expanded have no pending work.
        graph.pending.number(PendingWork::default());
        Self {
            graph,
            built_in: BTreeMap::new(),
            own: BTreeMap::new(),
            effects: Vec::new(),
            questions,
            gaps: Vec::new(),
            items_max: 0,
            clocks: 0,
            outcomes: ChildOutcomes { complete: true, ..ChildOutcomes::default() },
            child_starts: BTreeMap::new(),
            spendings: Vec::new(),
            start_spends: Vec::new(),
            may_write: None,
            asking: BTreeMap::new(),
            open_loop: None,
            has_open_delay: false,
            bytes: 0,
            configurations: Vec::new(),
        }
    }
}
