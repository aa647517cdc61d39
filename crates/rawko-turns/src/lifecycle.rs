//! The five states of a membership and the moves between them, as declared in `charts/agent_lifecycle.yaml`, and the
//! log line of each move.

use serde::{Deserialize, Serialize};

/// State of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Not connected.
    #[default]
    Offline,
    /// Connected, not in the queue.
    Idle,
    /// Waiting for a turn.
    Queued,
    /// Has the turn.
    Active,
    /// Has the turn and suspended it.
    Waiting,
}

/// Event of the lifecycle chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Move {
    /// The agent connected.
    AgentStarted,
    /// A person assigned it to the channel.
    Assigned,
    /// The agent disconnected properly.
    AgentStopped,
    /// The channel granted it a turn.
    TurnGranted,
    /// A person removed it from the channel.
    Removed,
    /// The connection broke and was not restored in time.
    Disconnected,
    /// The agent completed its turn.
    TurnComplete,
    /// The turn used up its time.
    Timeout,
    /// The agent suspended its turn.
    WaitRequested,
    /// The agent's process ended.
    Crashed,
    /// The wait ended and the turn continues.
    WaitResolved,
    /// The wait exceeded its limit.
    WaitTimeout,
    /// A message ended the wait.
    Woken,
    /// A person skipped the turn.
    Skipped,
}

/// Cause of a move, as written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trigger {
    /// The agent connected.
    #[serde(rename = "Agent starts")]
    AgentStarts,
    /// The agent disconnected properly.
    #[serde(rename = "Agent stops")]
    AgentStops,
    /// The connection broke and was not restored in time.
    #[serde(rename = "Agent disconnects")]
    AgentDisconnects,
    /// The agent's process ended or its heartbeats stopped.
    #[serde(rename = "Agent crashes")]
    AgentCrashes,
    /// A person assigned the agent to the channel.
    #[serde(rename = "Assigned to channel")]
    AssignedToChannel,
    /// A person removed the agent from the channel.
    #[serde(rename = "Removed from channel")]
    RemovedFromChannel,
    /// The channel granted the turn.
    #[serde(rename = "Turn granted")]
    TurnGranted,
    /// The agent completed its turn.
    #[serde(rename = "TURN_COMPLETE")]
    TurnComplete,
    /// The turn used up its time.
    #[serde(rename = "Timeout")]
    Timeout,
    /// The agent was silent for too long.
    #[serde(rename = "Silence")]
    Silence,
    /// The agent suspended its turn.
    #[serde(rename = "Wait requested")]
    WaitRequested,
    /// The agent ended its wait.
    #[serde(rename = "Wait resolved")]
    WaitResolved,
    /// The wait exceeded its limit.
    #[serde(rename = "Wait timeout")]
    WaitTimeout,
    /// A message ended the wait.
    #[serde(rename = "Message")]
    Message,
    /// A person interrupted the turn.
    #[serde(rename = "Human interrupt")]
    HumanInterrupt,
    /// The person who interrupted sent no further message in time.
    #[serde(rename = "Human interrupt over")]
    HumanInterruptOver,
    /// A person resolved the wait.
    #[serde(rename = "Human override")]
    HumanOverride,
    /// A person skipped the turn.
    #[serde(rename = "Skipped")]
    Skipped,
    /// A person paused the channel.
    #[serde(rename = "Channel paused")]
    ChannelPaused,
    /// A person resumed the channel.
    #[serde(rename = "Channel resumed")]
    ChannelResumed,
}

/// Log line. Every transition is logged in this format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Time in RFC 3339, UTC.
    pub timestamp: String,
    /// Always `state_transition`.
    pub event: String,
    /// Agent id.
    #[serde(rename = "agentId")]
    pub agent: String,
    /// State before.
    pub from: State,
    /// State after.
    pub to: State,
    /// Cause of the move.
    pub trigger: Trigger,
    /// Channel name.
    pub channel: String,
    /// Additional details, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl State {
    /// All states, in the order of a connection's life.
    pub const ALL: [State; 5] = [State::Offline, State::Idle, State::Queued, State::Active, State::Waiting];

    /// Returns the name used in logs and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Offline => "OFFLINE",
            State::Idle => "IDLE",
            State::Queued => "QUEUED",
            State::Active => "ACTIVE",
            State::Waiting => "WAITING",
        }
    }

    /// Returns true for a member of the channel that reads along and has the turn or will get it.
    pub fn is_in_queue(self) -> bool {
        matches!(self, State::Queued | State::Active | State::Waiting)
    }
}

impl Move {
    /// All moves of the lifecycle chart.
    pub const ALL: [Move; 14] = [
        Move::AgentStarted,
        Move::Assigned,
        Move::AgentStopped,
        Move::TurnGranted,
        Move::Removed,
        Move::Disconnected,
        Move::TurnComplete,
        Move::Timeout,
        Move::WaitRequested,
        Move::Crashed,
        Move::WaitResolved,
        Move::WaitTimeout,
        Move::Woken,
        Move::Skipped,
    ];

    /// Returns the name of the chart event.
    pub fn as_str(self) -> &'static str {
        match self {
            Move::AgentStarted => "AGENT_STARTED",
            Move::Assigned => "ASSIGNED",
            Move::AgentStopped => "AGENT_STOPPED",
            Move::TurnGranted => "TURN_GRANTED",
            Move::Removed => "REMOVED",
            Move::Disconnected => "DISCONNECTED",
            Move::TurnComplete => "TURN_COMPLETE",
            Move::Timeout => "TIMEOUT",
            Move::WaitRequested => "WAIT_REQUESTED",
            Move::Crashed => "CRASHED",
            Move::WaitResolved => "WAIT_RESOLVED",
            Move::WaitTimeout => "WAIT_TIMEOUT",
            Move::Woken => "WOKEN",
            Move::Skipped => "SKIPPED",
        }
    }

    /// Returns the target state, or `None` if the chart has no such transition. `solo`: the queue holds no other agent.
    pub fn leads(self, from: State, solo: bool) -> Option<State> {
        match (from, self) {
            (State::Offline, Move::AgentStarted) => Some(State::Idle),
            (State::Idle, Move::Assigned | Move::Woken) => Some(State::Queued),
            (State::Idle, Move::AgentStopped) => Some(State::Offline),
            (State::Queued, Move::TurnGranted) => Some(State::Active),
            (State::Queued | State::Active | State::Waiting, Move::Removed) => Some(State::Idle),
            (State::Queued | State::Waiting, Move::Disconnected) => Some(State::Offline),
            (State::Active, Move::TurnComplete) if solo => Some(State::Idle),
            (State::Active, Move::TurnComplete | Move::Timeout) => Some(State::Queued),
            (State::Active, Move::WaitRequested) => Some(State::Waiting),
            (State::Active, Move::Crashed) => Some(State::Offline),
            (State::Waiting, Move::WaitResolved) => Some(State::Active),
            (State::Waiting, Move::WaitTimeout) => Some(State::Queued),
            (State::Active | State::Waiting, Move::Skipped) => Some(State::Queued),
            (State::Offline | State::Idle | State::Queued | State::Active | State::Waiting, _) => None,
        }
    }
}

impl Trigger {
    /// Returns the text written to the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Trigger::AgentStarts => "Agent starts",
            Trigger::AgentStops => "Agent stops",
            Trigger::AgentDisconnects => "Agent disconnects",
            Trigger::AgentCrashes => "Agent crashes",
            Trigger::AssignedToChannel => "Assigned to channel",
            Trigger::RemovedFromChannel => "Removed from channel",
            Trigger::TurnGranted => "Turn granted",
            Trigger::TurnComplete => "TURN_COMPLETE",
            Trigger::Timeout => "Timeout",
            Trigger::Silence => "Silence",
            Trigger::WaitRequested => "Wait requested",
            Trigger::WaitResolved => "Wait resolved",
            Trigger::WaitTimeout => "Wait timeout",
            Trigger::Message => "Message",
            Trigger::HumanInterrupt => "Human interrupt",
            Trigger::HumanInterruptOver => "Human interrupt over",
            Trigger::HumanOverride => "Human override",
            Trigger::Skipped => "Skipped",
            Trigger::ChannelPaused => "Channel paused",
            Trigger::ChannelResumed => "Channel resumed",
        }
    }
}
