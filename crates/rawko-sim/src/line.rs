//! `Line`: what one stimulus did, in the shape that `rawko simulate --json` prints. Other tools read it: the keys and
//! their order are a promise.

use std::sync::Arc;

use rawko_core::{Chart, Fault, Trace, Value, explain};
use rawko_instance::{FailureKind, InstanceError};
use serde::Serialize;

/// One line of a simulation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    pub step: u64,
    pub stimulus: Value,
    /// Active leaf states as dotted paths in document order.
    pub configuration: Vec<String>,
    pub context: Value,
    pub status: String,
    pub log: Vec<String>,
    pub emitted: Vec<Emitted>,
    pub sent: Vec<Sent>,
    pub invoked: Vec<Invoked>,
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

impl Line {
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

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Emitted {
    #[serde(rename = "type")]
    pub name: String,
    pub data: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sent {
    pub target: String,
    #[serde(rename = "type")]
    pub name: String,
    pub data: Value,
}

/// An invoke, or (without an id) a handler called by an action of type `invoke`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Invoked {
    pub id: Option<String>,
    pub src: String,
    pub input: Value,
}

/// A step of one of the simulation's instances; instance 0 is the simulated one.
#[derive(Clone, Debug)]
pub struct TracedStep {
    pub instance: usize,
    pub chart: Arc<Chart>,
    pub number: u64,
    pub handled: bool,
    pub trace: Trace,
}
