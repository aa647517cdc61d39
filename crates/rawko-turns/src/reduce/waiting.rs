//! Suspended turns: waits requested by the agent, and resuming.

use super::Work;
use crate::channel::{Phase, WaitingFor};
use crate::effect::{Effect, EndReason};
use crate::event::{OverrideTo, WaitUntil};
use crate::lifecycle::{Move, Trigger};
use crate::names::{AgentId, TurnId};
use crate::refusal::Refusal;

impl Work<'_> {
    pub(super) fn wait_requested(
        &mut self,
        agent: &AgentId,
        turn: Option<TurnId>,
        reason: String,
        until: WaitUntil,
        timeout_ms: Option<u64>,
    ) -> Result<(), Refusal> {
        let id = self.running(agent, turn)?.id;
        let limit = self.config(agent).wait_timeout_ms;
        let due_ms = self.in_ms(timeout_ms.map_or(limit, |wanted| wanted.min(limit)));
        let words = (!reason.is_empty()).then(|| reason.clone());
        self.pause_turn(WaitingFor::Asked { reason, until }, Some(due_ms), Trigger::WaitRequested, words);
        self.effects.push(Effect::WaitBegan { agent: agent.clone(), turn: id, due_ms });
        Ok(())
    }

    pub(super) fn wait_resolved(&mut self, agent: &AgentId, turn: Option<TurnId>) -> Result<(), Refusal> {
        let turn = self.own_turn(agent, turn)?;
        match &turn.phase {
            Phase::Running { .. } => return Err(Refusal::NobodyWaits),
            Phase::Waiting(waiting) => {
                if let Some(why) = waiting.held_by() {
                    return Err(Refusal::TurnPaused { why });
                }
            }
        }
        if self.channel.paused_ms.is_some() {
            return Err(Refusal::TurnPaused { why: "the channel is paused" });
        }
        self.resume_turn(Trigger::WaitResolved, None);
        Ok(())
    }

    /// Resumes the turn with the time that was left.
    pub(super) fn resume_turn(&mut self, trigger: Trigger, words: Option<String>) {
        let (now_ms, upto) = (self.now_ms, self.channel.posted);
        let Some(turn) = &mut self.channel.turn else { return };
        let Phase::Waiting(waiting) = &turn.phase else { return };
        let timeout =
            i64::try_from(self.channel.options.for_agent(&turn.agent).timeout_ms).unwrap_or(i64::MAX);
        let left_ms = match waiting.what {
            WaitingFor::Asked { .. } => waiting.remaining_ms,
            // An interruption in the last second must not cost the agent its turn.
            WaitingFor::Person | WaitingFor::Pause => waiting.remaining_ms.max(timeout / 4),
        };
        let (deadline_ms, after) = (now_ms.saturating_add(left_ms), waiting.since);
        turn.phase = Phase::Running { deadline_ms, silence_due_ms: None };
        let (agent, turn) = (turn.agent.clone(), turn.id);
        self.step(&agent, Move::WaitResolved, trigger, words);
        self.effects.push(Effect::Resumed { agent, turn, deadline_ms, after, upto });
    }

    pub(super) fn overridden(&mut self, by: &str, to: OverrideTo) -> Result<(), Refusal> {
        let turn = self.channel.turn.as_ref().ok_or(Refusal::NobodyWaits)?;
        if matches!(turn.phase, Phase::Running { .. }) {
            return Err(Refusal::NobodyWaits);
        }
        let words = Some(format!("by {by}"));
        match to {
            OverrideTo::Active if self.channel.paused_ms.is_some() => return Err(Refusal::Paused),
            OverrideTo::Active => self.resume_turn(Trigger::HumanOverride, words),
            OverrideTo::Queued => {
                self.end_turn(Move::Skipped, Trigger::HumanOverride, EndReason::Overridden, words);
                self.grant_next();
            }
        }
        Ok(())
    }
}
