//! Runs instances durably: load, step, commit, execute effects, feed results back. Services act on the outside world;
//! the gate decides whether they may.
//!
//! Programs that embed rawko use the façade, the crate `rawko`; this crate is for a store, a gate or a driver of their own.
#![doc = include_str!("../docs/host.md")]
#![warn(missing_docs)]

mod activity;
mod builder;
mod clock;
mod contents;
mod driver;
mod engine;
mod error;
mod execute;
mod fork;
mod host;
mod import;
mod library;
mod migrate;
mod observer;
mod partials;
mod past_usage;
mod progress;
mod project;
mod reader;
mod recent;
mod row_states;
mod runtime_gate;
mod services;
mod settings;

pub use activity::{Activity, SettleReason};
pub use builder::HostBuilder;
pub use clock::{Clock, SteadyClock, SystemClock};
pub use contents::{ContentReader, ContentSource, ReadingBlob};
pub use driver::load::made_up_id;
pub use driver::{DrainWait, PreparedCall};
pub use engine::{Engine, HostFuture};
pub use error::HostError;
pub use execute::ExecutionResults;
pub use fork::{Fork, past_step};
pub use host::{Host, StartOptions};
pub use library::{DeferredEdition, Edition, Library};
pub use migrate::{MigrationOrder, MigrationReport, MigrationVerdict, Migrator, way_back};
pub use observer::{
    CallOutcome, ClosedRequest, CommittedSteps, CompletionUsage, FinishedCall, HostEvent, Load, ObservedCall,
    ObservedCompletion, Observer, StepTaken, TracedMessages, committed, not_called,
};
pub use partials::Partials;
pub use progress::{CallProgress, ProgressSender};
pub use project::HostProject;
pub use rawko_instance::{
    AgentBinding, AgentRequest, AgentResolver, Gate, GateDecision, GateQuestion, InstanceLimits,
    MigrationRecord, PatternError, PersonAnswer, Receipt, Spent, image,
};
pub use reader::{RestoredSnapshot, SnapshotReader};
pub use row_states::RowState;
pub use runtime_gate::{AuditFuture, AuditHost, RuntimeGate};
pub use services::{
    AttemptOutcome, Category, Closure, EndHook, Environment, OnRestart, ProcessHandle, ProcessOffer,
    ProgramRegistration, RegisterRefusal, RemoteMessage, RemoteServices, Service, ServiceCall, ServiceError,
    ServiceFuture, Services, ToolService, closure, function,
};

pub use settings::{Flags, Section, Settings, SettingsReader, parse_size};
