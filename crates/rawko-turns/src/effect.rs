//! `Effect`: the consequences of an event. The host commits them with the channel, then carries them out.

use serde::{Deserialize, Serialize};

use crate::lifecycle::{LogLine, Move, State, Trigger};
use crate::message::Message;
use crate::names::{AgentId, TurnId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// A member changed state: one event for its instance and one log line.
    Moved(Moved),
    /// A message was posted.
    Posted(Message),
    /// A person's message is held until the turn ends.
    Held {
        person: String,
        text: String,
    },
    /// The message is delivered to these agents now.
    Delivered {
        number: u64,
        to: Vec<AgentId>,
    },
    /// An agent has the turn and receives the messages after `after`, up to `upto`. `again`: it had the turn before it
    /// reconnected. The turn is paused if there is no deadline.
    Granted {
        agent: AgentId,
        turn: TurnId,
        deadline_ms: Option<i64>,
        after: u64,
        upto: u64,
        again: bool,
    },
    /// The turn was suspended, not at the agent's request.
    Suspended {
        agent: AgentId,
        turn: TurnId,
        reason: SuspendReason,
    },
    /// The agent waits, at most until this time.
    WaitBegan {
        agent: AgentId,
        turn: TurnId,
        due_ms: i64,
    },
    /// A suspended turn resumes. The messages are those posted since it was suspended.
    Resumed {
        agent: AgentId,
        turn: TurnId,
        deadline_ms: i64,
        after: u64,
        upto: u64,
    },
    Ended {
        agent: AgentId,
        turn: TurnId,
        reason: EndReason,
    },
    /// Every agent in the queue had a turn.
    RoundEnded {
        round: u64,
    },
    /// An agent joined the queue.
    Assigned {
        agent: AgentId,
    },
    Dismissed {
        agent: AgentId,
        by: String,
    },
    /// A log entry that is not a transition.
    Warned {
        agent: AgentId,
        turn: TurnId,
        text: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub agent: AgentId,
    #[serde(rename = "move")]
    pub by: Move,
    pub from: State,
    pub to: State,
    pub trigger: Trigger,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub at_ms: i64,
}

/// Reason why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Completed,
    Timeout,
    Silence,
    WaitTimeout,
    Skipped,
    Overridden,
    Removed,
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspendReason {
    HumanInterrupt,
    ChannelPaused,
}

impl Moved {
    /// Returns true if the agent was alone in the queue. The chart has a guard on it.
    pub fn is_solo(&self) -> bool {
        self.by == Move::TurnComplete && self.to == State::Idle
    }

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
