//! Charts that always invoke themselves, directly or through others: every instance would start another one without
//! end. Separate from the other analyses because it takes the first step of the compiled chart: a step without guards
//! and events is the same for all data.

use std::sync::Arc;

use rawko_core::{
    Chart, DataTemplate, Effect, Event, NodeId, ServiceClass, ServiceName, Step, TraceEntry, Value,
    start_traced, step_traced,
};

use super::cycles::{Successors, components, cycle_through};
use crate::codes::INVOKES_ITSELF;
use crate::finding::Finding;
use crate::lowered::{LoweredChart, Places};
use crate::registry::{Registry, Resolution};
use crate::source::Span;
use crate::version::{ChartVersion, VersionRange};

/// Limit of followed timers of 0 ms.
const TIMERS_MAX: usize = 64;
const ROUTE_MAX: usize = 8;

/// A chart that every instance of another chart invokes: no guard and no event comes before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartStart {
    /// Id of the invoked chart, without `statechart:` and version range.
    pub id: String,
    /// The text after the `@`; empty without one.
    pub range: String,
    /// Location of the `src`.
    pub span: Span,
}

/// An invoke whose `src` is a literal chart reference.
pub(crate) struct ChartInvoke {
    invoke: Arc<str>,
    start: ChartStart,
}

pub(crate) fn references(lowered: &LoweredChart) -> Vec<ChartInvoke> {
    let mut found = Vec::new();
    for (number, node) in lowered.blueprint.nodes.iter().enumerate() {
        for (at, invoke) in node.invokes.iter().enumerate() {
            let DataTemplate::Literal(Value::Str(src)) = &invoke.src else { continue };
            let Some(name) = ServiceName::member_of(src, ServiceClass::Chart) else { continue };
            let (id, range) = name.split_once('@').unwrap_or((name, ""));
            let span = src_span(&lowered.places, NodeId(number as u32), at);
            let start = ChartStart { id: id.to_owned(), range: range.to_owned(), span };
            found.push(ChartInvoke { invoke: Arc::clone(&invoke.id), start });
        }
    }
    found
}

fn src_span(places: &Places, node: NodeId, number: usize) -> Span {
    let node = places.nodes.get(node.index());
    let invoke = node.and_then(|node| node.more.as_ref()?.invokes.get(number));
    invoke.map(|invoke| invoke.src).unwrap_or_default()
}

/// Returns the charts among these references that every instance invokes.
pub(crate) fn starts(chart: &Chart, references: Vec<ChartInvoke>) -> Vec<ChartStart> {
    if references.is_empty() {
        return Vec::new();
    }
    let invoked = always_invoked(chart);
    references
        .into_iter()
        .filter(|reference| invoked.contains(&reference.invoke))
        .map(|reference| reference.start)
        .collect()
}

/// Returns the ids of the invokes that the first steps start, as long as only 0 ms timers decide.
fn always_invoked(chart: &Chart) -> Vec<Arc<str>> {
    let mut invoked = Vec::new();
    let Ok((mut snapshot, mut step)) = start_traced(chart, Value::Null, 0) else { return invoked };
    for _ in 0..TIMERS_MAX {
        if !is_certain(chart, &step) {
            return invoked;
        }
        invoked.extend(step.effects.iter().filter_map(|effect| match effect {
            Effect::Invoke(invoke) => Some(Arc::clone(&invoke.id)),
            Effect::SetTimer { .. }
            | Effect::CancelTimer { .. }
            | Effect::StopInvoke { .. }
            | Effect::Send(_)
            | Effect::Emit { .. }
            | Effect::Call { .. }
            | Effect::Log { .. }
            | Effect::Fault(_)
            | Effect::Complete { .. }
            | Effect::Cancelled { .. }
            | Effect::Stall { .. } => None,
        }));
        let Some(timer) = snapshot.next_timer().filter(|timer| timer.due_ms == 0).map(|timer| timer.id)
        else {
            return invoked;
        };
        match step_traced(chart, &mut snapshot, Event::TimerFired { timer }, 0) {
            Ok(next) => step = next,
            Err(_) => return invoked,
        }
    }
    invoked
}

/// Returns true if the step evaluated no guard, had no fault and raised nothing but completions.
fn is_certain(chart: &Chart, step: &Step) -> bool {
    step.trace.entries.iter().all(|entry| match entry {
        TraceEntry::Candidate { transition, .. } => chart.transition(*transition).guard.is_none(),
        TraceEntry::Raised { event } => event.starts_with("done.state."),
        TraceEntry::Failed { .. } | TraceEntry::Stalled { .. } => false,
        TraceEntry::Considered { .. }
        | TraceEntry::Unhandled { .. }
        | TraceEntry::Exited { .. }
        | TraceEntry::Entered { .. }
        | TraceEntry::Acted { .. }
        | TraceEntry::Assigned { .. }
        | TraceEntry::Stale
        | TraceEntry::Retrying(_) => true,
    })
}

/// Returns the findings of a chart that invokes itself directly.
pub(crate) fn invokes_itself(chart: &Chart, starts: &[ChartStart], registry: &Registry) -> Vec<Finding> {
    let is_itself = |start: &&ChartStart| {
        start.id == chart.id()
            && match registry.resolve(&start.id, &start.range) {
                Resolution::Found(version) => version == chart.version(),
                // A chart without a version is registered without one.
                Resolution::Unknown | Resolution::NoVersion(_) => fits(&start.range, chart.version()),
                Resolution::BadRange => false,
            }
    };
    let findings = starts.iter().filter(is_itself).map(|start| finding(start.span, &[chart.id()]));
    findings.collect()
}

fn fits(range: &str, version: &str) -> bool {
    match (VersionRange::parse(range), ChartVersion::parse(version)) {
        (Some(range), Some(version)) => range.contains(&version),
        (Some(_), None) => range.is_empty() || range == "latest",
        (None, _) => false,
    }
}

/// One chart of a project, with the charts that every instance of it invokes.
#[derive(Clone, Debug)]
pub struct ChartStarts {
    /// Id of the chart.
    pub id: String,
    /// Version of the chart; `0.0.0` if its file has none.
    pub version: String,
    /// Charts that every instance invokes: [`crate::Loaded::starts`].
    pub starts: Vec<ChartStart>,
}

/// Finds charts that invoke themselves through others. Each finding names its chart by its index in the list; a chart
/// that invokes itself directly gets its finding when it is loaded.
pub fn recursive_charts(charts: &[ChartStarts]) -> Vec<(usize, Finding)> {
    let mut known = Registry::default();
    for chart in charts {
        known.add_chart(&chart.id, &chart.version);
    }
    let target = |start: &ChartStart| {
        let Resolution::Found(version) = known.resolve(&start.id, &start.range) else { return None };
        charts.iter().position(|chart| chart.id == start.id && chart.version == version)
    };
    let mut graph = Successors::default();
    for chart in charts {
        graph.push(|next| next.extend(chart.starts.iter().filter_map(target).map(|number| number as u32)));
    }
    let component = components(&graph);
    let mut findings = Vec::new();
    for (number, chart) in charts.iter().enumerate() {
        if component[number].is_none() {
            continue;
        }
        let cycle = cycle_through(&graph, &component, number as u32);
        let next = cycle.get(1).copied();
        let towards = |start: &&ChartStart| target(start).map(|number| number as u32) == next;
        if let Some(start) = chart.starts.iter().find(towards).filter(|_| next.is_some()) {
            let route: Vec<&str> = cycle.iter().map(|number| charts[*number as usize].id.as_str()).collect();
            findings.push((number, finding(start.span, &route)));
        }
    }
    findings
}

fn finding(span: Span, route: &[&str]) -> Finding {
    let mut names: Vec<String> = route.iter().map(|id| format!("`{id}`")).collect();
    if names.len() > ROUTE_MAX {
        names.splice(ROUTE_MAX / 2..names.len() - ROUTE_MAX / 2, ["…".to_owned()]);
    }
    names.extend(names.first().cloned());
    let what = format!("the chart always invokes itself: {}", names.join(" → "));
    INVOKES_ITSELF
        .at(span, what)
        .label("every instance starts another one")
        .help("put a guard or an event before the invoke so that the recursion can end")
}
