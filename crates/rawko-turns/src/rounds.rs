//! `Rounds`: the progress of a channel. A round is one turn of every agent in the queue. Talk is not progress: rounds
//! count until a person posts, or the host judges that the work got nearer to its goal.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::names::AgentId;

/// Rounds since the last progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rounds {
    /// Number of the last complete round.
    pub number: u64,
    /// Agents that had a turn in the current round.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub taken: BTreeSet<AgentId>,
    /// True if an agent posted in the current round.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spoken: bool,
    /// Complete rounds since the last progress.
    pub without: u32,
    /// True if no turn is granted until a person posts.
    pub stuck: bool,
    /// What the judge of the host knows of earlier rounds.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub memory: serde_json::Value,
}

/// The judgement of the host on the work of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundJudgement {
    /// Rounds since the last progress; 0 if this one made some.
    pub without: u32,
    /// True if the files and the failures are the same as some rounds ago.
    #[serde(default)]
    pub is_loop: bool,
    /// For the judgement of the next round.
    #[serde(default)]
    pub memory: serde_json::Value,
    /// Number of the judged round; `None` if no round has ended since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
}

impl Rounds {
    pub(crate) fn is_new(&self) -> bool {
        *self == Self::default()
    }

    /// Starts to count again, because a person takes part.
    pub(crate) fn attend(&mut self) {
        self.without = 0;
        self.stuck = false;
        self.spoken = false;
        self.taken.clear();
    }
}
