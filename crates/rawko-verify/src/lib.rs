//! `rawko verify`: explores every reachable configuration of a chart on the real step function, and proves or refutes
//! properties. Pure: no IO, no clock; the caller decides when to stop.
//!
//! Data from outside is tried with one value for each case that the chart distinguishes (`data`), so that every step is
//! concrete and every violation replays in `rawko simulate`. Where that is not enough, the verdict is `unknown`.
//!
//! ```
//! use rawko_chart::{Registry, SourceFile};
//! use rawko_core::World;
//! use rawko_verify::{ExplorationLimits, Model, PropertyVerdict, STATES_MAX_DEFAULT, Storage, verify};
//!
//! let door = "{id: door, initial: open, states: {open: {on: {CLOSE: closed}}, closed: {type: final}}}";
//! let (model, _) = Model::load(&SourceFile::new("door.yaml", door), &Registry::default());
//! let limits = ExplorationLimits { states_max: STATES_MAX_DEFAULT, stop: &|_| false, storage: Storage::default() };
//! let report = verify(&[model.ok_or("no chart")?], &World::default(), &limits).ok_or("stopped")?;
//! assert_eq!(report.property("no_trap").map(|property| property.verdict), Some(PropertyVerdict::Holds));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod analysis;
mod authority;
mod builtin;
mod ceiling;
mod children;
mod classes;
mod clocks;
mod counters;
mod cover;
mod data;
mod enumerated;
mod exploration;
mod explore;
mod fallible;
mod graph;
mod inputs;
mod items;
mod liveness;
mod ltl;
mod machine;
mod manifest;
mod mode;
mod model;
mod numbers;
mod oracle;
mod outcomes;
mod parts;
mod progress;
mod reachable;
mod report;
mod separate;
mod settling;
mod shape;
mod spending;
mod state;
mod tools;
mod trace;
mod verdicts;
mod visited;
mod watch;
mod witness;

pub use authority::{ManifestChange, manifest_changes};
pub use builtin::BUILT_IN;
pub use cover::{Cover, cover};
pub use explore::ExplorationLimits;
pub use graph::Counterexample;
pub use manifest::manifest;
pub use model::Model;
pub use reachable::{ReachableStates, reachable};
pub use report::{PropertyReport, PropertyVerdict, VerifyReport};
pub use separate::verify;
pub use visited::Storage;

/// States that are explored by default.
pub const STATES_MAX_DEFAULT: usize = 200_000;
