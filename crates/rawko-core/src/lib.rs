//! The pure core of rawko: compiled charts, expressions, snapshots, and the function that takes a step. No IO, no
//! clock, no async: time, settings and agents come in with the event, effects go out as data.
//!
//! ```
//! use rawko_core::{Schema, ServiceClass, ServiceName, Value};
//!
//! let name = ServiceName::of("agent:reviewer");
//! assert_eq!((name.class, name.member), (ServiceClass::Agent, "reviewer"));
//!
//! let source = serde_json::json!({"type": "object", "required": ["amount"]});
//! let (schema, problems) = Schema::compile(&Value::from_json(source));
//! assert!(problems.is_empty());
//! assert_eq!(schema.violations(&Value::from_json(serde_json::json!({}))).len(), 1);
//! ```
#![warn(missing_docs)]

// The random charts of `tests/` are used by unit tests too.
#[cfg(test)]
extern crate self as rawko_core;
#[cfg(test)]
#[path = "../tests/random/mod.rs"]
mod random;

mod blueprint;
mod chart;
mod compile;
mod configuration;
mod describe;
pub mod duration;
mod effect;
mod entry_set;
mod evaluate;
mod event;
mod events;
pub mod explain;
pub mod expr;
mod fault;
mod ids;
mod labels;
mod migration;
mod plain;
mod rules;
mod schema;
mod service;
mod snapshot;
mod step;
mod tables;
mod typed;
mod typed_write;
mod value;
mod world;

pub use blueprint::{
    ActionBlueprint, ActionKind, Backoff, Blueprint, ContextKey, DataTemplate, Delay, Docs, EachSpec,
    Foreach, Guard, HistoryVariant, InitialSpec, InvokeSpec, JoinRule, NodeKind, NodeSpec, Retry,
    TransitionSpec, TransitionTargets, TransitionTrigger, Unhandled,
};
pub use chart::{Chart, NodeInfo, TransitionInfo};
pub use compile::{CompileError, NODES_MAX};
pub use configuration::{Active, Configuration};
pub use effect::{Effect, Invoke, Send, SendTarget};
pub use event::{Event, EventItem, NamedEvent};
pub use events::{EventRefusal, EventSpec, is_fact};
pub use fault::{Fault, FaultKind};
pub use ids::{InvokeId, LabelId, NodeId, Slot, TransitionId};
pub use migration::{Migration, OldTimer, StateBranch, StateImage};
pub use schema::{FieldLookup, Schema, SchemaProblem, SchemaProblemKind, Violation, schema_of};
pub use service::{OnRestart, ServiceClass, ServiceName, ServiceSpec, ServiceSpecs};
pub use snapshot::{
    FailedWork, FanOut, Invocation, ItemAttempt, ItemCounts, ItemState, PendingTimer, Snapshot,
    SnapshotError, SnapshotParts, Status, TimerPurpose, UnhandledFailure,
};
pub use step::{
    CandidateOutcome, CandidateRefusal, MacrostepTrace, Retrying, Step, StepError, TraceEntry,
    split_item_name, start, start_traced, start_work, step, step_traced,
};
pub use typed::TypeMismatch;
pub use value::{Map, Value};
pub use world::{Admission, AgentEntry, FanOutRequest, GuardOracle, InstanceFacts, Now, World};
