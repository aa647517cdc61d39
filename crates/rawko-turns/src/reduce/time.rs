//! Expiry of deadlines.

use super::Work;
use crate::due::Due;
use crate::effect::{Effect, EndReason};
use crate::event::Loss;
use crate::lifecycle::{Move, Trigger};
use crate::notices;

impl Work<'_> {
    /// Handles all expired deadlines, earliest first. `late`: reason for the delay, for the log.
    pub(super) fn time_passed(&mut self, late: Option<&str>) {
        while let Some((at_ms, due)) = self.channel.next_due().filter(|(at_ms, _)| *at_ms <= self.now_ms) {
            let words = late.map(|late| format!("recovery: {late}, due {} ms ago", self.now_ms - at_ms));
            match due {
                Due::Grace(agent) => {
                    // Cannot fail: the grace time was read from the member itself.
                    let _ = self.agent_lost(&agent, Loss::DidNotReturn);
                }
                Due::TurnTimeout => self.turn_timeout(words),
                Due::Silence => self.silence(words),
                Due::WaitTimeout => self.wait_timeout(words),
                Due::WaitOver => self.resume_turn(Trigger::WaitResolved, words),
                Due::HoldOver => self.resume_turn(Trigger::HumanInterruptOver, words),
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
        self.end_turn(Move::Timeout, Trigger::Timeout, EndReason::Timeout, words);
        self.grant_next();
    }

    fn silence(&mut self, words: Option<String>) {
        self.warn_if_it_spoke();
        self.end_turn(Move::TurnComplete, Trigger::Silence, EndReason::Silence, words);
        self.grant_next();
    }

    fn wait_timeout(&mut self, words: Option<String>) {
        let Some(agent) = self.channel.turn.as_ref().map(|turn| turn.agent.clone()) else { return };
        if self.config(&agent).announce_timeouts {
            self.notice(notices::timed_out(&agent));
        }
        self.end_turn(Move::WaitTimeout, Trigger::WaitTimeout, EndReason::WaitTimeout, words);
        self.grant_next();
    }

    fn warn_if_it_spoke(&mut self) {
        if let Some(turn) = self.channel.turn.as_ref().filter(|turn| turn.posted > 0) {
            let (agent, turn) = (turn.agent.clone(), turn.id);
            self.effects.push(Effect::Warned { agent, turn, text: notices::NO_COMPLETE.to_owned() });
        }
    }
}
