//! `SimulationOptions`: what goes wrong in a simulation, and when. Plain data: the same options give the same run.

use crate::{Crash, InjectedFault};

/// Crashes and faults of a simulation; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulationOptions {
    /// The one crash of the run.
    pub crash: Option<Crash>,
    /// Replaced answers; at most one per call applies.
    pub faults: Vec<InjectedFault>,
}
