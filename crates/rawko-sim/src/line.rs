//! `ReportLine`: what one stimulus did, in the shape that `rawko simulate --json` prints. Other tools read it: the keys and
//! their order are a promise.

use std::sync::Arc;

use rawko_core::{Chart, Fault, MacrostepTrace, Value, explain};
use rawko_instance::{FailureKind, InstanceError};
use serde::Serialize;

/// One line of a simulation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReportLine {
    /// Number of the stimulus; 0 is the start.
    pub step: u64,
    /// The stimulus as written; null for the start.
    pub stimulus: Value,
    /// Active leaf states as dotted paths in document order.
    pub configuration: Vec<String>,
    /// Context after the stimulus.
    pub context: Value,
    /// Status after the stimulus: `active`, `done`, `error` or `cancelled`.
    pub status: String,
    /// Messages of `log` actions.
    pub log: Vec<String>,
    /// Events of `emit` actions.
    pub emitted: Vec<EmitLine>,
    /// Events of `send` actions.
    pub sent: Vec<SendLine>,
    /// Calls that started.
    pub invoked: Vec<InvokeLine>,
    /// Output of a completed instance; null before.
    pub output: Value,
    /// Items of an `each` that were stopped; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<String>,
    /// Only when a step failed: the configuration and context above are those before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the chart does not take the event, or not with this data: nothing happened. Not part of the JSON.
    #[serde(skip)]
    pub refused: Option<String>,
    /// Why the gate of the project refused calls, of every instance; not part of the JSON.
    #[serde(skip)]
    pub denied: Vec<String>,
    /// Expressions that failed, of every instance; not part of the JSON.
    #[serde(skip)]
    pub faults: Vec<Fault>,
    /// The kind of `error`.
    #[serde(skip)]
    pub error_kind: Option<ErrorKind>,
    /// The steps behind this line, for explaining it.
    #[serde(skip)]
    pub traces: Vec<TracedStep>,
}

/// Why a step of the simulated instance failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Microsteps, deliveries at one moment or timers without end.
    Runaway,
    /// No state handles the event, and the chart has `unhandled: error`.
    Unhandled,
    /// Any other error; the message has the details.
    Other,
}

impl ErrorKind {
    pub(crate) fn of_instance(error: &InstanceError) -> Self {
        FailureKind::of(error).into()
    }
}

impl From<FailureKind> for ErrorKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Runaway => ErrorKind::Runaway,
            FailureKind::Unhandled => ErrorKind::Unhandled,
            FailureKind::Other => ErrorKind::Other,
        }
    }
}

impl ReportLine {
    /// The line as `rawko simulate --json` prints it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Explains every step behind the line, one text per entry. Steps of children name their chart.
    pub fn story(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for step in &self.traces {
            let child = if step.instance > 0 { format!("{}: ", step.chart.id()) } else { String::new() };
            lines.extend(
                explain::story(&step.chart, &step.trace).into_iter().map(|line| format!("{child}{line}")),
            );
        }
        lines
    }

    pub(crate) fn fail(&mut self, kind: ErrorKind, message: String) {
        self.error = Some(message);
        self.error_kind = Some(kind);
    }
}

/// An event that the instance emitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EmitLine {
    /// Event name.
    #[serde(rename = "type")]
    pub name: String,
    /// Event data.
    pub data: Value,
}

/// An event that the instance sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SendLine {
    /// Target in the author's syntax.
    pub target: String,
    /// Event name.
    #[serde(rename = "type")]
    pub name: String,
    /// Event data.
    pub data: Value,
}

/// An invoke, or (without an id) a handler called by an action of type `invoke`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InvokeLine {
    /// Invoke id; `None` for a handler call.
    pub id: Option<String>,
    /// Evaluated `src`, or the handler's name.
    pub src: String,
    /// Evaluated input.
    pub input: Value,
}

/// A step of one of the simulation's instances; instance 0 is the simulated one.
#[derive(Clone, Debug)]
pub struct TracedStep {
    /// Number of the instance, in the order of their start.
    pub instance: usize,
    /// Chart that the ids of the trace belong to.
    pub chart: Arc<Chart>,
    /// Step number within the instance.
    pub number: u64,
    /// True if a transition took the event.
    pub handled: bool,
    /// Decisions of the engine, in order.
    pub trace: MacrostepTrace,
}
