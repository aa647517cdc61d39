//! `Effect`: what follows from an event. A host commits them with the channel, and then makes them happen.

use serde::{Deserialize, Serialize};

use crate::lifecycle::{LogLine, Move, State, Trigger};
use crate::message::Message;
use crate::names::{AgentId, TurnId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// A member changed its state: an event for its instance, and a line for the log.
    Moved(Moved),
    /// A message is in the channel.
    Posted(Message),
    /// A person's message waits until the turn ends.
    Held {
        person: String,
        text: String,
    },
    /// These agents see the message now.
    Delivered {
        number: u64,
        to: Vec<AgentId>,
    },
    /// An agent has the turn, and gets the messages after one and up to another. `again`: it had it before it
    /// reconnected. Without a deadline its turn is paused.
    Granted {
        agent: AgentId,
        turn: TurnId,
        deadline_ms: Option<i64>,
        after: u64,
        upto: u64,
        again: bool,
    },
    /// A turn pauses, not by the agent's own wish.
    Suspended {
        agent: AgentId,
        turn: TurnId,
        reason: SuspendReason,
    },
    /// The agent waits at most until then.
    WaitBegan {
        agent: AgentId,
        turn: TurnId,
        due_ms: i64,
    },
    /// A paused turn goes on. The messages are those since it paused.
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
    /// An agent is in the queue now.
    Assigned {
        agent: AgentId,
    },
    Dismissed {
        agent: AgentId,
        by: String,
    },
    /// Something for the log that is no transition.
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

/// Why a turn ended.
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
    /// Whether the agent was alone in the queue; the chart asks.
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
