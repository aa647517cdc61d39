//! The five states of a membership and the moves between them, as declared in `charts/agent_lifecycle.yaml`, and the
//! log line of each move.

use serde::{Deserialize, Serialize};

/// State of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    #[default]
    Offline,
    Idle,
    Queued,
    Active,
    Waiting,
}

/// Event of the lifecycle chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Move {
    AgentStarted,
    Assigned,
    AgentStopped,
    TurnGranted,
    Removed,
    Disconnected,
    TurnComplete,
    Timeout,
    WaitRequested,
    Crashed,
    WaitResolved,
    WaitTimeout,
    Woken,
    Skipped,
}

/// Cause of a move, as written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trigger {
    #[serde(rename = "Agent starts")]
    AgentStarts,
    #[serde(rename = "Agent stops")]
    AgentStops,
    #[serde(rename = "Agent disconnects")]
    AgentDisconnects,
    #[serde(rename = "Agent crashes")]
    AgentCrashes,
    #[serde(rename = "Assigned to channel")]
    AssignedToChannel,
    #[serde(rename = "Removed from channel")]
    RemovedFromChannel,
    #[serde(rename = "Turn granted")]
    TurnGranted,
    #[serde(rename = "TURN_COMPLETE")]
    TurnComplete,
    #[serde(rename = "Timeout")]
    Timeout,
    #[serde(rename = "Silence")]
    Silence,
    #[serde(rename = "Wait requested")]
    WaitRequested,
    #[serde(rename = "Wait resolved")]
    WaitResolved,
    #[serde(rename = "Wait timeout")]
    WaitTimeout,
    #[serde(rename = "Message")]
    Message,
    #[serde(rename = "Human interrupt")]
    HumanInterrupt,
    #[serde(rename = "Human interrupt over")]
    HumanInterruptOver,
    #[serde(rename = "Human override")]
    HumanOverride,
    #[serde(rename = "Skipped")]
    Skipped,
    #[serde(rename = "Channel paused")]
    ChannelPaused,
    #[serde(rename = "Channel resumed")]
    ChannelResumed,
}

/// Log line. Every transition is logged in this format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub timestamp: String,
    /// Always `state_transition`.
    pub event: String,
    #[serde(rename = "agentId")]
    pub agent: String,
    pub from: State,
    pub to: State,
    pub trigger: Trigger,
    pub channel: String,
    /// Additional details, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl State {
    pub const ALL: [State; 5] = [State::Offline, State::Idle, State::Queued, State::Active, State::Waiting];

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
