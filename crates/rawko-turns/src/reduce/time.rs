//! Expiry of deadlines.

use super::ChannelUpdate;
use crate::due::TurnDeadline;
use crate::effect::{ChannelEffect, EndReason};
use crate::event::Loss;
use crate::lifecycle::{LifecycleMove, MoveCause};
use crate::notices;

impl ChannelUpdate<'_> {
    /// Handles all expired deadlines, earliest first. `late`: reason for the delay, for the log.
    pub(super) fn time_passed(&mut self, late: Option<&str>) {
        while let Some((at_ms, due)) = self.channel.next_due().filter(|(at_ms, _)| *at_ms <= self.now_ms) {
            let words = late.map(|late| format!("recovery: {late}, due {} ms ago", self.now_ms - at_ms));
            match due {
                TurnDeadline::Grace(agent) => {
                    // Cannot fail: the grace time was read from the member itself.
                    let _ = self.agent_lost(&agent, Loss::DidNotReturn);
                }
                TurnDeadline::TurnTimeout => self.turn_timeout(words),
                TurnDeadline::Silence => self.silence(words),
                TurnDeadline::WaitTimeout => self.wait_timeout(words),
                TurnDeadline::WaitOver => self.resume_turn(MoveCause::WaitResolved, words),
                TurnDeadline::HoldOver => self.resume_turn(MoveCause::HumanInterruptOver, words),
            }
        }
        self.grant_next();
    }

    fn turn_timeout(&mut self, words: Option<String>) {
        self.warn_if_it_spoke();
        let Some(turn) = &self.channel.turn else { return };
        let agent = turn.agent.clone();
        if self.config(&agent).announce_timeouts {
            self.notice(notices::timed_out(&agent));
        }
        self.end_turn(LifecycleMove::Timeout, MoveCause::Timeout, EndReason::Timeout, words);
        self.grant_next();
    }

    fn silence(&mut self, words: Option<String>) {
        self.warn_if_it_spoke();
        self.end_turn(LifecycleMove::TurnComplete, MoveCause::Silence, EndReason::Silence, words);
        self.grant_next();
    }

    fn wait_timeout(&mut self, words: Option<String>) {
        let Some(agent) = self.channel.turn.as_ref().map(|turn| turn.agent.clone()) else { return };
        if self.config(&agent).announce_timeouts {
            self.notice(notices::timed_out(&agent));
        }
        self.end_turn(LifecycleMove::WaitTimeout, MoveCause::WaitTimeout, EndReason::WaitTimeout, words);
        self.grant_next();
    }

    fn warn_if_it_spoke(&mut self) {
        if let Some(turn) = self.channel.turn.as_ref().filter(|turn| turn.posted > 0) {
            let (agent, turn) = (turn.agent.clone(), turn.id);
            self.effects.push(ChannelEffect::Warned { agent, turn, text: notices::NO_COMPLETE.to_owned() });
        }
    }
}
