//! `Line`: what one stimulus did, in the shape that `rawko simulate --json` prints. Other tools read it: the keys and
//! their order are a promise.

use std::sync::Arc;

use serde::Serialize;

use crate::chart::Chart;
use crate::fault::Fault;
use crate::step::Trace;
use crate::value::Value;

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
    /// Only when a step failed: the configuration and context above are those before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Expressions that failed, of every instance; not part of the JSON.
    #[serde(skip)]
    pub faults: Vec<Fault>,
    /// The steps behind this line, for explaining it.
    #[serde(skip)]
    pub traces: Vec<TracedStep>,
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
