//! Doom detection and the limits around a loop, as pure functions over a memory that lives in the snapshot. Nothing
//! here knows the time or runs anything: who asks says what happened, and does what the verdict says.

mod canonical;
mod memory;
mod noise;
mod passes;
mod polling;
mod repeats;
mod settings;

use serde::{Deserialize, Serialize};

pub use canonical::{canonical_call, canonical_result};
pub use memory::LoopMemory;
pub use passes::{Pass, PassHistory, PassKind, judge_passes};
pub use repeats::{Observation, check_before, observe};
pub use settings::{LoopSettings, NarrowingError};

/// What is to be done about a loop. Worse ones come later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Verdict {
    Fine,
    /// The agent is told, and goes on.
    Notice {
        text: String,
    },
    /// The call is not run; the agent reads this instead of a result.
    Block {
        text: String,
    },
    /// The chart hears an event, with an edge of its own.
    Doom {
        detector: Detector,
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detector {
    /// The same calls with the same results, over and over.
    RepeatedCalls,
    /// Implement and validate take turns and nothing gets better.
    Oscillation,
    TimeInBuild,
    /// As many errors as some passes ago.
    ErrorsNotFalling,
}

impl Detector {
    pub fn as_str(self) -> &'static str {
        match self {
            Detector::RepeatedCalls => "repeated_calls",
            Detector::Oscillation => "oscillation",
            Detector::TimeInBuild => "time_in_build",
            Detector::ErrorsNotFalling => "errors_not_falling",
        }
    }
}
