//! `Channel`: all that is known between two events, as plain data. What was said is not in here, only how much of it
//! each member has seen: messages are kept once, in the journal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::lifecycle::State;
use crate::names::{AgentId, TurnId};
use crate::options::{OptionLayers, TurnConfig};
use crate::{WaitUntil, event::OverrideTo};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    pub name: String,
    /// Everybody who is or was in it.
    pub members: BTreeMap<AgentId, Member>,
    /// The list that turns go around: everybody who is assigned, there or not.
    pub order: Vec<AgentId>,
    /// Who had the last turn; the next one is looked for behind it.
    pub last: Option<AgentId>,
    /// Who had a turn in this cycle, where priorities decide.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub taken: BTreeSet<AgentId>,
    /// Whom a person named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<AgentId>,
    pub turn: Option<Turn>,
    /// The turn just ended: what was on its way then still counts.
    pub ended: Option<EndedTurn>,
    pub turns: u64,
    /// The number of the last message.
    pub posted: u64,
    /// Messages of people that wait for the turn to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldMessage>,
    /// Turns since a person said anything.
    pub unattended_turns: u32,
    /// Since when it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_ms: Option<i64>,
    #[serde(default)]
    pub options: OptionLayers,
    /// Ids of people's last messages, and the numbers they got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<(String, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub state: State,
    /// Whether it belongs into the queue when it is there. Not again by itself after it was lost.
    pub assigned: bool,
    #[serde(default)]
    pub priority: i32,
    /// The last message it has seen in a turn of its own.
    pub seen: u64,
    /// It had a turn since the last word of anybody.
    #[serde(default)]
    pub asked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its connection is lost; until then it may come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_due_ms: Option<i64>,
    /// Ids of its last messages, and the numbers they got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<(String, u64)>,
}

/// One agent's tenure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub agent: AgentId,
    pub id: TurnId,
    pub granted_ms: i64,
    /// What it had seen before; it gets what came after.
    pub after: u64,
    /// How many messages it posted.
    pub posted: u64,
    pub phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Running {
        deadline_ms: i64,
        /// When its silence counts as the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silence_due_ms: Option<i64>,
    },
    Waiting(Waiting),
}

/// A turn that stands still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub what: WaitingFor,
    /// What was left of the turn.
    pub remaining_ms: i64,
    /// The last message when it began.
    pub since: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// What the agent asked to wait for.
    Asked { reason: String, until: WaitUntil },
    /// A person interrupted and has the floor.
    Person,
    /// The channel is paused.
    Pause,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedTurn {
    pub agent: AgentId,
    pub id: TurnId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldMessage {
    pub person: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub text: String,
    pub at_ms: i64,
}

impl Channel {
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
            paused_ms: None,
            options: OptionLayers::default(),
            recent: Vec::new(),
        }
    }

    /// What holds for the agent that has the turn, or for the channel.
    pub fn config(&self) -> TurnConfig {
        match &self.turn {
            Some(turn) => self.options.for_agent(&turn.agent),
            None => self.options.for_channel(),
        }
    }

    pub fn state_of(&self, agent: &AgentId) -> State {
        self.members.get(agent).map_or(State::Offline, |member| member.state)
    }

    /// Members in a state, in the order of the list.
    pub fn in_state(&self, state: State) -> impl Iterator<Item = &AgentId> {
        self.order.iter().filter(move |agent| self.state_of(agent) == state)
    }

    /// Whether anybody is connected.
    pub fn has_agents(&self) -> bool {
        self.members.values().any(|member| member.state != State::Offline)
    }
}

impl Waiting {
    /// Who holds the turn, for the agent that wants to go on.
    pub(crate) fn held_by(&self) -> Option<&'static str> {
        match self.what {
            WaitingFor::Asked { .. } => None,
            WaitingFor::Person => Some("a person has the floor"),
            WaitingFor::Pause => Some("the channel is paused"),
        }
    }
}

impl OverrideTo {
    pub fn as_str(self) -> &'static str {
        match self {
            OverrideTo::Active => "ACTIVE",
            OverrideTo::Queued => "QUEUED",
        }
    }
}
