//! What a channel waits for, and when. Deadlines are data: whoever hosts asks for the next one and comes back then.

use crate::channel::{Channel, Phase, WaitingFor};
use crate::event::WaitUntil;
use crate::names::AgentId;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A lost connection counts now.
    Grace(AgentId),
    /// A wait is over because the moment has come that the agent waited for.
    WaitOver,
    /// A person who interrupted has said nothing more.
    HoldOver,
    /// A wait took too long.
    WaitTimeout,
    /// The agent spoke and has been silent since.
    Silence,
    TurnTimeout,
}

impl Channel {
    /// The next thing to become due.
    pub fn next_due(&self) -> Option<(i64, Due)> {
        let grace = |(agent, member): (&AgentId, &crate::Member)| {
            member.grace_due_ms.map(|due| (due, Due::Grace(agent.clone())))
        };
        self.members.iter().filter_map(grace).chain(self.turn_due()).min()
    }

    fn turn_due(&self) -> Option<(i64, Due)> {
        // A paused channel has no clock.
        let turn = self.turn.as_ref().filter(|_| self.paused_ms.is_none())?;
        match &turn.phase {
            Phase::Running { deadline_ms, silence_due_ms } => {
                let silence = silence_due_ms.map(|due| (due, Due::Silence));
                Some(silence.into_iter().fold((*deadline_ms, Due::TurnTimeout), std::cmp::min))
            }
            Phase::Waiting(waiting) => {
                let due = waiting.due_ms?;
                Some(match &waiting.what {
                    WaitingFor::Asked { until: WaitUntil::Time(at), .. } if *at <= due => {
                        (*at, Due::WaitOver)
                    }
                    WaitingFor::Asked { .. } => (due, Due::WaitTimeout),
                    WaitingFor::Person | WaitingFor::Pause => (due, Due::HoldOver),
                })
            }
        }
    }
}
