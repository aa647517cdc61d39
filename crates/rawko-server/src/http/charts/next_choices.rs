//! The present of a simulation: what can happen next. Separate from its past, which is the lines.

use rawko_core::{
    CandidateOutcome, Chart, MacrostepTrace, TimerPurpose, TraceEntry, TransitionId, TransitionTrigger,
};
use rawko_sim::{EventChoice, Simulation};
use rawko_view::items::{self, FanOutDocument};
use rawko_view::offers::{is_for_people, outcomes};
use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

/// The state of a simulation after its last stimulus.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Present {
    /// Virtual time.
    now_ms: i64,
    /// Time until the next timer fires or the next stub answers.
    next_due_in_ms: Option<u64>,
    /// Events with a candidate transition.
    events: Vec<AcceptedEvent>,
    timers: Vec<RunningTimer>,
    /// Invokes without a result.
    running: Vec<RunningInvoke>,
    /// Items of an `each`.
    each: Vec<FanOutDocument>,
    /// All invokes of the chart, for stubs.
    invokes: Vec<KnownInvoke>,
}

/// An event, and what it would do without data.
#[derive(Debug, Serialize, ToSchema)]
struct AcceptedEvent {
    event: String,
    /// True for the result of an invoke.
    is_result: bool,
    /// True if a transition would be taken.
    would_act: bool,
    /// Each candidate in words.
    effects: Vec<String>,
    /// The candidates, numbered as `data-transition` in the drawing.
    transitions: Vec<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
struct RunningTimer {
    due_in_ms: i64,
    /// The reason in words.
    reason: String,
    /// Transitions of `after`.
    transitions: Vec<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
struct RunningInvoke {
    /// Its id, as in `done.invoke.ID`.
    id: String,
    src: String,
    input: Json,
    /// True if a stub answers it.
    is_stubbed: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct KnownInvoke {
    id: String,
    src: String,
    /// Path of its state.
    node: String,
    /// True with `each`.
    is_each: bool,
}

pub(super) fn present(simulation: &Simulation, stubs: &Json) -> Present {
    let chart = simulation.chart();
    let mut present = Present {
        now_ms: simulation.now_ms(),
        next_due_in_ms: simulation.next_due_in_ms(),
        events: Vec::new(),
        timers: Vec::new(),
        running: Vec::new(),
        each: Vec::new(),
        invokes: invokes(chart),
    };
    let Some(snapshot) = simulation.snapshot().filter(|snapshot| !snapshot.status().is_over()) else {
        return present;
    };
    let choices = simulation.choices();
    let choices = choices.iter().filter(|choice| is_for_people(chart, &choice.event));
    present.events =
        choices.map(|choice| accepted(chart, choice)).filter(|it| !it.effects.is_empty()).collect();
    present.timers = snapshot
        .timers()
        .iter()
        .map(|timer| {
            let (reason, transitions) = purpose(chart, &timer.purpose);
            RunningTimer { due_in_ms: timer.due_ms.saturating_sub(simulation.now_ms()), reason, transitions }
        })
        .collect();
    present.running = snapshot
        .pending()
        .map(|pending| {
            let id = chart.invocation_name(&pending).to_string();
            let whole = id.split_once('[').map_or(&*id, |(whole, _)| whole);
            let is_stubbed = [&*id, whole, &*pending.src].iter().any(|name| stubs.get(name).is_some());
            RunningInvoke { is_stubbed, src: pending.src.to_string(), input: pending.input.to_json(), id }
        })
        .collect();
    present.each = items::in_snapshot(chart, snapshot, &[]);
    present
}

fn accepted(chart: &Chart, choice: &EventChoice) -> AcceptedEvent {
    let event = choice.event.to_string();
    let is_result =
        ["done.invoke.", "error.invoke.", "timeout.invoke."].iter().any(|prefix| event.starts_with(prefix));
    AcceptedEvent {
        is_result,
        would_act: choice.would_act,
        effects: outcomes(chart, &choice.trace, &event),
        transitions: candidates(&choice.trace, &event),
        event,
    }
}

/// Returns the candidates for the event itself, without those of events that follow. Those that would be taken go first.
fn candidates(trace: &MacrostepTrace, event: &str) -> Vec<u32> {
    let (mut taken, mut refused, mut its_own) = (Vec::new(), Vec::new(), false);
    for entry in &trace.entries {
        match entry {
            TraceEntry::Considered { event: name } => its_own = name.as_deref() == Some(event),
            TraceEntry::Candidate { transition, outcome: CandidateOutcome::Taken } if its_own => {
                taken.push(transition.0)
            }
            TraceEntry::Candidate { transition, .. } if its_own => refused.push(transition.0),
            _ => {}
        }
    }
    taken.extend(refused);
    taken.dedup();
    taken
}

fn purpose(chart: &Chart, purpose: &TimerPurpose) -> (String, Vec<u32>) {
    match purpose {
        TimerPurpose::After { node, index } => {
            let is_its = |id: &TransitionId| {
                let transition = chart.transition(*id);
                let number = usize::try_from(*index).unwrap_or(usize::MAX);
                transition.source == *node
                    && matches!(transition.trigger, TransitionTrigger::After(timer) if timer == number)
            };
            let transitions = chart.transition_ids().filter(is_its).map(|id| id.0).collect();
            (chart.timer_label(*node, *index).to_owned(), transitions)
        }
        TimerPurpose::Send { event, .. } => (format!("delayed {}", event.name), Vec::new()),
        TimerPurpose::InvokeTimeout { .. } => ("timeout".to_owned(), Vec::new()),
        TimerPurpose::InvokeRetry { .. } => ("retry".to_owned(), Vec::new()),
        TimerPurpose::EachContinue { .. } => ("more items".to_owned(), Vec::new()),
    }
}

fn invokes(chart: &Chart) -> Vec<KnownInvoke> {
    let of = |node| {
        let info = chart.node(node);
        let known = move |(number, (id, src)): (usize, &(_, _))| {
            let (id, src): (&std::sync::Arc<str>, &std::sync::Arc<str>) = (id, src);
            KnownInvoke {
                id: id.to_string(),
                src: src.to_string(),
                node: info.path.to_string(),
                is_each: chart.each(node, number).is_some(),
            }
        };
        info.invokes.iter().enumerate().map(known).collect::<Vec<_>>()
    };
    chart.node_ids().flat_map(of).collect()
}
