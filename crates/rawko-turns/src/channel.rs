//! `Channel`: the complete state of a channel between two events, as plain data. Message texts are not stored here,
//! only the read position of each member: messages are stored once, in the journal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::lifecycle::MemberState;
use crate::names::{AgentId, TurnId};
use crate::options::{OptionLayers, TurnConfig};
use crate::rounds::Rounds;
use crate::{WaitUntil, event::OverrideTo};

/// The state of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Channel name, unique within a project.
    pub name: String,
    /// All current and former members.
    pub members: BTreeMap<AgentId, ChannelMember>,
    /// Turn order: all assigned agents, connected or not.
    pub order: Vec<AgentId>,
    /// Holder of the last turn; round-robin selection starts after it.
    pub last: Option<AgentId>,
    /// Agents that had a turn in this cycle. Used by priority order.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub taken: BTreeSet<AgentId>,
    /// Agent that a person named as next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<AgentId>,
    /// The current turn; `None` while the channel rests.
    pub turn: Option<Turn>,
    /// The turn that ended last. Messages still in flight at its end are accepted as late.
    pub ended: Option<EndedTurn>,
    /// Number of turns granted so far.
    pub turns: u64,
    /// Number of the last message.
    pub posted: u64,
    /// Messages from people that are held until the turn ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldMessage>,
    /// Turns since the last message from a person.
    pub unattended_turns: u32,
    /// Rounds without progress.
    #[serde(default, skip_serializing_if = "Rounds::is_new")]
    pub rounds: Rounds,
    /// Start of the current pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_ms: Option<i64>,
    /// Turn options, layer by layer.
    #[serde(default)]
    pub options: OptionLayers,
    /// Ids of people's most recent messages with their numbers, for deduplication.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<(String, u64)>,
}

/// An agent's place in a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelMember {
    /// State in the lifecycle chart.
    pub state: MemberState,
    /// True if the agent joins the queue when it connects. Cleared when the agent is lost.
    pub assigned: bool,
    /// Rank in priority order; higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// Last message delivered in one of its own turns.
    pub seen: u64,
    /// True if it had a turn since the last message.
    #[serde(default)]
    pub asked: bool,
    /// Id of the current or last connection; a reconnection with it resumes the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// End of the grace time after a lost connection. The agent may reconnect until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_due_ms: Option<i64>,
    /// Ids of its most recent messages with their numbers, for deduplication.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<(String, u64)>,
}

/// One turn of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Holder of the turn.
    pub agent: AgentId,
    /// Number of the turn within the channel.
    pub id: TurnId,
    /// Grant time in milliseconds since the Unix epoch.
    pub granted_ms: i64,
    /// Last message seen before the turn; the agent receives the later ones.
    pub after: u64,
    /// Number of messages posted in this turn.
    pub posted: u64,
    /// Running or suspended.
    pub phase: TurnPhase,
}

/// The phase of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    /// The agent works.
    Running {
        /// End of the turn's time, in milliseconds since the Unix epoch.
        deadline_ms: i64,
        /// Deadline after which silence ends the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silence_due_ms: Option<i64>,
    },
    /// The turn is suspended and its time stands still.
    Waiting(SuspendedTurn),
}

/// A suspended turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedTurn {
    /// Cause of the suspension.
    pub what: WaitingFor,
    /// Time left when the turn was suspended.
    pub remaining_ms: i64,
    /// Number of the last message at that time.
    pub since: u64,
    /// Limit of the wait, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ms: Option<i64>,
}

/// The cause of a suspension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// The agent asked to wait.
    Asked {
        /// Text given by the agent.
        reason: String,
        /// Condition that ends the wait.
        until: WaitUntil,
    },
    /// A person interrupted and has the floor.
    Person,
    /// The channel is paused.
    Pause,
}

/// A finished turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedTurn {
    /// Its holder.
    pub agent: AgentId,
    /// Its number within the channel.
    pub id: TurnId,
}

/// A message from a person, kept back while an agent has the turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldMessage {
    /// Name of the author.
    pub person: String,
    /// Deduplication id chosen by the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Message text.
    pub text: String,
    /// Time of receipt in milliseconds since the Unix epoch.
    pub at_ms: i64,
}

impl Channel {
    /// Creates a channel without members, with default options.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            members: BTreeMap::new(),
            order: Vec::new(),
            last: None,
            taken: BTreeSet::new(),
            next: None,
            turn: None,
            ended: None,
            turns: 0,
            posted: 0,
            held: Vec::new(),
            unattended_turns: 0,
            rounds: Rounds::default(),
            paused_ms: None,
            options: OptionLayers::default(),
            recent: Vec::new(),
        }
    }

    /// Returns the options of the agent that has the turn, or those of the channel.
    pub fn config(&self) -> TurnConfig {
        match &self.turn {
            Some(turn) => self.options.for_agent(&turn.agent),
            None => self.options.for_channel(),
        }
    }

    /// Returns the state of an agent; [`MemberState::Offline`] if it is not a member.
    pub fn state_of(&self, agent: &AgentId) -> MemberState {
        self.members.get(agent).map_or(MemberState::Offline, |member| member.state)
    }

    /// Returns the members in a state, in turn order.
    pub fn in_state(&self, state: MemberState) -> impl Iterator<Item = &AgentId> {
        self.order.iter().filter(move |agent| self.state_of(agent) == state)
    }

    /// Returns true if any agent is connected.
    pub fn has_agents(&self) -> bool {
        self.members.values().any(|member| member.state != MemberState::Offline)
    }
}

impl SuspendedTurn {
    /// Returns the reason why the agent cannot resume its turn itself.
    pub(crate) fn held_by(&self) -> Option<&'static str> {
        match self.what {
            WaitingFor::Asked { .. } => None,
            WaitingFor::Person => Some("interrupted by a person"),
            WaitingFor::Pause => Some("the channel is paused"),
        }
    }
}

impl OverrideTo {
    /// Returns the name used in logs and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            OverrideTo::Active => "ACTIVE",
            OverrideTo::Queued => "QUEUED",
        }
    }
}
