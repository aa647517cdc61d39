//! The count of a family: a root and its descendants. Every instance that begins as a child holds a slot until it has
//! ended; workers reserve slots before the step that begins it, so that the limit holds whichever worker takes the step.

use serde::{Deserialize, Serialize};

/// The virtual object that counts a family; its key is the id of the root.
pub const FAMILY: &str = "RawkoFamily";

/// Handlers of [`FAMILY`].
pub mod handler {
    /// [`super::ReserveAsk`] → the number of granted slots.
    pub const RESERVE: &str = "reserve";
    /// The number of slots of instances that have ended. One way.
    pub const RELEASE: &str = "release";
}

/// Argument of [`handler::RESERVE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReserveAsk {
    /// Instances that are about to begin.
    pub wanted: u64,
    /// The most instances of the family at once, with the root.
    pub most: u32,
}
