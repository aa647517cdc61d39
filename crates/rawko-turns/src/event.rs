//! `ChannelEvent`: the inputs of a channel, a closed set. The current time is a separate argument of `reduce`.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, TurnId};
use crate::options::TurnOptions;
use crate::rounds::RoundJudgement;

/// An input of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ChannelEvent {
    /// An agent connected. `resumed`: with its previous session, so it keeps its state.
    AgentStarted {
        /// The agent.
        agent: AgentId,
        /// Id of the connection.
        session: String,
        /// True if the agent reconnected with its previous session.
        resumed: bool,
    },
    /// The agent disconnected properly.
    AgentStopped {
        /// The agent.
        agent: AgentId,
    },
    /// The connection broke. The agent may reconnect within the grace time.
    ConnectionLost {
        /// The agent.
        agent: AgentId,
    },
    /// The agent is lost for certain.
    AgentLost {
        /// The agent.
        agent: AgentId,
        /// Evidence of the loss.
        loss: Loss,
    },

    /// A person assigned the agent to the channel. `session`: its current connection, if any.
    Assigned {
        /// The agent.
        agent: AgentId,
        /// Name of the person.
        by: String,
        /// Id of its current connection, if any.
        session: Option<String>,
    },
    /// A person removed the agent from the channel.
    Removed {
        /// The agent.
        agent: AgentId,
        /// Name of the person.
        by: String,
    },

    /// An agent sent a message. Without a turn id it belongs to the current turn, or to the turn that just ended.
    AgentSpoke {
        /// The agent.
        agent: AgentId,
        /// Turn that the message belongs to.
        turn: Option<TurnId>,
        /// Deduplication id chosen by the sender.
        id: Option<String>,
        /// Message text; may contain an end marker such as `TURN_COMPLETE`.
        text: String,
    },
    /// A person sent a message.
    PersonSpoke {
        /// Name of the person.
        person: String,
        /// Deduplication id chosen by the sender.
        id: Option<String>,
        /// Message text.
        text: String,
    },
    /// An agent ended its turn.
    TurnCompleted {
        /// The agent.
        agent: AgentId,
        /// Turn that it means; the current one if omitted.
        turn: Option<TurnId>,
    },
    /// An agent suspends its turn.
    WaitRequested {
        /// The agent.
        agent: AgentId,
        /// Turn that it means; the current one if omitted.
        turn: Option<TurnId>,
        /// Text for people.
        reason: String,
        /// Condition that ends the wait.
        until: WaitUntil,
        /// Requested limit of the wait. The limit of the channel applies if it is shorter.
        timeout_ms: Option<u64>,
    },
    /// An agent ends its own wait.
    WaitResolved {
        /// The agent.
        agent: AgentId,
        /// Turn that it means; the current one if omitted.
        turn: Option<TurnId>,
    },

    /// A person resolves the wait of an agent.
    Overridden {
        /// Name of the person.
        by: String,
        /// State that the agent moves to.
        to: OverrideTo,
    },
    /// A person ends the current turn.
    Skipped {
        /// Name of the person.
        by: String,
    },
    /// A person names the agent that gets the next turn.
    NextNamed {
        /// The agent.
        agent: AgentId,
        /// Name of the person.
        by: String,
    },
    /// A person pauses the channel: no turn is granted and the current one stands still.
    Paused {
        /// Name of the person.
        by: String,
    },
    /// A person resumes the channel.
    Resumed {
        /// Name of the person.
        by: String,
    },
    /// A person reorders the list. Agents that are not named keep their order, after the named ones.
    OrderSet {
        /// Agents that come first, in this order.
        agents: Vec<AgentId>,
    },
    /// A person sets the rank of an agent in priority order.
    PrioritySet {
        /// The agent.
        agent: AgentId,
        /// Rank; higher goes first.
        priority: i32,
    },
    /// A person changes turn options.
    OptionsSet {
        /// Layer to replace.
        scope: OptionScope,
        /// New content of the layer.
        options: TurnOptions,
    },

    /// The host has judged the work of a round.
    RoundJudged {
        /// Verdict on the round.
        judgement: RoundJudgement,
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

/// The state that a person moves a waiting agent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverrideTo {
    /// The turn continues.
    Active,
    /// The turn ends and the agent queues for the next one.
    Queued,
}

/// Layer that options belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionScope {
    /// All channels of the project.
    Project,
    /// One agent in all channels.
    ProjectAgent(AgentId),
    /// This channel.
    Channel,
    /// One agent in this channel.
    Agent(AgentId),
}

impl Loss {
    /// Returns the evidence as a clause, such as `its process ended`.
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
