//! One input on the real step function, and everything that follows at the same moment: events that the chart sends to
//! itself, timers that are due, questions that expire. The same order as the driver of `rawko simulate`.

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_core::expr::OTHER_FIELDS;
use rawko_core::{
    CandidateOutcome, CandidateRefusal, Chart, Event, NamedEvent, NodeId, StepError, TraceEntry, Value,
    World, expr,
};
use rawko_instance::records::EffectKind;
use rawko_instance::{
    Consequence, InstanceLimits, ServiceError, first_due, own_event_refusal, request_due_ms, request_expired,
};

use crate::oracle::StepScript;
use crate::state::ModelState;

/// Events to others of which it is open whether they arrive.
pub(crate) const SENT_MAX: u8 = 3;

/// The event about one that could not be delivered.
pub(crate) const UNDELIVERED: &str = "error.communication";

/// Facts about the steps between two states at rest, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepFacts {
    pub(crate) moments: Vec<StepFact>,
    /// The step function refused: eventless transitions or deliveries without end.
    pub(crate) runaway: Option<String>,
    /// True if any transition was taken.
    pub(crate) handled: bool,
    /// More events to others may be open than are counted.
    pub(crate) has_many_sent: bool,
    /// Events that were delivered.
    pub(crate) deliveries: usize,
    /// Numbers of the budgets whose states were not active after each of the deliveries.
    pub(crate) left: Vec<u16>,
    /// Transitions that were taken, and those whose guard was false, if the step is traced.
    pub(crate) taken: Vec<u32>,
    pub(crate) refused: Vec<u32>,
}

/// One fact. States are recorded only if the step is traced.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepFact {
    Event(Arc<str>),
    Entered(NodeId),
    Exited(NodeId),
    Invoked {
        id: Arc<str>,
        src: Arc<str>,
        input: Value,
        policy: Value,
        invocation: u64,
    },
    Called(Arc<str>),
    /// Failed work that nothing handles.
    Stalled {
        id: Arc<str>,
        error: Value,
    },
}

pub(crate) struct Machine<'m> {
    pub(crate) chart: &'m Chart,
    pub(crate) world: &'m World,
    pub(crate) traced: bool,
    /// The chart handles `error.communication`.
    pub(crate) sees_undelivered: bool,
    /// States with a budget.
    pub(crate) budgets: Vec<NodeId>,
}

/// The decisions of guards in a step, if any are to be made.
pub(crate) type Decisions<'d> = Option<&'d StepScript<'d>>;

impl Machine<'_> {
    pub(crate) fn start(
        &self,
        input: Value,
        decisions: Decisions<'_>,
    ) -> Result<(ModelState, StepFacts), StepError> {
        let now = self.now(0, decisions);
        let (snapshot, step) = match self.traced {
            true => rawko_core::start_traced(self.chart, input, now)?,
            false => rawko_core::start(self.chart, input, now)?,
        };
        let mut state =
            ModelState { snapshot, now_ms: 0, expiries: Vec::new(), monitors: Vec::new(), sent: 0 };
        let (mut facts, mut queue) = (StepFacts::default(), VecDeque::new());
        self.take(&mut state, step, &mut facts, &mut queue);
        self.settle(&mut state, (None, queue), &mut facts, decisions);
        Ok((state, facts))
    }

    fn now<'n>(&'n self, ms: i64, decisions: Decisions<'n>) -> rawko_core::Now<'n> {
        let now = rawko_core::Now::new(ms, self.world);
        match decisions {
            Some(script) => now.judged_by(script),
            None => now,
        }
    }

    /// Delivers an event by name and settles.
    pub(crate) fn deliver(
        &self,
        state: &mut ModelState,
        name: &Arc<str>,
        data: &Value,
        decisions: Decisions<'_>,
    ) -> StepFacts {
        let mut facts = StepFacts::default();
        let event = Event::Named(NamedEvent::new(Arc::clone(name), data.clone()));
        self.settle(state, (Some(event), VecDeque::new()), &mut facts, decisions);
        facts
    }

    /// Moves the clock and settles. Nothing between now and then may be due before the last moment.
    pub(crate) fn advance(&self, state: &mut ModelState, to_ms: i64, decisions: Decisions<'_>) -> StepFacts {
        let mut facts = StepFacts::default();
        state.now_ms = to_ms;
        self.settle(state, (None, VecDeque::new()), &mut facts, decisions);
        facts
    }

    /// Fires a pending timer, whether it is due or not.
    pub(crate) fn fire(&self, state: &mut ModelState, timer: u64, decisions: Decisions<'_>) -> StepFacts {
        let mut facts = StepFacts::default();
        self.settle(state, (Some(Event::TimerFired { timer }), VecDeque::new()), &mut facts, decisions);
        facts
    }

    /// Lets a question expire.
    pub(crate) fn expire(
        &self,
        state: &mut ModelState,
        invocation: u64,
        decisions: Decisions<'_>,
    ) -> StepFacts {
        let mut facts = StepFacts::default();
        let event = expire(state, invocation);
        self.settle(state, (Some(event), VecDeque::new()), &mut facts, decisions);
        facts
    }

    /// Delivers an event, then all that are due at this moment. The first one is apart, because few steps have another.
    fn settle(
        &self,
        state: &mut ModelState,
        (mut first, mut queue): (Option<Event>, VecDeque<Event>),
        facts: &mut StepFacts,
        decisions: Decisions<'_>,
    ) {
        let deliveries_max = InstanceLimits::default().zero_delay_steps_max;
        for _ in 0..deliveries_max {
            let next = first.take().or_else(|| queue.pop_front()).or_else(|| due(state));
            let Some(event) = next else { return };
            if let (true, Event::Named(named)) = (self.traced, &event) {
                facts.moments.push(StepFact::Event(Arc::clone(&named.name)));
            }
            facts.deliveries += 1;
            let now = self.now(state.now_ms, decisions);
            let step = match self.traced {
                true => rawko_core::step_traced(self.chart, &mut state.snapshot, event, now),
                false => rawko_core::step(self.chart, &mut state.snapshot, event, now),
            };
            match step {
                Ok(step) => self.take(state, step, facts, &mut queue),
                Err(error @ StepError::Runaway { .. }) => {
                    facts.runaway = Some(error.to_string());
                    return;
                }
                Err(_) => {}
            }
        }
        facts.runaway = Some(format!("more than {deliveries_max} deliveries at one moment"));
    }

    fn take(
        &self,
        state: &mut ModelState,
        step: rawko_core::Step,
        facts: &mut StepFacts,
        queue: &mut VecDeque<Event>,
    ) {
        facts.handled |= step.handled;
        for entry in step.trace.entries {
            match entry {
                TraceEntry::Considered { event: Some(event) } if is_raised(&event, facts) => {
                    facts.moments.push(StepFact::Event(event));
                }
                TraceEntry::Candidate { transition, outcome: CandidateOutcome::Taken } => {
                    facts.taken.push(transition.0);
                }
                TraceEntry::Candidate {
                    transition,
                    outcome: CandidateOutcome::Refused(CandidateRefusal::GuardFalse),
                } => facts.refused.push(transition.0),
                TraceEntry::Entered { node } => facts.moments.push(StepFact::Entered(node)),
                TraceEntry::Exited { node } => facts.moments.push(StepFact::Exited(node)),
                _ => {}
            }
        }
        let mut refused = Vec::new();
        for effect in step.effects {
            match Consequence::of(effect) {
                Consequence::Work { invoke, kind } => {
                    if kind == EffectKind::Person {
                        match due_ms_of(&invoke.input, state.now_ms) {
                            Ok(None) => {}
                            Ok(Some(due_ms)) => state.expiries.push((invoke.invocation, due_ms)),
                            Err(error) => refused.push(failed(invoke.invocation, &error)),
                        }
                    }
                    facts.moments.push(StepFact::Invoked {
                        id: invoke.id,
                        src: invoke.src,
                        input: invoke.input,
                        policy: invoke.policy,
                        invocation: invoke.invocation,
                    });
                }
                Consequence::Call { handler, .. } => facts.moments.push(StepFact::Called(handler)),
                Consequence::Stall { id, error } => facts.moments.push(StepFact::Stalled { id, error }),
                Consequence::OwnEvent(event) => {
                    // Unknown data may match the declaration.
                    if expr::has_unknown(&event.data) || own_event_refusal(self.chart, &event).is_none() {
                        queue.push_back(Event::Named(event));
                    }
                }
                Consequence::Message(_) if self.sees_undelivered => {
                    facts.has_many_sent |= state.sent == SENT_MAX;
                    state.sent = (state.sent + 1).min(SENT_MAX);
                }
                Consequence::Message(_)
                | Consequence::Nothing
                | Consequence::Stop { .. }
                | Consequence::Emission { .. }
                | Consequence::Completion { .. }
                | Consequence::Cancellation { .. } => {}
            }
        }
        self.note_left(state, facts);
        // The machine handles a request that cannot be made before messages.
        refused.into_iter().rev().for_each(|event| queue.push_front(event));
        let snapshot = &state.snapshot;
        state.expiries.retain(|(id, _)| snapshot.invocation(*id).is_some());
    }

    /// The instance machine forgets what a state spent that is not active after a step.
    fn note_left(&self, state: &ModelState, facts: &mut StepFacts) {
        if self.budgets.is_empty() {
            return;
        }
        let active = self.chart.active(state.snapshot.configuration());
        for (number, node) in (0u16..).zip(&self.budgets) {
            if !active.contains(*node) && !facts.left.contains(&number) {
                facts.left.push(number);
            }
        }
        facts.left.sort_unstable();
    }
}

/// The delivered event is recorded already.
fn is_raised(event: &Arc<str>, facts: &StepFacts) -> bool {
    facts.moments.last() != Some(&StepFact::Event(Arc::clone(event)))
}

/// Returns the next due event: a timer, or an expired request.
fn due(state: &mut ModelState) -> Option<Event> {
    if state.snapshot.status().is_over() {
        return None;
    }
    let timer = state.snapshot.next_timer().map(|timer| (timer.due_ms, DueItem::Timer(timer.id)));
    let expiries = state.expiries.iter().map(|(invocation, due_ms)| (*due_ms, DueItem::Request(*invocation)));
    let (due_ms, item) = first_due(timer, expiries, |(due_ms, _)| *due_ms)?;
    (due_ms <= state.now_ms).then(|| match item {
        DueItem::Timer(timer) => Event::TimerFired { timer },
        DueItem::Request(invocation) => expire(state, invocation),
    })
}

/// A due item, by its id.
enum DueItem {
    Timer(u64),
    Request(u64),
}

fn expire(state: &mut ModelState, invocation: u64) -> Event {
    state.expiries.retain(|(id, _)| *id != invocation);
    failed(invocation, &request_expired())
}

fn failed(invocation: u64, error: &ServiceError) -> Event {
    Event::InvokeFailed { invocation, error: error.to_value() }
}

/// Returns when a request expires. One that may have a deadline has some.
fn due_ms_of(input: &Value, now_ms: i64) -> Result<Option<i64>, ServiceError> {
    let expires = input.get("expires");
    let may_expire = expr::is_unknown(input)
        || expr::is_unknown(expires)
        || (expires.is_null() && expr::has_unknown(input.get(OTHER_FIELDS)));
    if may_expire { Ok(Some(now_ms.saturating_add(1))) } else { request_due_ms(input, now_ms) }
}
