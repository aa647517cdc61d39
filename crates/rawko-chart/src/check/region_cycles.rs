//! Regions whose eventless transitions ask for each other's states: such a cycle goes through no single region, so the
//! graph of `eventless` does not have it. Apart from the other analyses because it takes steps of the compiled chart:
//! what it finds happens, with the initial context and events without data, or with data that the guards compare with.

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_core::{
    Chart, Event, Guard, NamedEvent, NodeId, Snapshot, StepError, TransitionTrigger, Value, start, step,
};
use rustc_hash::FxHashSet;

use super::region_data::{self, DataChoice};
use crate::codes::{EVENTLESS_CYCLE, GUARDED_EVENTLESS_CYCLE};
use crate::finding::Finding;
use crate::lowered::{LoweredChart, Places};
use crate::source::Span;

/// Steps that are tried: enough for charts that people draw, and a fraction of a second at most.
const STEPS_MAX: usize = 512;
/// Steps with all choices of data together.
const DATA_STEPS_MAX: usize = 2048;
const EVENTS_MAX: usize = 64;
const RELATED_MAX: usize = 5;

/// Eventless transitions whose guards ask for active states, in document order, and the events of the chart.
pub(crate) struct Suspects {
    guards: Vec<Span>,
    events: Vec<NamedEvent>,
    /// Data with which the guards may hold.
    choices: Vec<DataChoice>,
}

pub(crate) fn suspects(lowered: &LoweredChart) -> Suspects {
    let mut suspects = Suspects { guards: Vec::new(), events: Vec::new(), choices: Vec::new() };
    let mut guards: Vec<&Guard> = Vec::new();
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for (number, node) in lowered.blueprint.nodes.iter().enumerate() {
        for (at, transition) in node.transitions.iter().enumerate() {
            match &transition.trigger {
                TransitionTrigger::Always => {
                    let guard = transition.guard.as_ref();
                    if let Some(guard) = guard.filter(|guard| guard.expr.reads_states()) {
                        guards.push(guard);
                        suspects.guards.push(guard_span(&lowered.places, NodeId(number as u32), at));
                    }
                }
                TransitionTrigger::Event(name) if !name.ends_with('*') && seen.insert(name) => {
                    suspects.events.push(NamedEvent::new(&**name, Value::Null));
                }
                TransitionTrigger::Event(_)
                | TransitionTrigger::After(_)
                | TransitionTrigger::Item { .. } => {}
            }
        }
    }
    suspects.events.truncate(EVENTS_MAX);
    if guards.len() > 1 {
        suspects.choices = region_data::choices(&lowered.blueprint, &guards);
    }
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
    let mut budget = STEPS_MAX;
    let certain = runaway(chart, &suspects.events, &Value::Null, &mut budget).map(|found| (found, None));
    let ((states, event), choice) = certain.or_else(|| with_data(chart, suspects))?;
    let when = event.map_or_else(|| "at the start".to_owned(), |event| format!("when `{event}` arrives"));
    let (code, with) = match choice {
        None => (EVENTLESS_CYCLE, String::new()),
        Some(choice) => (GUARDED_EVENTLESS_CYCLE, format!(" if their guards hold, {}", example(choice))),
    };
    let message = format!(
        "eventless transitions that test each other's states loop forever {when}{with} (last active: {states})"
    );
    let finding = code
        .at(*first, message)
        .label("becomes true again after the other transitions")
        .help("let one of them wait for an event or a delay, or make its guard stay false afterwards");
    let related = others.iter().take(RELATED_MAX);
    Some(related.fold(finding, |finding, span| finding.related(*span, "also tests active states")))
}

/// The same with each choice of data.
fn with_data<'s>(chart: &Chart, suspects: &'s Suspects) -> Option<(Runaway, Option<&'s DataChoice>)> {
    let mut budget = DATA_STEPS_MAX;
    suspects.choices.iter().find_map(|choice| {
        let events = suspects.events.iter().map(|event| {
            let event = NamedEvent::new(Arc::clone(&event.name), choice.event.clone());
            // Data that the chart refuses cannot arrive.
            if chart.refuse_data(&event).is_some() { NamedEvent::new(event.name, Value::Null) } else { event }
        });
        let events: Vec<NamedEvent> = events.collect();
        Some((runaway(chart, &events, &choice.input, &mut budget)?, Some(choice)))
    })
}

fn example(choice: &DataChoice) -> String {
    match (&choice.event, &choice.input) {
        (Value::Null, input) => format!("as with the input `{}`", input.to_json()),
        (event, _) => format!("as with the data `{}`", event.to_json()),
    }
}

/// The configuration in which the chart runs away, and the event that leads there.
type Runaway = (String, Option<String>);

/// Visits each configuration once, apart for each context.
fn runaway(chart: &Chart, events: &[NamedEvent], input: &Value, left: &mut usize) -> Option<Runaway> {
    let first = match start(chart, input.clone(), 0) {
        // The context's schema may refuse the input.
        Err(StepError::Input { .. }) => start(chart, Value::Null, 0),
        started => started,
    };
    let first = match first {
        Ok((snapshot, _)) => snapshot,
        Err(StepError::Runaway { configuration, .. }) => return Some((configuration, None)),
        Err(_) => return None,
    };
    let visited = |snapshot: &Snapshot| {
        let leaves: Vec<&str> = chart.leaf_paths(snapshot.configuration()).collect();
        // Without data the context hardly differs, and the configurations alone are fewer.
        let context = (!input.is_null() || events.iter().any(|event| !event.data.is_null()))
            .then(|| Value::list(snapshot.context().to_vec()).to_json().to_string());
        (leaves.join(","), context)
    };
    let mut seen: FxHashSet<(String, Option<String>)> = FxHashSet::from_iter([visited(&first)]);
    let mut waiting = VecDeque::from([first]);
    while let Some(before) = waiting.pop_front() {
        let timer = before.next_timer().map(|timer| Event::TimerFired { timer: timer.id });
        for event in events.iter().cloned().map(Event::Named).chain(timer) {
            *left = left.checked_sub(1)?;
            let mut snapshot = before.clone();
            let now = before.next_timer().map_or(0, |timer| timer.due_ms);
            match step(chart, &mut snapshot, event.clone(), now) {
                Ok(_) if snapshot.status().is_over() => {}
                Ok(_) => {
                    if seen.insert(visited(&snapshot)) {
                        waiting.push_back(snapshot);
                    }
                }
                Err(StepError::Runaway { configuration, .. }) => {
                    return Some((configuration, Some(name(&event))));
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
