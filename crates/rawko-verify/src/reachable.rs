//! Visits every reachable state of a chart, for proofs that are not about one chart alone: a migration needs an image of
//! each.

use std::sync::Arc;

use rawko_core::{Snapshot, Value, World};

use crate::explore::{ExplorationLimits, Explorer, SharedExploration};
use crate::mode::Mode;
use crate::model::Model;

/// The extent of an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachableStates {
    /// Number of visited states.
    pub states: usize,
    /// True if these are all states that the default input reaches.
    pub is_whole: bool,
}

/// Visits the reachable states of the first chart; the others may be invoked by it. Guards over unknown data are
/// explored both ways.
pub fn reachable(
    charts: &[Model],
    world: &World,
    limits: &ExplorationLimits<'_>,
    visit: &dyn Fn(&Snapshot),
) -> Option<ReachableStates> {
    let model = charts.first()?;
    let input = Value::Map(Arc::default());
    let mode = if model.analysis.undecided.is_empty() { Mode::Concrete } else { Mode::Decided };
    let most = (limits.states_max, usize::MAX);
    let mut shared = SharedExploration::new(charts, world, limits, (mode, None), most, &input);
    shared.visit = Some(visit);
    let explored = Explorer::new(model, false, &mut shared).run(input);
    let is_whole = explored.graph.complete && explored.gaps.is_empty();
    Some(ReachableStates { states: explored.graph.nodes.len(), is_whole })
}
