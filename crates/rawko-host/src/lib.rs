//! Runs instances durably: load, step, commit, execute effects, feed results back. Services act on the outside world;
//! the gate decides whether they may.
//!
//! Programs that embed rawko use the façade, the crate `rawko`; this crate is for a store, a gate or a driver of their own.
#![doc = include_str!("../docs/host.md")]

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
mod past;
mod progress;
mod project;
mod reader;
mod row_states;
mod services;
mod settings;
mod warden;

pub use activity::{Activity, Settled};
pub use builder::HostBuilder;
pub use clock::{Clock, SteadyClock, SystemClock};
pub use contents::{ContentSource, Contents, ReadingBlob};
pub use driver::load::made_up_id;
pub use driver::{Running, Wait};
pub use engine::{Doing, Engine};
pub use error::HostError;
pub use execute::ExecutionResults;
pub use fork::{Fork, past_step};
pub use host::{Host, Start};
pub use library::{Edition, Library};
pub use migrate::{MigrationOrder, MigrationReport, MigrationVerdict, Migrator, way_back};
pub use observer::{
    Asked, Called, Calling, Committed, Completed, Load, Observation, Observer, Outcome, Said, Taken, Used,
    committed, not_called,
};
pub use progress::{Progress, Teller};
pub use project::Project;
pub use rawko_instance::{
    AgentBinding, AgentRequest, AgentResolver, Decision, Gate, Limits, MigrationRecord, PatternError,
    PersonAnswer, Question, Receipt, Spent, image,
};
pub use reader::{Reader, Restored};
pub use row_states::RowState;
pub use services::{
    Answer, AttemptOutcome, Call, Category, Closure, Environment, OnRestart, Service, ServiceError, Services,
    closure, function,
};
pub use warden::{Noting, Warden, Watchtower};

pub use settings::{Flags, Section, Settings, SettingsReader, parse_size};
