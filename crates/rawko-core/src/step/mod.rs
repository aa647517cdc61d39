//! The function that takes a step: an event in, one macrostep, effects out. Pure and synchronous; on an error the
//! snapshot is unchanged.

mod actions;
mod done;
mod each;
mod events;
mod faults;
mod invokes;
mod item_retry;
mod items;
mod microstep;
mod plain;
mod run;
mod select;
mod targetless;
mod timers;
mod trace;
mod undo;
mod unstarted;
mod work;

pub(crate) use items::item_name;
pub use items::split_item_name;
use plain::PlainStep;
use run::Macrostep;
use targetless::TargetlessStep;
pub use trace::{CandidateOutcome, CandidateRefusal, MacrostepTrace, Retrying, TraceEntry};
pub use work::start_work;

use crate::chart::Chart;
use crate::configuration::Configuration;
use crate::effect::Effect;
use crate::event::{Event, NamedEvent};
use crate::snapshot::{RareParts, Snapshot, Status};
use crate::value::Value;
use crate::world::Now;

/// The result of a macrostep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The number of this step in its instance; the start is 0. Effect ids are `instance/number/index`.
    pub number: u64,
    /// Requests to the host, in order.
    pub effects: Vec<Effect>,
    /// True if a transition was taken. An unhandled event is ignored (or deferred) and traced.
    pub handled: bool,
    /// Empty unless the step was traced.
    pub trace: MacrostepTrace,
}

impl Step {
    /// Returns true if the step took a transition or has effects. A fault by itself counts as neither.
    pub fn is_effective(&self) -> bool {
        self.handled || self.effects.iter().any(|effect| !matches!(effect, Effect::Fault(_)))
    }
}

/// A step that was not taken. The snapshot is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The macrostep did not come to rest.
    #[error(
        "more than {limit} microsteps without coming to rest (last active: {configuration}); \
         eventless transitions or raised events feed each other"
    )]
    Runaway {
        /// Microsteps allowed in one macrostep.
        limit: u32,
        /// Paths of the active states when it stopped.
        configuration: String,
    },
    /// No transition took the event under `unhandled: error`.
    #[error(
        "no state handles event `{event}` (active: {configuration}), and the chart sets `unhandled: error`"
    )]
    Unhandled {
        /// Event name.
        event: String,
        /// Paths of the active states.
        configuration: String,
    },
    /// The queue of deferred events is full.
    #[error("more than {limit} events are deferred; none of the active states handles them")]
    TooManyDeferred {
        /// Maximum number of deferred events.
        limit: usize,
    },
    /// The input violates the chart's input schema.
    #[error("the input is invalid: {why}")]
    Input {
        /// Violations as text.
        why: String,
    },
    /// The snapshot was taken from another chart.
    #[error("this snapshot does not belong to chart `{chart}`")]
    OtherChart {
        /// Id of the chart that was passed.
        chart: String,
    },
}

/// Controls the recording of a trace. Costs nothing if off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracing {
    Off,
    On,
}

/// Starts an instance: enters the initial states and runs until it rests.
pub fn start<'w>(
    chart: &Chart,
    input: Value,
    now: impl Into<Now<'w>>,
) -> Result<(Snapshot, Step), StepError> {
    start_with(chart, input, now.into(), Tracing::Off)
}

/// [`start`], with a trace.
pub fn start_traced<'w>(
    chart: &Chart,
    input: Value,
    now: impl Into<Now<'w>>,
) -> Result<(Snapshot, Step), StepError> {
    start_with(chart, input, now.into(), Tracing::On)
}

/// Delivers one event and runs until the instance rests.
pub fn step<'w>(
    chart: &Chart,
    snapshot: &mut Snapshot,
    event: Event,
    now: impl Into<Now<'w>>,
) -> Result<Step, StepError> {
    step_with(chart, snapshot, event, now.into(), Tracing::Off)
}

/// [`step`], with a trace.
pub fn step_traced<'w>(
    chart: &Chart,
    snapshot: &mut Snapshot,
    event: Event,
    now: impl Into<Now<'w>>,
) -> Result<Step, StepError> {
    step_with(chart, snapshot, event, now.into(), Tracing::On)
}

fn start_with(
    chart: &Chart,
    input: Value,
    now: Now<'_>,
    tracing: Tracing,
) -> Result<(Snapshot, Step), StepError> {
    let context = initial_context(chart, &input);
    if let Some(why) = refused_input(chart, &input) {
        return Err(StepError::Input { why });
    }
    let mut snapshot = Snapshot {
        chart: chart.hash,
        step: 0,
        status: Status::Active,
        configuration: Configuration::default(),
        context,
        more: None,
    };
    if !input.is_null() {
        snapshot.more = Some(Box::new(RareParts { input, ..RareParts::default() }));
    }
    let mut run = Macrostep::new(chart, &mut snapshot, now, tracing);
    let result = run.start();
    let step = run.finish(result)?;
    Ok((snapshot, step))
}

/// `input` keys override the chart's declared values.
fn initial_context(chart: &Chart, input: &Value) -> Box<[Value]> {
    let mut context: Box<[Value]> = chart.context_initial.clone().into();
    if let Value::Map(given) = input {
        for (slot, name) in chart.context_names.iter().enumerate() {
            if let Some(value) = given.get(name).filter(|_| chart.context_declared[slot]) {
                context[slot] = value.clone();
            }
        }
    }
    context
}

/// Why an input cannot override the context, by the context's schema.
fn refused_input(chart: &Chart, input: &Value) -> Option<String> {
    let (rules, given) = (chart.context_rules.as_ref()?, input.as_map()?);
    let slots = chart.context_names.iter().enumerate().filter(|(slot, _)| chart.context_declared[*slot]);
    let updates = slots.filter_map(|(slot, name)| Some((crate::ids::Slot(slot as u32), given.get(name)?)));
    // Unknown data is assumed to fit.
    let updates = updates.filter(|(_, value)| !crate::expr::has_unknown(value));
    rules.refuse(&chart.context_initial, updates)
}

/// A step that the chart does not see: no transition is selected, not even an eventless one. Timers move by `later_ms`.
fn unseen(snapshot: &mut Snapshot, later_ms: i64) -> Step {
    snapshot.step += 1;
    for timer in snapshot.more.iter_mut().flat_map(|more| &mut more.timers) {
        timer.due_ms = timer.due_ms.saturating_add(later_ms);
    }
    Step { number: snapshot.step, handled: true, ..Step::default() }
}

fn step_with(
    chart: &Chart,
    snapshot: &mut Snapshot,
    event: Event,
    now: Now<'_>,
    tracing: Tracing,
) -> Result<Step, StepError> {
    if snapshot.chart != chart.hash {
        return Err(StepError::OtherChart { chart: chart.id().to_owned() });
    }
    match event {
        Event::PauseRequested { .. } => Ok(unseen(snapshot, 0)),
        Event::ResumeRequested { paused_ms, .. } => Ok(unseen(snapshot, paused_ms)),
        Event::Named(named) => named_step(chart, snapshot, named, now, tracing),
        Event::TimerFired { .. }
        | Event::InvokeDone { .. }
        | Event::InvokeFailed { .. }
        | Event::RetryRequested
        | Event::ItemRetryRequested { .. }
        | Event::CancelRequested { .. } => whole_step(chart, snapshot, event, now, tracing),
    }
}

/// Takes one of the fast paths for an author's event if it qualifies.
#[inline]
fn named_step(
    chart: &Chart,
    snapshot: &mut Snapshot,
    event: NamedEvent,
    now: Now<'_>,
    tracing: Tracing,
) -> Result<Step, StepError> {
    let Some((leaf, handler)) = plain::find_handler(chart, snapshot, &event.name) else {
        return whole_step(chart, snapshot, Event::Named(event), now, tracing);
    };
    if let Some(plain) = PlainStep::of(chart, leaf, handler) {
        return Ok(plain.take(chart, snapshot, event.name, tracing));
    }
    if !handler.only_assigns {
        return whole_step(chart, snapshot, Event::Named(event), now, tracing);
    }
    match TargetlessStep::new(chart, snapshot, leaf, now, tracing).take(handler, event) {
        Ok(step) => step,
        Err(event) => whole_step(chart, snapshot, Event::Named(event), now, tracing),
    }
}

/// The full algorithm.
fn whole_step(
    chart: &Chart,
    snapshot: &mut Snapshot,
    event: Event,
    now: Now<'_>,
    tracing: Tracing,
) -> Result<Step, StepError> {
    snapshot.step += 1;
    let mut run = Macrostep::new(chart, snapshot, now, tracing);
    let result = run.handle(event);
    run.finish(result)
}
