//! `SharedExploration`: limits and results that the exploration of a chart shares with those of its children.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rawko_chart::PropertyKind;
use rawko_core::{Value, World};

use super::ExplorationLimits;
use crate::children::ChildOutcomes;
use crate::mode::Mode;
use crate::model::Model;
use crate::witness::Tunnel;

/// Limits and results that all explorations of one run share.
pub(crate) struct SharedExploration<'m> {
    pub(crate) charts: &'m [Model],
    pub(crate) world: &'m World,
    pub(crate) limits: &'m ExplorationLimits<'m>,
    pub(crate) children: BTreeMap<String, Arc<ChildOutcomes>>,
    /// The charts that are being explored, outermost first.
    pub(crate) stack: Vec<String>,
    pub(crate) states: usize,
    pub(crate) mode: Mode,
    pub(crate) tick_ms: Option<i64>,
    pub(crate) states_max: usize,
    /// Receives every new state of the chart itself.
    pub(crate) visit: Option<&'m dyn Fn(&rawko_core::Snapshot)>,
    pub(crate) edges_max: usize,
    /// Only steps along it are taken in the chart itself.
    pub(crate) tunnel: Option<Tunnel>,
    /// Configurations are numbered in the graph: see [`crate::graph::StateNode::configuration`].
    pub(crate) numbers_configurations: bool,
    /// Some property asks whether children end.
    pub(crate) has_leads: bool,
    /// Steps of all charts.
    pub(crate) edges: usize,
    /// Steps since the caller was asked whether to stop.
    pub(crate) steps_since_stop: usize,
    /// Steps that did not come to rest.
    pub(crate) runaways: usize,
    /// The most timers that ran at the same time in a child.
    pub(crate) child_clocks: usize,
    /// The most items that unknown lists were tried with.
    pub(crate) items_max: usize,
    /// Why the outcomes of some child are not all known.
    pub(crate) child_gaps: BTreeSet<String>,
}

impl<'m> SharedExploration<'m> {
    /// Begins with the first chart and its input.
    pub(crate) fn new(
        charts: &'m [Model],
        world: &'m World,
        limits: &'m ExplorationLimits<'m>,
        (mode, tick_ms): (Mode, Option<i64>),
        (states_max, edges_max): (usize, usize),
        input: &Value,
    ) -> Self {
        let model = &charts[0];
        Self {
            charts,
            world,
            limits,
            children: BTreeMap::new(),
            stack: vec![format!("{}@{} {input}", model.chart.id(), model.chart.version())],
            states: 0,
            mode,
            tick_ms,
            states_max,
            visit: None,
            edges_max,
            tunnel: None,
            numbers_configurations: false,
            has_leads: model.properties.iter().any(|it| matches!(it.kind, PropertyKind::LeadsTo { .. })),
            edges: 0,
            steps_since_stop: 0,
            runaways: 0,
            child_clocks: 0,
            items_max: 0,
            child_gaps: BTreeSet::new(),
        }
    }
}
