//! Runs instances durably: load, step, commit, execute effects, feed results back. Services do things in the world,
//! the gate decides whether they may.

mod activity;
mod builder;
mod cast;
mod clock;
mod deadlines;
mod dispatch;
mod effects;
mod engine;
mod error;
mod execute;
mod fork;
mod gate;
mod host;
mod instance;
mod instances;
mod ledger;
mod library;
mod load;
mod observer;
mod past;
pub mod planning;
mod policy;
mod progress;
mod reader;
mod recovery;
mod services;
mod settings;
mod warden;

pub use activity::{Activity, Settled};
pub use builder::HostBuilder;
pub use cast::{Cast, Casting, Part};
pub use clock::{Clock, SystemClock};
pub use engine::{Doing, Engine};
pub use error::HostError;
pub use execute::ExecutionResults;
pub use fork::Fork;
pub use gate::{Decision, Gate, PatternError, Question};
pub use host::{Host, PersonAnswer, Start};
pub use instance::Receipt;
pub use ledger::Spent;
pub use library::{Edition, Library};
pub use observer::{
    Asked, Called, Calling, Committed, Completed, Load, Observation, Observer, Outcome, Said, Taken, Used,
};
pub use progress::{Progress, Teller};
pub use reader::{Reader, Restored};
pub use services::{
    Answer, AttemptOutcome, Call, Category, Closure, Environment, OnRestart, Service, ServiceError, Services,
    closure, function,
};
pub use warden::{Noting, Warden, Watchtower};

pub use settings::{Flags, Section, Settings, SettingsReader, parse_size};

/// The guide's program, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
pub struct EmbeddingGuide;
