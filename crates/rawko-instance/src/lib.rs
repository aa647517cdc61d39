//! One instance of a chart as a pure machine, and the guide for authors of drivers.
#![doc = include_str!("docs/driver.md")]
#![warn(missing_docs)]

pub mod agents;
mod consequences;
pub mod content;
mod effects;
mod environment;
mod error;
mod failure;
mod family;
mod fan_out;
mod fork;
mod form;
mod gate;
mod input;
mod instance;
mod integrity;
mod ledger;
mod limits;
mod long_lists;
mod message;
mod migration;
mod open;
mod person;
mod policy;
mod receipt;
pub mod records;
mod result;
mod start;
mod status;
mod transaction;

pub use agents::{AgentBinding, AgentRequest, AgentResolver};
pub use consequences::{Consequence, first_due, own_event_refusal, request_due_ms, request_expired};
pub use effects::child::child_id;
pub use effects::send::undelivered;
pub use environment::MachineEnvironment;
pub use error::{InstanceError, StoreError, reasons};
pub use failure::{AttemptOutcome, Category, ServiceError};
pub use family::{FamilyCounts, FamilyLimit, FamilySize, Newcomer};
pub use fork::{ForkSource, with_budget};
pub use form::form_schema;
pub use gate::{
    CHECKLIST_FIELDS, CHECKLIST_KINDS, Checklist, Expiry, Gate, GateDecision, GateQuestion, PatternError,
    SETTINGS_FILE, is_counted, parse_day,
};
pub use input::{Input, InputOutcome};
pub use instance::{Instance, Pace, SavedInstance};
pub use ledger::{Ledger, Spent};
pub use limits::InstanceLimits;
pub use message::{MessageChain, StoredMessage};
pub use migration::{
    ChartName, MigratedInstance, MigrationMove, MigrationRecord, MigrationRequest, image, refused_events,
};
pub use open::OpenEffects;
pub use person::PersonAnswer;
pub use policy::agent_of;
pub use rawko_core::OnRestart;
pub use receipt::Receipt;
pub use result::{EffectNote, EffectResult};
pub use start::{NewRoot, start};
pub use status::{InstanceStatus, is_work, outcome_of};
pub use transaction::{
    DriverAction, EffectPlace, FailureKind, ServiceRequest, StartedChild, StepFailure, StepTrace, Transaction,
};
