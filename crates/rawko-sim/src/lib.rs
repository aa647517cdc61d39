//! Simulation in virtual time, without a host: the clock moves only when a stimulus advances it, services answer as
//! stubbed, and child charts run beside their parent. The same input always gives the same output.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rawko_chart::{Registry, SourceFile, load};
//! use rawko_core::{Value, World};
//! use rawko_sim::{Simulation, Stimulus, Stubs};
//!
//! let text = "{id: light, initial: off, states: {off: {on: {PRESSED: on}}, on: {after: {1h: off}}}}";
//! let chart = load(&SourceFile::new("light.yaml", text), &Registry::default()).chart.ok_or("not a chart")?;
//! let mut simulation =
//!     Simulation::new(Arc::new(chart), Vec::new(), Stubs::default(), World::default(), Value::Null);
//! assert_eq!(simulation.start().configuration, ["off"]);
//! assert_eq!(simulation.apply(&Stimulus::event("PRESSED", Value::Null)).configuration, ["on"]);
//! assert_eq!(simulation.apply(&Stimulus::advance(3_600_000)).configuration, ["off"]);
//! # Ok::<(), &str>(())
//! ```
//!
//! # Crashes and faults
//!
//! [`SimulationOptions`] make things go wrong, as data: one [`Crash`] at a commit, [`InjectedFault`]s at calls. A plain run lists
//! its [`CommitPoint`]s and [`CallPoint`]s; a run with a crash or fault at number *n* is the same up to *n*. So a caller can
//! try every crash and every fault, one per run, and compare the lines. `rawko-testing` does.
//!
//! Stubbed services are the outside world. They survive a crash, and answer when they would have.
#![warn(missing_docs)]

mod agents;
mod answers;
mod choices;
mod crash;
mod denials;
pub mod driver;
mod failed_step;
mod faults;
mod line;
mod options;
mod service;
mod shown_step;
mod simulation;
mod stimulus;
mod stubs;

pub use agents::{AgentsError, agents_from_json};
pub use choices::EventChoice;
pub use crash::{CommitPoint, Crash, CrashMoment};
pub use faults::{CallPoint, InjectedFault, InjectedFaultKind};
pub use line::{EmitLine, ErrorKind, InvokeLine, ReportLine, SendLine, TracedStep};
pub use options::SimulationOptions;
pub use rawko_instance::Gate;
pub use simulation::Simulation;
pub use stimulus::{Stimulus, StimulusError};
pub use stubs::{StubAnswer, StubError, Stubs};
