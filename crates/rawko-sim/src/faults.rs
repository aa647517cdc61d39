//! `InjectedFault`: an answer of one call that a simulation replaces, to show what a chart does when a service misbehaves.

use std::sync::Arc;

/// Delay of a late answer if no timeout of the chart ends the wait: a day.
pub(crate) const LATE_MS: u64 = 24 * 60 * 60 * 1000;

/// A fault at one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFault {
    /// [`CallPoint::number`] of the call.
    pub call: u64,
    /// Replacement of the answer.
    pub kind: InjectedFaultKind,
}

/// The ways in which a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InjectedFaultKind {
    /// The call fails with category `failed`; later calls are answered as stubbed.
    Failure,
    /// The call and all later calls of the same invoke fail with category `failed`.
    Outage,
    /// No answer within the timeout of the invoke, also by a child or a stimulus; without one, the service reports
    /// category `timeout`. A person does not answer before `expires` (category `expired`).
    Timeout,
    /// The driver stopped during the call and its outcome is unknown: category `interrupted`.
    Interruption,
    /// The answer arrives twice.
    Duplicate,
    /// The answer arrives after the timeout of the invoke; without one, a day later.
    Late,
}

impl InjectedFaultKind {
    /// All variants, for fault runs that try each.
    pub const ALL: [InjectedFaultKind; 6] = [
        InjectedFaultKind::Failure,
        InjectedFaultKind::Outage,
        InjectedFaultKind::Timeout,
        InjectedFaultKind::Interruption,
        InjectedFaultKind::Duplicate,
        InjectedFaultKind::Late,
    ];

    /// The word for it in a scenario file.
    pub fn as_str(self) -> &'static str {
        match self {
            InjectedFaultKind::Failure => "fail",
            InjectedFaultKind::Outage => "outage",
            InjectedFaultKind::Timeout => "timeout",
            InjectedFaultKind::Interruption => "interrupt",
            InjectedFaultKind::Duplicate => "twice",
            InjectedFaultKind::Late => "late",
        }
    }
}

/// A call that a simulation made, and so a place for a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPoint {
    /// Counts over all instances, from 0.
    pub number: u64,
    /// [`Line::step`](crate::ReportLine::step) of the line it belongs to.
    pub line: u64,
    /// 0 is the simulated instance.
    pub instance: usize,
    /// The id of the chart that calls.
    pub chart: Arc<str>,
    /// The id of the invoke.
    pub id: Arc<str>,
    /// Evaluated `src` of the invoke.
    pub src: Arc<str>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The faults that can happen to this call.
    pub kinds: &'static [InjectedFaultKind],
}

impl CallClass {
    /// Returns the faults that can happen to a call.
    pub(crate) fn kinds(self, has_timeout: bool) -> &'static [InjectedFaultKind] {
        use InjectedFaultKind::{Duplicate, Failure, Interruption, Late, Outage, Timeout};
        match (self, has_timeout) {
            (CallClass::Stubbed, _) => &InjectedFaultKind::ALL,
            // Without a timeout, the stimulus alone decides when the answer arrives.
            (CallClass::Unstubbed, true) => &InjectedFaultKind::ALL,
            (CallClass::Unstubbed, false) => &[Failure, Outage, Timeout, Interruption, Duplicate],
            // No stimulus reaches an invoke of a child.
            (CallClass::UnstubbedOfChild, _) => &[Failure, Outage, Timeout, Interruption],
            // A child continues after a crash, so it is never interrupted; without a timeout its parent waits for it.
            (CallClass::Child, true) => &[Failure, Outage, Timeout, Duplicate, Late],
            (CallClass::Child, false) => &[Failure, Outage, Duplicate],
            // A question waits on disk: it cannot fail or be interrupted.
            (CallClass::Person { expires: true }, _) => &[Timeout],
            (CallClass::Person { expires: false }, _) => &[],
        }
    }
}

/// The answerer of a call in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallClass {
    Stubbed,
    /// A stimulus.
    Unstubbed,
    UnstubbedOfChild,
    /// A child chart.
    Child,
    Person {
        expires: bool,
    },
}
