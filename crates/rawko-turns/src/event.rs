//! `Event`: what can happen to a channel. A closed set; the time comes beside it.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, TurnId};
use crate::options::TurnOptions;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// An agent connected. `resumed`: with the session it had, so that it goes on where it was.
    AgentStarted {
        agent: AgentId,
        session: String,
        resumed: bool,
    },
    /// It said goodbye.
    AgentStopped {
        agent: AgentId,
    },
    /// Its connection broke. It may come back within the grace time.
    ConnectionLost {
        agent: AgentId,
    },
    /// It is gone for certain.
    AgentLost {
        agent: AgentId,
        loss: Loss,
    },

    /// A person put it into the channel. `session`: the one it is connected with, if it is.
    Assigned {
        agent: AgentId,
        by: String,
        session: Option<String>,
    },
    Removed {
        agent: AgentId,
        by: String,
    },

    /// An agent said something. Without a turn it means the one it has, or the one it just had.
    AgentSpoke {
        agent: AgentId,
        turn: Option<TurnId>,
        id: Option<String>,
        text: String,
    },
    PersonSpoke {
        person: String,
        id: Option<String>,
        text: String,
    },
    TurnCompleted {
        agent: AgentId,
        turn: Option<TurnId>,
    },
    WaitRequested {
        agent: AgentId,
        turn: Option<TurnId>,
        reason: String,
        until: WaitUntil,
        /// How long at most; the channel's own limit counts if it is shorter.
        timeout_ms: Option<u64>,
    },
    WaitResolved {
        agent: AgentId,
        turn: Option<TurnId>,
    },

    /// A person decides about the agent that waits.
    Overridden {
        by: String,
        to: OverrideTo,
    },
    /// A person ends the turn that runs.
    Skipped {
        by: String,
    },
    /// A person says who is next.
    NextNamed {
        agent: AgentId,
        by: String,
    },
    Paused {
        by: String,
    },
    Resumed {
        by: String,
    },
    /// A person put the list in order; who is not named keeps its place behind them.
    OrderSet {
        agents: Vec<AgentId>,
    },
    PrioritySet {
        agent: AgentId,
        priority: i32,
    },
    OptionsSet {
        scope: Scope,
        options: TurnOptions,
    },

    /// Something may be due.
    TimePassed,
    /// The host started again: every connection is gone, and time has passed.
    Recovered,
}

/// How an agent was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Its process ended.
    Exited,
    /// It did not send its heartbeats.
    HeartbeatsMissed,
    /// It did not come back within the grace time.
    DidNotReturn,
    /// It registered anew, without its session: whatever it was doing is forgotten.
    StartedAnew,
    /// It was cut off: too slow, too fast, or not speaking the protocol.
    CutOff,
}

/// What brings a waiting agent back to its turn. Saying so itself always does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitUntil {
    /// Only the agent itself.
    #[default]
    Resumed,
    /// The next message of anybody else.
    Message,
    /// The next message of a person.
    Person,
    /// A moment, in milliseconds since 1970.
    Time(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverrideTo {
    Active,
    Queued,
}

/// Whom options are for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Project,
    ProjectAgent(AgentId),
    Channel,
    Agent(AgentId),
}

impl Loss {
    pub fn words(self) -> &'static str {
        match self {
            Loss::Exited => "its process ended",
            Loss::HeartbeatsMissed => "three heartbeats missed",
            Loss::DidNotReturn => "it did not come back in time",
            Loss::StartedAnew => "it started anew",
            Loss::CutOff => "it was cut off",
        }
    }
}
