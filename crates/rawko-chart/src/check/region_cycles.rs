//! Regions whose eventless transitions ask for each other's states: such a cycle goes through no single region, so the
//! graph of `eventless` does not have it. Apart from the other analyses because it takes steps of the compiled chart:
//! what it finds happens, with the initial context and events without data.

use std::collections::VecDeque;

use rawko_core::{Chart, Event, NodeId, Snapshot, StepError, TransitionTrigger, Value, start, step};
use rustc_hash::FxHashSet;

use crate::codes::{EVENTLESS_CYCLE, GUARDED_EVENTLESS_CYCLE};
use crate::finding::Finding;
use crate::lowered::{LoweredChart, Places};
use crate::source::Span;

/// Steps that are tried: enough for charts that people draw, and a fraction of a second at most.
const STEPS_MAX: usize = 512;
const EVENTS_MAX: usize = 64;
const RELATED_MAX: usize = 5;

/// Eventless transitions whose guards ask for active states, in document order, and the events of the chart.
pub(crate) struct Suspects {
    guards: Vec<Span>,
    events: Vec<Event>,
}

pub(crate) fn suspects(lowered: &LoweredChart) -> Suspects {
    let mut suspects = Suspects { guards: Vec::new(), events: Vec::new() };
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for (number, node) in lowered.blueprint.nodes.iter().enumerate() {
        for (at, transition) in node.transitions.iter().enumerate() {
            match &transition.trigger {
                TransitionTrigger::Always => {
                    let guard = transition.guard.as_ref();
                    if guard.is_some_and(|guard| guard.expr.reads_states()) {
                        suspects.guards.push(guard_span(&lowered.places, NodeId(number as u32), at));
                    }
                }
                TransitionTrigger::Event(name) if !name.ends_with('*') && seen.insert(name) => {
                    suspects.events.push(Event::named(&**name, Value::Null));
                }
                TransitionTrigger::Event(_)
                | TransitionTrigger::After(_)
                | TransitionTrigger::Item { .. } => {}
            }
        }
    }
    suspects.events.truncate(EVENTS_MAX);
    suspects
}

fn guard_span(places: &Places, node: NodeId, number: usize) -> Span {
    let transition = places.nodes.get(node.index()).and_then(|node| node.transitions.get(number));
    transition.map(|places| places.guard.unwrap_or(places.trigger)).unwrap_or_default()
}

/// The finding, unless another one explains the cycle already.
pub(crate) fn analyse(chart: &Chart, suspects: &Suspects, earlier: &[Finding]) -> Option<Finding> {
    let (first, others) = suspects.guards.split_first().filter(|(_, others)| !others.is_empty())?;
    let known = [EVENTLESS_CYCLE.name, GUARDED_EVENTLESS_CYCLE.name];
    if earlier.iter().any(|finding| known.contains(&finding.code)) {
        return None;
    }
    let (states, event) = runaway(chart, &suspects.events)?;
    let when = event.map_or_else(|| "at the start".to_owned(), |event| format!("when `{event}` arrives"));
    let message = format!(
        "eventless transitions that test each other's states loop forever {when} (last active: {states})"
    );
    let finding = EVENTLESS_CYCLE
        .at(*first, message)
        .label("becomes true again after the other transitions")
        .help("let one of them wait for an event or a delay, or make its guard stay false afterwards");
    let related = others.iter().take(RELATED_MAX);
    Some(related.fold(finding, |finding, span| finding.related(*span, "also tests active states")))
}

/// Returns the configuration in which the chart runs away, and the event that leads there. Visits each one once.
fn runaway(chart: &Chart, events: &[Event]) -> Option<(String, Option<String>)> {
    let first = match start(chart, Value::Null, 0) {
        Ok((snapshot, _)) => snapshot,
        Err(StepError::Runaway { configuration, .. }) => return Some((configuration, None)),
        Err(_) => return None,
    };
    let configuration =
        |snapshot: &Snapshot| chart.leaf_paths(snapshot.configuration()).collect::<Vec<_>>().join(",");
    let mut seen: FxHashSet<String> = FxHashSet::from_iter([configuration(&first)]);
    let mut waiting = VecDeque::from([first]);
    let mut left = STEPS_MAX;
    while let Some(before) = waiting.pop_front() {
        let timer = before.next_timer().map(|timer| Event::TimerFired { timer: timer.id });
        for event in events.iter().chain(timer.as_ref()) {
            left = left.checked_sub(1)?;
            let mut snapshot = before.clone();
            match step(
                chart,
                &mut snapshot,
                event.clone(),
                before.next_timer().map_or(0, |timer| timer.due_ms),
            ) {
                Ok(_) if snapshot.status().is_over() => {}
                Ok(_) => {
                    if seen.insert(configuration(&snapshot)) {
                        waiting.push_back(snapshot);
                    }
                }
                Err(StepError::Runaway { configuration, .. }) => {
                    return Some((configuration, Some(name(event))));
                }
                Err(_) => {}
            }
        }
    }
    None
}

fn name(event: &Event) -> String {
    match event {
        Event::Named(event) => event.name.to_string(),
        _ => "a delay".to_owned(),
    }
}
