//! Loop detection and limits, as pure functions over a memory stored in the snapshot. Nothing here reads the clock or
//! runs anything: the caller reports calls and acts on the verdict.

mod canonical;
mod memory;
mod noise;
mod passes;
mod polling;
mod repeats;
mod settings;

use serde::{Deserialize, Serialize};

pub use canonical::{canonical_call, canonical_result};
pub use memory::{CallFingerprint, LoopMemory};
pub use passes::{Pass, PassHistory, PassKind, judge_passes};
pub use repeats::{
    CallObservation, check_before, expect_repeat, fingerprint_of, observe, observe_fingerprint,
};
pub use settings::{LoopSettings, NarrowingError};

/// The reaction to a loop, in order of severity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LoopVerdict {
    /// No loop.
    Fine,
    /// The agent gets a notice and continues.
    Notice {
        /// Notice for the agent.
        text: String,
    },
    /// The call is not run; the agent reads this text instead of a result.
    Block {
        /// Text for the agent, in place of a result.
        text: String,
    },
    /// The chart receives an event, which has its own transition.
    Doom {
        /// Detector that found the loop.
        detector: Detector,
        /// Description for the event and for people.
        text: String,
    },
}

/// The detector that found a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detector {
    /// The same calls with the same results, repeatedly.
    RepeatedCalls,
    /// Implement and validate alternate without progress.
    Oscillation,
    /// The build phase exceeded its time.
    TimeInBuild,
    /// The error count has not fallen over several passes.
    ErrorsNotFalling,
}

impl Detector {
    /// Returns the name used in events and journals.
    pub fn as_str(self) -> &'static str {
        match self {
            Detector::RepeatedCalls => "repeated_calls",
            Detector::Oscillation => "oscillation",
            Detector::TimeInBuild => "time_in_build",
            Detector::ErrorsNotFalling => "errors_not_falling",
        }
    }
}
