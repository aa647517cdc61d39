//! `Fault`: an answer of one call that a simulation replaces, to show what a chart does when a service misbehaves.

use std::sync::Arc;

use rawko_core::{Event, Invoke, TimerPurpose, Value};

use crate::stimulus::amount_ms;
use crate::stubs::StubAnswer;
use crate::{Simulation, agenda::Answer};

/// How much later a late answer comes where no timeout of the chart ends the wait: a day.
const LATE_MS: i64 = 24 * 60 * 60 * 1000;

/// A fault at one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// [`CallPoint::number`] of the call.
    pub call: u64,
    pub kind: FaultKind,
}

/// The ways in which a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The call fails with category `failed`; later calls are answered as stubbed.
    Failure,
    /// The call and all later calls of the same invoke fail with category `failed`.
    Outage,
    /// No answer within the timeout of the invoke; without one, the service reports category `timeout`. A person does
    /// not answer before `expires` (category `expired`).
    Timeout,
    /// The driver stopped during the call and its outcome is unknown: category `interrupted`.
    Interruption,
    /// The answer arrives twice.
    Duplicate,
    /// The answer arrives after the timeout of the invoke; without one, a day later.
    Late,
}

impl FaultKind {
    pub const ALL: [FaultKind; 6] = [
        FaultKind::Failure,
        FaultKind::Outage,
        FaultKind::Timeout,
        FaultKind::Interruption,
        FaultKind::Duplicate,
        FaultKind::Late,
    ];

    /// The word for it in a scenario file.
    pub fn as_str(self) -> &'static str {
        match self {
            FaultKind::Failure => "fail",
            FaultKind::Outage => "outage",
            FaultKind::Timeout => "timeout",
            FaultKind::Interruption => "interrupt",
            FaultKind::Duplicate => "twice",
            FaultKind::Late => "late",
        }
    }
}

/// A call that a simulation made, and so a place for a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPoint {
    /// Counts over all instances, from 0.
    pub number: u64,
    /// [`Line::step`](crate::Line::step) of the line it belongs to.
    pub line: u64,
    /// 0 is the simulated instance.
    pub instance: usize,
    /// The id of the chart that calls.
    pub chart: Arc<str>,
    /// The id of the invoke.
    pub id: Arc<str>,
    pub src: Arc<str>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The faults that can happen to this call.
    pub kinds: &'static [FaultKind],
}

const STUBBED: &[FaultKind] = &FaultKind::ALL;
/// An answer that a stimulus gives comes when the stimulus says.
const UNSTUBBED: &[FaultKind] =
    &[FaultKind::Failure, FaultKind::Outage, FaultKind::Timeout, FaultKind::Interruption];
/// A child continues after a crash and answers with its own commit.
const CHILD: &[FaultKind] = &[FaultKind::Failure, FaultKind::Outage];
/// A question to a person waits on disk: it cannot fail or be interrupted.
const EXPIRING_PERSON: &[FaultKind] = &[FaultKind::Timeout];

impl Simulation {
    /// The calls so far, in order: every invoke of every instance.
    pub fn call_points(&self) -> &[CallPoint] {
        &self.calls
    }

    /// Notes a call and returns the fault that happens to it.
    pub(crate) fn note_call(
        &mut self,
        from: usize,
        invoke: &Invoke,
        answer: Option<&StubAnswer>,
    ) -> Option<FaultKind> {
        let child = self.resolve(&invoke.src).is_some();
        let kinds = match answer {
            Some(_) => STUBBED,
            None if child => CHILD,
            None if &*invoke.src == "human" && expires_ms(invoke).is_some() => EXPIRING_PERSON,
            None if &*invoke.src == "human" => &[],
            None => UNSTUBBED,
        };
        let point = CallPoint {
            number: self.calls.len() as u64,
            line: self.line.step,
            instance: from,
            chart: self.instances[from].chart.id().into(),
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

    fn hits(&self, fault: &Fault, point: &CallPoint) -> bool {
        if fault.call == point.number {
            return true;
        }
        let earlier = usize::try_from(fault.call).ok().and_then(|number| self.calls.get(number));
        let same = earlier.is_some_and(|earlier| earlier.chart == point.chart && earlier.id == point.id);
        fault.kind == FaultKind::Outage && same
    }

    /// Answers a call as the fault wants it, in place of its stub or child.
    pub(crate) fn answer_with_fault(
        &mut self,
        from: usize,
        invoke: &Invoke,
        answer: Option<StubAnswer>,
        kind: FaultKind,
    ) {
        let after_ms = answer.as_ref().map_or(0, |answer| answer.after_ms);
        let due_ms = self.due_in(after_ms);
        let timeout_ms = self.timeout_of(from, invoke.invocation);
        let stubbed = answer.map_or(Ok(Value::Null), |answer| answer.result);
        let failed = |category, why| Err(fault_error(invoke, category, why));
        match kind {
            FaultKind::Failure | FaultKind::Outage => {
                self.put_answer(due_ms, from, invoke, failed("failed", "failed"));
            }
            FaultKind::Interruption => {
                self.put_answer(due_ms, from, invoke, failed("interrupted", "was interrupted"));
            }
            FaultKind::Timeout => match (timeout_ms, expires_ms(invoke)) {
                (Some(_), _) => {}
                (None, Some(ms)) if &*invoke.src == "human" => {
                    let due_ms = self.due_in(ms);
                    self.put_answer(due_ms, from, invoke, failed("expired", "was not answered in time"));
                }
                (None, _) => self.put_answer(due_ms, from, invoke, failed("timeout", "timed out")),
            },
            FaultKind::Duplicate => {
                self.put_answer(due_ms, from, invoke, stubbed.clone());
                self.put_answer(due_ms, from, invoke, stubbed);
            }
            FaultKind::Late => {
                let late_ms = match timeout_ms {
                    Some(timeout_ms) => timeout_ms.max(due_ms).saturating_add(1),
                    None => due_ms.saturating_add(LATE_MS),
                };
                let answer = Answer { attempt: invoke.attempt, survives_stop: true };
                self.agenda.put_answer(late_ms, from, answer_event(invoke, stubbed), answer);
            }
        }
    }

    pub(crate) fn put_answer(
        &mut self,
        due_ms: i64,
        from: usize,
        invoke: &Invoke,
        result: Result<Value, Value>,
    ) {
        let answer = Answer { attempt: invoke.attempt, survives_stop: false };
        self.agenda.put_answer(due_ms, from, answer_event(invoke, result), answer);
    }

    pub(crate) fn due_in(&self, ms: u64) -> i64 {
        self.now_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))
    }

    fn timeout_of(&self, instance: usize, invocation: u64) -> Option<i64> {
        let mut timers = self.instances[instance].snapshot.timers().iter();
        let timer = timers.find(
            |timer| matches!(timer.purpose, TimerPurpose::InvokeTimeout { invocation: of } if of == invocation),
        )?;
        Some(timer.due_ms)
    }
}

fn answer_event(invoke: &Invoke, result: Result<Value, Value>) -> Event {
    let invocation = invoke.invocation;
    match result {
        Ok(data) => Event::InvokeDone { invocation, data },
        Err(error) => Event::InvokeFailed { invocation, error },
    }
}

fn fault_error(invoke: &Invoke, category: &str, why: &str) -> Value {
    let mut entries = vec![
        ("category", Value::str(category)),
        ("message", Value::from(format!("`{}` {why} (injected fault)", invoke.id))),
    ];
    // As the host reports it: another attempt cannot help.
    if category == "expired" {
        entries.push(("retryable", Value::Bool(false)));
    }
    Value::map(entries)
}

fn expires_ms(invoke: &Invoke) -> Option<u64> {
    match invoke.input.get("expires") {
        Value::Null => None,
        expires => amount_ms(expires).ok(),
    }
}
