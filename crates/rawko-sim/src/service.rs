//! `StubServices`: the world of a simulation. Calls are answered as stubbed, a call without a stub waits for a stimulus,
//! and one fault can be placed at each call.

use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use rawko_core::{Event, Invoke, NamedEvent, ServiceClass, ServiceName, Snapshot, TimerPurpose, Value};
use rawko_instance::{
    Category, EffectNote, EffectPlace, EffectResult, Input, Instance, ServiceError, ServiceRequest,
};
use rawko_store::{EffectKind, InstanceKey};

use crate::answers::StimulusAnswers;
use crate::crash::CrashOnce;
use crate::driver::{CallAnswer, CallRequest, Chaos, SimServices, SimSetup};
use crate::faults::{CallClass, LATE_MS};
use crate::simulation::ROOT;
use crate::stubs::StubAnswer;
use crate::{CallPoint, CommitPoint, InjectedFault, InjectedFaultKind, SimulationOptions, Stubs};

pub(crate) struct StubServices {
    setup: SimSetup,
    stubs: Stubs,
    options: SimulationOptions,
    answers: StimulusAnswers,
    /// The line that calls and commits belong to.
    pub(crate) line: u64,
    pub(crate) calls: Vec<CallPoint>,
    pub(crate) commits: Vec<CommitPoint>,
    counted: Rc<Cell<u64>>,
    /// Plans of attempts, made when their invocations were planned.
    planned: BTreeMap<StubAttempt, StubPlan>,
    /// When an attempt was first made: made again after a crash, it is answered when it would have been.
    began: BTreeMap<StubAttempt, i64>,
    /// The calls that were made: the id of the invoke, and the effect that an answer closes.
    places: BTreeMap<StubAttempt, (Arc<str>, EffectPlace)>,
    /// Calls of child charts whose answer was repeated.
    repeated: BTreeSet<StubAttempt>,
}

/// The instance, the invocation and the number of the attempt.
type StubAttempt = (InstanceKey, u64, u32);
type StubPlan = (Option<StubAnswer>, Option<InjectedFaultKind>);

impl StubServices {
    pub(crate) fn new(
        setup: SimSetup,
        stubs: Stubs,
        options: SimulationOptions,
        answers: StimulusAnswers,
    ) -> Self {
        Self {
            setup,
            stubs,
            options,
            answers,
            line: 0,
            calls: Vec::new(),
            commits: Vec::new(),
            counted: Rc::default(),
            planned: BTreeMap::new(),
            began: BTreeMap::new(),
            places: BTreeMap::new(),
            repeated: BTreeSet::new(),
        }
    }

    /// Returns the fault of the pending call that a stimulus answers, and the result to repeat.
    pub(crate) fn fault_of_answer(&self, root: &Snapshot, event: &NamedEvent) -> Option<AnsweredFault> {
        let done = event.name.strip_prefix("done.invoke.");
        let id = done.or_else(|| event.name.strip_prefix("error.invoke."))?;
        let mut calls = self.places.iter().rev().filter(|((instance, ..), _)| *instance == ROOT);
        let (attempt, (_, effect)) = calls.find(|((_, invocation, _), (called, _))| {
            **called == *id && root.invocation(*invocation).is_some()
        })?;
        let (answer, fault) = self.planned.get(attempt)?;
        match (answer, (*fault)?) {
            (None, InjectedFaultKind::Timeout | InjectedFaultKind::Late) => Some(AnsweredFault::Lost),
            (None, InjectedFaultKind::Duplicate) => {
                let data = event.data.clone();
                let result = if done.is_some() { Ok(data) } else { Err(data) };
                Some(AnsweredFault::Twice(*effect, stubbed(attempt.1, result)))
            }
            _ => None,
        }
    }

    pub(crate) fn chaos(&self) -> Box<dyn Chaos> {
        Box::new(CrashOnce { crash: self.options.crash, commits: Rc::clone(&self.counted) })
    }

    /// The commits that the driver has made since the last look.
    pub(crate) fn note_commits(&mut self) {
        for number in self.commits.len() as u64..self.counted.get() {
            self.commits.push(CommitPoint { number, line: self.line });
        }
    }

    fn is_child(&self, src: &str) -> bool {
        ServiceName::member_of(src, ServiceClass::Chart)
            .is_some_and(|reference| self.setup.resolve(reference).is_ok())
    }

    /// Notes a call and returns the fault that happens to it.
    fn note(&mut self, instance: &Instance, invoke: &Invoke, is_stubbed: bool) -> Option<InjectedFaultKind> {
        let is_person = ServiceName::of(&invoke.src).class == ServiceClass::Human;
        let class = match is_stubbed {
            true => CallClass::Stubbed,
            false if self.is_child(&invoke.src) => CallClass::Child,
            false if is_person => CallClass::Person { expires: !invoke.input.get("expires").is_null() },
            false if instance.key() == ROOT => CallClass::Unstubbed,
            false => CallClass::UnstubbedOfChild,
        };
        let kinds = class.kinds(has_timeout(instance.snapshot(), invoke.invocation));
        let point = CallPoint {
            number: self.calls.len() as u64,
            line: self.line,
            instance: usize::try_from(instance.key().0 - 1).unwrap_or(0),
            chart: instance.chart().id().into(),
            id: Arc::clone(&invoke.id),
            src: Arc::clone(&invoke.src),
            attempt: invoke.attempt,
            kinds,
        };
        let fault = self.options.faults.iter().find(|fault| self.hits(fault, &point));
        let kind = fault.map(|fault| fault.kind);
        self.calls.push(point);
        kind
    }

    fn hits(&self, fault: &InjectedFault, point: &CallPoint) -> bool {
        if fault.call == point.number {
            return true;
        }
        let earlier = usize::try_from(fault.call).ok().and_then(|number| self.calls.get(number));
        let same = earlier.is_some_and(|earlier| earlier.chart == point.chart && earlier.id == point.id);
        fault.kind == InjectedFaultKind::Outage && same
    }
}

/// The fault of a call that a stimulus answers.
pub(crate) enum AnsweredFault {
    /// The answer does not arrive in time.
    Lost,
    /// The answer arrives again.
    Twice(EffectPlace, EffectResult),
}

fn has_timeout(snapshot: &Snapshot, invocation: u64) -> bool {
    let is_its = |purpose: &TimerPurpose| matches!(purpose, TimerPurpose::InvokeTimeout { invocation: id } if *id == invocation);
    snapshot.timers().iter().any(|timer| is_its(&timer.purpose))
}

impl SimServices for StubServices {
    fn plan(&mut self, instance: &Instance, invoke: &Invoke) -> Option<EffectKind> {
        let attempt = (instance.key(), invoke.invocation, invoke.attempt);
        if !self.planned.contains_key(&attempt) {
            let answer = self.stubs.answer(&invoke.id, &invoke.src, &invoke.input);
            let fault = self.note(instance, invoke, answer.is_some());
            self.planned.insert(attempt, (answer, fault));
        }
        let (answer, fault) = &self.planned[&attempt];
        let is_chart = ServiceName::of(&invoke.src).class == ServiceClass::Chart;
        // What a child would answer is replaced by a service that fails, or is late. A child that answers twice runs.
        let fails = fault.is_some_and(|kind| kind != InjectedFaultKind::Duplicate);
        let is_unknown_chart = is_chart && !self.is_child(&invoke.src);
        // An agent spends its budget no matter which stub answers.
        let is_agent = ServiceName::of(&invoke.src).class == ServiceClass::Agent;
        let kind = if is_agent { EffectKind::Agent } else { EffectKind::Service };
        // A missing chart that a stimulus answers is a stub by hand. Otherwise it fails as on a host.
        let waits = is_unknown_chart && self.answers.may_answer(&invoke.id);
        (answer.is_some() || waits || (is_chart && fails)).then_some(kind)
    }

    fn call(&mut self, request: &CallRequest) -> Vec<CallAnswer> {
        let ServiceRequest::Invoke(invoke) = &request.request else {
            // Sends and handlers leave the simulation; the line lists them.
            return vec![CallAnswer::new(0, request.result(Ok(Value::Null)))];
        };
        let attempt = (request.effect.instance, invoke.invocation, invoke.attempt);
        let (answer, fault) = self.planned.get(&attempt).cloned().unwrap_or_default();
        self.places.insert(attempt, (Arc::clone(&invoke.id), EffectPlace::of(&request.effect)));
        let began_ms = *self.began.entry(attempt).or_insert(request.now_ms);
        let passed_ms = u64::try_from(request.now_ms - began_ms).unwrap_or(0);
        let mut answers =
            match fault {
                // The stimulus answers twice.
                Some(InjectedFaultKind::Duplicate) if answer.is_none() => Vec::new(),
                Some(kind) => faulty(request, invoke, answer, kind),
                None => Vec::from_iter(answer.map(|answer| {
                    CallAnswer::new(answer.after_ms, stubbed(invoke.invocation, answer.result))
                })),
            };
        for answer in &mut answers {
            answer.after_ms = answer.after_ms.saturating_sub(passed_ms);
        }
        answers
    }

    fn repeats(&mut self, to: InstanceKey, input: &Input) -> bool {
        let Input::Message { message, .. } = input else { return false };
        let (Event::InvokeDone { invocation, .. } | Event::InvokeFailed { invocation, .. }) = &message.event
        else {
            return false;
        };
        let of_call = |attempt: &StubAttempt| (attempt.0, attempt.1) == (to, *invocation);
        let is_twice = |plan: &StubPlan| plan.1 == Some(InjectedFaultKind::Duplicate);
        let mut calls = self.planned.iter().rev();
        let call =
            calls.find(|(attempt, plan)| of_call(attempt) && is_twice(plan)).map(|(attempt, _)| *attempt);
        call.is_some_and(|attempt| self.repeated.insert(attempt))
    }

    /// The outside world recognises a call by its key, so every call may be made again.
    fn may_repeat(&self, _name: &str) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// A stub's answer as the chart hears it. An error leaves the outcome open as one of a service with its category would.
fn stubbed(invocation: u64, result: Result<Value, Value>) -> EffectResult {
    match result {
        Ok(data) => EffectResult {
            event: Some(Event::InvokeDone { invocation, data }),
            note: EffectNote { decision: "answered".into(), reason: String::new(), outcome_open: false },
        },
        Err(error) => {
            let category = error.get("category").as_str().and_then(Category::claimed);
            let message = error.get("message").as_str().unwrap_or_default();
            let known = ServiceError::new(category.unwrap_or(Category::Failed), message);
            let reason = format!("{}: {message}", known.category.as_str());
            let outcome_open = known.outcome_open();
            EffectResult {
                event: Some(Event::InvokeFailed { invocation, error }),
                note: EffectNote { decision: "failed".into(), reason, outcome_open },
            }
        }
    }
}

/// The answers of a call as the fault wants them.
fn faulty(
    request: &CallRequest,
    invoke: &Invoke,
    answer: Option<StubAnswer>,
    kind: InjectedFaultKind,
) -> Vec<CallAnswer> {
    let after_ms = answer.as_ref().map_or(0, |answer| answer.after_ms);
    // The answer of a child or a stimulus that is late: its data does not matter, because it is not waited for.
    let result = answer.map_or(Ok(Value::Null), |answer| answer.result);
    let stubbed = stubbed(invoke.invocation, result);
    let failed = |category, why: &str| {
        let message = format!("`{}` {why} (injected fault)", invoke.id);
        vec![CallAnswer::new(after_ms, request.result(Err(ServiceError::new(category, message))))]
    };
    match kind {
        InjectedFaultKind::Failure | InjectedFaultKind::Outage => failed(Category::Failed, "failed"),
        InjectedFaultKind::Interruption => failed(Category::Interrupted, "was interrupted"),
        // With a timeout of its own the chart gives up by itself.
        InjectedFaultKind::Timeout if request.timeout_ms.is_some() => Vec::new(),
        InjectedFaultKind::Timeout => failed(Category::Timeout, "timed out"),
        InjectedFaultKind::Duplicate => {
            vec![CallAnswer::new(after_ms, stubbed.clone()), CallAnswer::new(after_ms, stubbed)]
        }
        InjectedFaultKind::Late => {
            let late = match request.timeout_ms {
                Some(due_ms) => u64::try_from(due_ms - request.now_ms).unwrap_or(0).max(after_ms) + 1,
                None => after_ms.saturating_add(LATE_MS),
            };
            vec![CallAnswer { after_ms: late, result: stubbed, survives_stop: true }]
        }
    }
}
