//! `ChannelEffect`: the consequences of an event. The host commits them with the channel, then carries them out.

use serde::{Deserialize, Serialize};

use crate::lifecycle::{LifecycleMove, LogLine, MemberState, MoveCause};
use crate::message::ChannelMessage;
use crate::names::{AgentId, TurnId};

/// A consequence of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum ChannelEffect {
    /// A member changed state: one event for its instance and one log line.
    Moved(MemberMove),
    /// A message was posted.
    Posted(ChannelMessage),
    /// A person's message is held until the turn ends.
    Held {
        /// Name of the author.
        person: String,
        /// Message text.
        text: String,
    },
    /// The message is delivered to these agents now.
    Delivered {
        /// Number of the message.
        number: u64,
        /// Receivers: members that are connected and may read it now.
        to: Vec<AgentId>,
    },
    /// An agent has the turn and receives the messages after `after`, up to `upto`. `again`: it had the turn before it
    /// reconnected. The turn is paused if there is no deadline.
    Granted {
        /// Holder of the turn.
        agent: AgentId,
        /// Number of the turn.
        turn: TurnId,
        /// End of the turn's time, in milliseconds since the Unix epoch.
        deadline_ms: Option<i64>,
        /// Last message that the agent has seen.
        after: u64,
        /// Last message to send.
        upto: u64,
        /// True if the turn was granted before the agent reconnected.
        again: bool,
    },
    /// The turn was suspended, not at the agent's request.
    Suspended {
        /// Holder of the turn.
        agent: AgentId,
        /// Number of the turn.
        turn: TurnId,
        /// Cause of the suspension.
        reason: SuspendReason,
    },
    /// The agent waits, at most until this time.
    WaitBegan {
        /// Holder of the turn.
        agent: AgentId,
        /// Number of the turn.
        turn: TurnId,
        /// Limit of the wait, in milliseconds since the Unix epoch.
        due_ms: i64,
    },
    /// A suspended turn resumes. The messages are those posted since it was suspended.
    Resumed {
        /// Holder of the turn.
        agent: AgentId,
        /// Number of the turn.
        turn: TurnId,
        /// New end of the turn's time, in milliseconds since the Unix epoch.
        deadline_ms: i64,
        /// Last message that the agent has seen.
        after: u64,
        /// Last message to send.
        upto: u64,
    },
    /// A turn ended.
    Ended {
        /// Its holder.
        agent: AgentId,
        /// Its number.
        turn: TurnId,
        /// Cause of the end.
        reason: EndReason,
    },
    /// Every agent in the queue had a turn.
    RoundEnded {
        /// Number of the round.
        round: u64,
    },
    /// An agent joined the queue.
    Assigned {
        /// The agent.
        agent: AgentId,
    },
    /// A person removed an agent from the channel.
    Dismissed {
        /// The agent.
        agent: AgentId,
        /// Name of the person.
        by: String,
    },
    /// A log entry that is not a transition.
    Warned {
        /// Agent that the warning is about.
        agent: AgentId,
        /// Its turn.
        turn: TurnId,
        /// Warning for the log.
        text: String,
    },
}

/// A member's move from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberMove {
    /// The agent.
    pub agent: AgentId,
    /// Event of the lifecycle chart.
    #[serde(rename = "move")]
    pub by: LifecycleMove,
    /// State before.
    pub from: MemberState,
    /// State after.
    pub to: MemberState,
    /// Cause, as written to the log.
    pub trigger: MoveCause,
    /// Text given by the agent or the person that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time of the move in milliseconds since the Unix epoch.
    pub at_ms: i64,
}

/// Reason why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The agent completed it.
    Completed,
    /// The time was used up.
    Timeout,
    /// The agent was silent for too long after its last message.
    Silence,
    /// A wait within the turn exceeded its limit.
    WaitTimeout,
    /// A person skipped it.
    Skipped,
    /// A person moved the waiting agent to the queue.
    Overridden,
    /// A person removed the agent from the channel.
    Removed,
    /// The agent disconnected and did not return in time.
    Lost,
}

/// Cause of a suspension that the agent did not ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspendReason {
    /// A person posted a message under [`InterruptMode::Interrupt`](crate::InterruptMode::Interrupt).
    HumanInterrupt,
    /// A person paused the channel.
    ChannelPaused,
}

impl MemberMove {
    /// Returns true if the agent was alone in the queue. The chart has a guard on it.
    pub fn is_solo(&self) -> bool {
        self.by == LifecycleMove::TurnComplete && self.to == MemberState::Idle
    }

    /// Builds the log line of the move.
    pub fn log_line(&self, channel: &str) -> LogLine {
        LogLine {
            timestamp: timestamp(self.at_ms),
            event: "state_transition".to_owned(),
            agent: self.agent.0.clone(),
            from: self.from,
            to: self.to,
            trigger: self.trigger,
            channel: channel.to_owned(),
            reason: self.reason.clone(),
        }
    }
}

impl EndReason {
    /// Returns the name used in logs and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Completed => "completed",
            EndReason::Timeout => "timeout",
            EndReason::Silence => "silence",
            EndReason::WaitTimeout => "wait_timeout",
            EndReason::Skipped => "skipped",
            EndReason::Overridden => "overridden",
            EndReason::Removed => "removed",
            EndReason::Lost => "lost",
        }
    }
}

fn timestamp(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
