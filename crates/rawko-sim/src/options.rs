//! `SimulationOptions`: what goes wrong in a simulation, and when. Plain data: the same options give the same run.

use crate::{Crash, InjectedFault};

/// Crashes and faults of a simulation; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulationOptions {
    pub crash: Option<Crash>,
    pub faults: Vec<InjectedFault>,
}
