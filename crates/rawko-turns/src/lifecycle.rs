//! The five states of a membership and the moves between them, as declared in `charts/agent_lifecycle.yaml`, and the
//! log line of each move.

use serde::{Deserialize, Serialize};

/// State of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MemberState {
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
pub enum LifecycleMove {
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
pub enum MoveCause {
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
    pub from: MemberState,
    /// State after.
    pub to: MemberState,
    /// Cause of the move.
    pub trigger: MoveCause,
    /// Channel name.
    pub channel: String,
    /// Additional details, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl MemberState {
    /// All states, in the order of a connection's life.
    pub const ALL: [MemberState; 5] = [
        MemberState::Offline,
        MemberState::Idle,
        MemberState::Queued,
        MemberState::Active,
        MemberState::Waiting,
    ];

    /// Returns the name used in logs and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            MemberState::Offline => "OFFLINE",
            MemberState::Idle => "IDLE",
            MemberState::Queued => "QUEUED",
            MemberState::Active => "ACTIVE",
            MemberState::Waiting => "WAITING",
        }
    }

    /// Returns true for a member of the channel that reads along and has the turn or will get it.
    pub fn is_in_queue(self) -> bool {
        matches!(self, MemberState::Queued | MemberState::Active | MemberState::Waiting)
    }
}

impl LifecycleMove {
    /// All moves of the lifecycle chart.
    pub const ALL: [LifecycleMove; 14] = [
        LifecycleMove::AgentStarted,
        LifecycleMove::Assigned,
        LifecycleMove::AgentStopped,
        LifecycleMove::TurnGranted,
        LifecycleMove::Removed,
        LifecycleMove::Disconnected,
        LifecycleMove::TurnComplete,
        LifecycleMove::Timeout,
        LifecycleMove::WaitRequested,
        LifecycleMove::Crashed,
        LifecycleMove::WaitResolved,
        LifecycleMove::WaitTimeout,
        LifecycleMove::Woken,
        LifecycleMove::Skipped,
    ];

    /// Returns the name of the chart event.
    pub fn as_str(self) -> &'static str {
        match self {
            LifecycleMove::AgentStarted => "AGENT_STARTED",
            LifecycleMove::Assigned => "ASSIGNED",
            LifecycleMove::AgentStopped => "AGENT_STOPPED",
            LifecycleMove::TurnGranted => "TURN_GRANTED",
            LifecycleMove::Removed => "REMOVED",
            LifecycleMove::Disconnected => "DISCONNECTED",
            LifecycleMove::TurnComplete => "TURN_COMPLETE",
            LifecycleMove::Timeout => "TIMEOUT",
            LifecycleMove::WaitRequested => "WAIT_REQUESTED",
            LifecycleMove::Crashed => "CRASHED",
            LifecycleMove::WaitResolved => "WAIT_RESOLVED",
            LifecycleMove::WaitTimeout => "WAIT_TIMEOUT",
            LifecycleMove::Woken => "WOKEN",
            LifecycleMove::Skipped => "SKIPPED",
        }
    }

    /// Returns the target state, or `None` if the chart has no such transition. `solo`: the queue holds no other agent.
    pub fn leads(self, from: MemberState, solo: bool) -> Option<MemberState> {
        match (from, self) {
            (MemberState::Offline, LifecycleMove::AgentStarted) => Some(MemberState::Idle),
            (MemberState::Idle, LifecycleMove::Assigned | LifecycleMove::Woken) => Some(MemberState::Queued),
            (MemberState::Idle, LifecycleMove::AgentStopped) => Some(MemberState::Offline),
            (MemberState::Queued, LifecycleMove::TurnGranted) => Some(MemberState::Active),
            (MemberState::Queued | MemberState::Active | MemberState::Waiting, LifecycleMove::Removed) => {
                Some(MemberState::Idle)
            }
            (MemberState::Queued | MemberState::Waiting, LifecycleMove::Disconnected) => {
                Some(MemberState::Offline)
            }
            (MemberState::Active, LifecycleMove::TurnComplete) if solo => Some(MemberState::Idle),
            (MemberState::Active, LifecycleMove::TurnComplete | LifecycleMove::Timeout) => {
                Some(MemberState::Queued)
            }
            (MemberState::Active, LifecycleMove::WaitRequested) => Some(MemberState::Waiting),
            (MemberState::Active, LifecycleMove::Crashed) => Some(MemberState::Offline),
            (MemberState::Waiting, LifecycleMove::WaitResolved) => Some(MemberState::Active),
            (MemberState::Waiting, LifecycleMove::WaitTimeout) => Some(MemberState::Queued),
            (MemberState::Active | MemberState::Waiting, LifecycleMove::Skipped) => Some(MemberState::Queued),
            (
                MemberState::Offline
                | MemberState::Idle
                | MemberState::Queued
                | MemberState::Active
                | MemberState::Waiting,
                _,
            ) => None,
        }
    }
}

impl MoveCause {
    /// Returns the text written to the log.
    pub fn as_str(self) -> &'static str {
        match self {
            MoveCause::AgentStarts => "Agent starts",
            MoveCause::AgentStops => "Agent stops",
            MoveCause::AgentDisconnects => "Agent disconnects",
            MoveCause::AgentCrashes => "Agent crashes",
            MoveCause::AssignedToChannel => "Assigned to channel",
            MoveCause::RemovedFromChannel => "Removed from channel",
            MoveCause::TurnGranted => "Turn granted",
            MoveCause::TurnComplete => "TURN_COMPLETE",
            MoveCause::Timeout => "Timeout",
            MoveCause::Silence => "Silence",
            MoveCause::WaitRequested => "Wait requested",
            MoveCause::WaitResolved => "Wait resolved",
            MoveCause::WaitTimeout => "Wait timeout",
            MoveCause::Message => "Message",
            MoveCause::HumanInterrupt => "Human interrupt",
            MoveCause::HumanInterruptOver => "Human interrupt over",
            MoveCause::HumanOverride => "Human override",
            MoveCause::Skipped => "Skipped",
            MoveCause::ChannelPaused => "Channel paused",
            MoveCause::ChannelResumed => "Channel resumed",
        }
    }
}
