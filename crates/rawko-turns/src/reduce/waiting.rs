//! Suspended turns: waits requested by the agent, and resuming.

use super::ChannelUpdate;
use crate::channel::{TurnPhase, WaitingFor};
use crate::effect::{ChannelEffect, EndReason};
use crate::event::{OverrideTo, WaitUntil};
use crate::lifecycle::{LifecycleMove, MoveCause};
use crate::names::{AgentId, TurnId};
use crate::refusal::ChannelRefusal;

impl ChannelUpdate<'_> {
    pub(super) fn wait_requested(
        &mut self,
        agent: &AgentId,
        turn: Option<TurnId>,
        reason: String,
        until: WaitUntil,
        timeout_ms: Option<u64>,
    ) -> Result<(), ChannelRefusal> {
        let id = self.running(agent, turn)?.id;
        let limit = self.config(agent).wait_timeout_ms;
        let due_ms = self.in_ms(timeout_ms.map_or(limit, |wanted| wanted.min(limit)));
        let words = (!reason.is_empty()).then(|| reason.clone());
        self.pause_turn(WaitingFor::Asked { reason, until }, Some(due_ms), MoveCause::WaitRequested, words);
        self.effects.push(ChannelEffect::WaitBegan { agent: agent.clone(), turn: id, due_ms });
        Ok(())
    }

    pub(super) fn wait_resolved(
        &mut self,
        agent: &AgentId,
        turn: Option<TurnId>,
    ) -> Result<(), ChannelRefusal> {
        let turn = self.own_turn(agent, turn)?;
        match &turn.phase {
            TurnPhase::Running { .. } => return Err(ChannelRefusal::NobodyWaits),
            TurnPhase::Waiting(waiting) => {
                if let Some(why) = waiting.held_by() {
                    return Err(ChannelRefusal::TurnPaused { why });
                }
            }
        }
        if self.channel.paused_ms.is_some() {
            return Err(ChannelRefusal::TurnPaused { why: "the channel is paused" });
        }
        self.resume_turn(MoveCause::WaitResolved, None);
        Ok(())
    }

    /// Resumes the turn with the time that was left.
    pub(super) fn resume_turn(&mut self, trigger: MoveCause, words: Option<String>) {
        let (now_ms, upto) = (self.now_ms, self.channel.posted);
        let Some(turn) = &mut self.channel.turn else { return };
        let TurnPhase::Waiting(waiting) = &turn.phase else { return };
        let timeout =
            i64::try_from(self.channel.options.for_agent(&turn.agent).timeout_ms).unwrap_or(i64::MAX);
        let left_ms = match waiting.what {
            WaitingFor::Asked { .. } => waiting.remaining_ms,
            // An interruption in the last second must not cost the agent its turn.
            WaitingFor::Person | WaitingFor::Pause => waiting.remaining_ms.max(timeout / 4),
        };
        let (deadline_ms, after) = (now_ms.saturating_add(left_ms), waiting.since);
        turn.phase = TurnPhase::Running { deadline_ms, silence_due_ms: None };
        let (agent, turn) = (turn.agent.clone(), turn.id);
        self.step(&agent, LifecycleMove::WaitResolved, trigger, words);
        self.effects.push(ChannelEffect::Resumed { agent, turn, deadline_ms, after, upto });
    }

    pub(super) fn overridden(&mut self, by: &str, to: OverrideTo) -> Result<(), ChannelRefusal> {
        let turn = self.channel.turn.as_ref().ok_or(ChannelRefusal::NobodyWaits)?;
        if matches!(turn.phase, TurnPhase::Running { .. }) {
            return Err(ChannelRefusal::NobodyWaits);
        }
        let words = Some(format!("by {by}"));
        match to {
            OverrideTo::Active if self.channel.paused_ms.is_some() => return Err(ChannelRefusal::Paused),
            OverrideTo::Active => self.resume_turn(MoveCause::HumanOverride, words),
            OverrideTo::Queued => {
                self.end_turn(LifecycleMove::Skipped, MoveCause::HumanOverride, EndReason::Overridden, words);
                self.grant_next();
            }
        }
        Ok(())
    }
}
