//! Runs instances durably: load, step, commit, execute effects, feed results back. Services do things in the world,
//! the gate decides whether they may.

mod gate;
mod services;
mod settings;

pub use gate::{Decision, Gate, PatternError, Question};
pub use services::{
    Answer, Call, Category, Closure, Environment, OnRestart, Service, ServiceError, Services, closure,
};
pub use settings::{Flags, Settings, parse_size};
