//! Granting and ending turns: no other file starts or ends a turn of a channel.

use super::ChannelUpdate;
use crate::channel::{EndedTurn, Turn, TurnPhase};
use crate::effect::{ChannelEffect, EndReason};
use crate::lifecycle::{LifecycleMove, MemberState, MoveCause};
use crate::names::{AgentId, TurnId};
use crate::notices;
use crate::refusal::ChannelRefusal;

impl ChannelUpdate<'_> {
    /// Grants the turn to the next agent, unless a turn is held.
    pub(super) fn grant_next(&mut self) {
        if self.channel.turn.is_some() {
            return;
        }
        self.release_held();
        if self.channel.paused_ms.is_none()
            && let Some(agent) = self.channel.pick()
        {
            self.grant(&agent);
        }
    }

    fn grant(&mut self, agent: &AgentId) {
        let deadline_ms = self.in_ms(self.config(agent).timeout_ms);
        self.step(agent, LifecycleMove::TurnGranted, MoveCause::TurnGranted, None);
        self.channel.note_turn(agent);
        self.channel.turns += 1;
        let (id, upto) = (TurnId(self.channel.turns), self.channel.posted);
        let after = self.channel.members.get(agent).map_or(upto, |member| member.seen);
        self.channel.turn = Some(Turn {
            agent: agent.clone(),
            id,
            granted_ms: self.now_ms,
            after,
            posted: 0,
            phase: TurnPhase::Running { deadline_ms, silence_due_ms: None },
        });
        let (agent, deadline_ms) = (agent.clone(), Some(deadline_ms));
        self.effects.push(ChannelEffect::Granted { agent, turn: id, deadline_ms, after, upto, again: false });
    }

    /// Ends the running or suspended turn. The caller grants the next one.
    pub(super) fn end_turn(
        &mut self,
        by: LifecycleMove,
        trigger: MoveCause,
        reason: EndReason,
        words: Option<String>,
    ) {
        let Some(turn) = self.channel.turn.take() else { return };
        self.step(&turn.agent, by, trigger, words);
        let answered = match reason {
            EndReason::Completed | EndReason::Silence => true,
            // Messages delivered in this turn are delivered again if the agent posted nothing.
            EndReason::Timeout
            | EndReason::WaitTimeout
            | EndReason::Skipped
            | EndReason::Overridden
            | EndReason::Removed
            | EndReason::Lost => turn.posted > 0,
        };
        let posted = self.channel.posted;
        if let Some(member) = self.channel.members.get_mut(&turn.agent) {
            member.asked = true;
            member.seen = if answered { posted } else { member.seen };
        }
        self.count_unattended();
        self.count_round(&turn.agent);
        self.channel.ended = Some(EndedTurn { agent: turn.agent.clone(), id: turn.id });
        self.effects.push(ChannelEffect::Ended { agent: turn.agent, turn: turn.id, reason });
    }

    fn count_unattended(&mut self) {
        let limit = self.channel.options.for_channel().turns_unattended_max;
        self.channel.unattended_turns = self.channel.unattended_turns.saturating_add(1);
        if limit > 0 && self.channel.unattended_turns == limit {
            self.notice(notices::unattended(limit));
        }
    }

    pub(super) fn turn_completed(
        &mut self,
        agent: &AgentId,
        turn: Option<TurnId>,
    ) -> Result<(), ChannelRefusal> {
        self.running(agent, turn)?;
        self.complete();
        Ok(())
    }

    /// Ends the turn as completed.
    pub(super) fn complete(&mut self) {
        self.end_turn(LifecycleMove::TurnComplete, MoveCause::TurnComplete, EndReason::Completed, None);
        self.grant_next();
    }

    /// Returns the turn of this agent, if it is running.
    pub(super) fn running(
        &mut self,
        agent: &AgentId,
        id: Option<TurnId>,
    ) -> Result<&mut Turn, ChannelRefusal> {
        let turn = self.own_turn(agent, id)?;
        match &turn.phase {
            TurnPhase::Running { .. } => Ok(turn),
            TurnPhase::Waiting(waiting) => {
                let why = waiting.held_by().unwrap_or("send `resumed` first");
                Err(ChannelRefusal::TurnPaused { why })
            }
        }
    }

    /// Returns the turn of this agent, running or suspended.
    pub(super) fn own_turn(
        &mut self,
        agent: &AgentId,
        id: Option<TurnId>,
    ) -> Result<&mut Turn, ChannelRefusal> {
        if !self.member(agent)?.assigned {
            return Err(ChannelRefusal::NotAMember { agent: agent.clone() });
        }
        let holder = self.channel.turn.as_ref().map(|turn| turn.agent.clone());
        match &mut self.channel.turn {
            Some(turn) if turn.agent == *agent && id.is_none_or(|id| id == turn.id) => Ok(turn),
            Some(_) | None => Err(match id.filter(|id| id.0 <= self.channel.turns) {
                Some(turn) => ChannelRefusal::TurnOver { turn },
                None => ChannelRefusal::NotYourTurn { holder },
            }),
        }
    }

    /// Moves idle members that finished alone back to the queue: there are new messages.
    pub(super) fn wake(&mut self, author: Option<&AgentId>) {
        let members = self.channel.members.iter();
        let sleeping: Vec<AgentId> = members
            .filter(|(agent, member)| {
                member.assigned && member.state == MemberState::Idle && Some(*agent) != author
            })
            .map(|(agent, _)| agent.clone())
            .collect();
        for agent in sleeping {
            self.step(&agent, LifecycleMove::Woken, MoveCause::Message, None);
            self.channel.join_order(&agent);
        }
    }
}
