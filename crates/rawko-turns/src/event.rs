//! `Event`: the inputs of a channel, a closed set. The current time is a separate argument of `reduce`.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, TurnId};
use crate::options::TurnOptions;
use crate::rounds::Judgement;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// An agent connected. `resumed`: with its previous session, so it keeps its state.
    AgentStarted {
        agent: AgentId,
        session: String,
        resumed: bool,
    },
    /// The agent disconnected properly.
    AgentStopped {
        agent: AgentId,
    },
    /// The connection broke. The agent may reconnect within the grace time.
    ConnectionLost {
        agent: AgentId,
    },
    /// The agent is lost for certain.
    AgentLost {
        agent: AgentId,
        loss: Loss,
    },

    /// A person assigned the agent to the channel. `session`: its current connection, if any.
    Assigned {
        agent: AgentId,
        by: String,
        session: Option<String>,
    },
    Removed {
        agent: AgentId,
        by: String,
    },

    /// An agent sent a message. Without a turn id it belongs to the current turn, or to the turn that just ended.
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
        /// Requested limit of the wait. The limit of the channel applies if it is shorter.
        timeout_ms: Option<u64>,
    },
    WaitResolved {
        agent: AgentId,
        turn: Option<TurnId>,
    },

    /// A person resolves the wait of an agent.
    Overridden {
        by: String,
        to: OverrideTo,
    },
    /// A person ends the current turn.
    Skipped {
        by: String,
    },
    /// A person names the agent that gets the next turn.
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
    /// A person reorders the list. Agents that are not named keep their order, after the named ones.
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

    /// The host has judged the work of a round.
    RoundJudged {
        judgement: Judgement,
    },
    /// A deadline may have passed.
    TimePassed,
    /// The host restarted: all connections are gone, and time has passed.
    Recovered,
}

/// Reason why an agent was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The process exited.
    Exited,
    /// Heartbeats were missing.
    HeartbeatsMissed,
    /// The agent did not reconnect within the grace time.
    DidNotReturn,
    /// The agent registered without its session: its previous state is discarded.
    StartedAnew,
    /// The server disconnected it: too slow, too fast, or a protocol violation.
    CutOff,
}

/// Condition that ends a wait. The agent can always end it itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitUntil {
    /// Only a request by the agent.
    #[default]
    Resumed,
    /// The next message from another author.
    Message,
    /// The next message from a person.
    Person,
    /// A point in time, in milliseconds since 1970.
    Time(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverrideTo {
    Active,
    Queued,
}

/// Layer that options belong to.
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
