//! Deadlines of a channel. Deadlines are data: the host asks for the next one and calls `reduce` when it is due.

use crate::channel::{Channel, TurnPhase, WaitingFor};
use crate::event::WaitUntil;
use crate::names::AgentId;

/// The cause of a deadline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnDeadline {
    /// The grace time of a lost connection expired.
    Grace(AgentId),
    /// The time that the agent waited for has come.
    WaitOver,
    /// The person who interrupted sent no further message in time.
    HoldOver,
    /// The wait exceeded its limit.
    WaitTimeout,
    /// The agent was silent for too long after its last message.
    Silence,
    /// The turn used up its time.
    TurnTimeout,
}

impl Channel {
    /// Returns the earliest deadline.
    pub fn next_due(&self) -> Option<(i64, TurnDeadline)> {
        let grace = |(agent, member): (&AgentId, &crate::ChannelMember)| {
            member.grace_due_ms.map(|due| (due, TurnDeadline::Grace(agent.clone())))
        };
        self.members.iter().filter_map(grace).chain(self.turn_due()).min()
    }

    fn turn_due(&self) -> Option<(i64, TurnDeadline)> {
        // No turn deadline runs while the channel is paused.
        let turn = self.turn.as_ref().filter(|_| self.paused_ms.is_none())?;
        match &turn.phase {
            TurnPhase::Running { deadline_ms, silence_due_ms } => {
                let silence = silence_due_ms.map(|due| (due, TurnDeadline::Silence));
                Some(silence.into_iter().fold((*deadline_ms, TurnDeadline::TurnTimeout), std::cmp::min))
            }
            TurnPhase::Waiting(waiting) => {
                let due = waiting.due_ms?;
                Some(match &waiting.what {
                    WaitingFor::Asked { until: WaitUntil::Time(at), .. } if *at <= due => {
                        (*at, TurnDeadline::WaitOver)
                    }
                    WaitingFor::Asked { .. } => (due, TurnDeadline::WaitTimeout),
                    WaitingFor::Person | WaitingFor::Pause => (due, TurnDeadline::HoldOver),
                })
            }
        }
    }
}
