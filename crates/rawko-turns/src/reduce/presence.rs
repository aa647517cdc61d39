//! Presence of agents: starting, reconnecting, getting lost.

use super::ChannelUpdate;
use crate::channel::TurnPhase;
use crate::effect::{ChannelEffect, EndReason};
use crate::event::Loss;
use crate::lifecycle::{LifecycleMove, MemberState, MoveCause};
use crate::names::AgentId;
use crate::notices;
use crate::refusal::ChannelRefusal;

impl ChannelUpdate<'_> {
    pub(super) fn agent_started(
        &mut self,
        agent: &AgentId,
        session: String,
        resumed: bool,
    ) -> Result<(), ChannelRefusal> {
        let known = self.member(agent)?.state != MemberState::Offline;
        if known && !resumed {
            self.lose(agent, MoveCause::AgentCrashes, Loss::StartedAnew.words());
        }
        let member = self.member(agent)?;
        member.session = Some(session);
        member.grace_due_ms = None;
        if member.state != MemberState::Offline {
            self.remind(agent);
            return Ok(());
        }
        let assigned = member.assigned;
        // A new process numbers its messages from the start.
        member.recent.clear();
        self.step(agent, LifecycleMove::AgentStarted, MoveCause::AgentStarts, None);
        // It was assigned while offline. A lost agent is no longer assigned.
        if assigned {
            self.enqueue(agent);
            self.grant_next();
        }
        Ok(())
    }

    /// Grants the turn again to a reconnected agent that still holds it.
    fn remind(&mut self, agent: &AgentId) {
        let upto = self.channel.posted;
        let Some(turn) = self.channel.turn.as_ref().filter(|turn| turn.agent == *agent) else { return };
        let deadline_ms = match turn.phase {
            TurnPhase::Running { deadline_ms, .. } => Some(deadline_ms),
            TurnPhase::Waiting(_) => None,
        };
        let (agent, turn, after) = (agent.clone(), turn.id, turn.after);
        self.effects.push(ChannelEffect::Granted { agent, turn, deadline_ms, after, upto, again: true });
    }

    pub(super) fn agent_stopped(&mut self, agent: &AgentId) -> Result<(), ChannelRefusal> {
        self.member(agent)?;
        self.lose(agent, MoveCause::AgentStops, "it disconnected");
        Ok(())
    }

    pub(super) fn connection_lost(&mut self, agent: &AgentId) -> Result<(), ChannelRefusal> {
        let grace_due_ms = self.in_ms(self.config(agent).grace_ms);
        let now_ms = self.now_ms;
        let member = self.member(agent)?;
        if member.state == MemberState::Offline {
            return Ok(());
        }
        if grace_due_ms <= now_ms {
            return self.agent_lost(agent, Loss::DidNotReturn);
        }
        member.grace_due_ms.get_or_insert(grace_due_ms);
        Ok(())
    }

    pub(super) fn agent_lost(&mut self, agent: &AgentId, loss: Loss) -> Result<(), ChannelRefusal> {
        self.member(agent)?;
        self.lose(agent, MoveCause::AgentCrashes, loss.words());
        Ok(())
    }

    /// Moves an agent to OFFLINE from any state and grants the next turn. `mid_turn`: the trigger to log if it held the
    /// turn.
    fn lose(&mut self, agent: &AgentId, mid_turn: MoveCause, words: &str) {
        let state = self.channel.state_of(agent);
        let reason = Some(words.to_owned());
        let config = self.config(agent);
        match state {
            MemberState::Offline => return,
            MemberState::Idle => self.step(agent, LifecycleMove::AgentStopped, MoveCause::AgentStops, reason),
            MemberState::Queued => {
                self.step(agent, LifecycleMove::Disconnected, MoveCause::AgentDisconnects, reason)
            }
            MemberState::Active => {
                let context = self.turn_context(words);
                self.end_turn(LifecycleMove::Crashed, mid_turn, EndReason::Lost, Some(context));
            }
            MemberState::Waiting => {
                let context = self.turn_context(words);
                self.end_turn(
                    LifecycleMove::Disconnected,
                    MoveCause::AgentDisconnects,
                    EndReason::Lost,
                    Some(context),
                );
            }
        }
        self.channel.leave_order(agent);
        if let Some(member) = self.channel.members.get_mut(agent) {
            member.assigned = false;
            member.session = None;
            member.grace_due_ms = None;
        }
        self.grant_next();
        if matches!(state, MemberState::Active | MemberState::Waiting) && config.announce_disconnects {
            self.notice(notices::disconnected(agent));
        }
        if !self.channel.has_agents() && self.channel.options.for_channel().announce_empty {
            self.notice(notices::NO_AGENTS.to_owned());
        }
    }

    /// Returns the log text for a turn that was cut off.
    fn turn_context(&self, words: &str) -> String {
        let turn = self.channel.turn.as_ref();
        turn.map_or_else(
            || words.to_owned(),
            |turn| {
                format!(
                    "{words}; turn {} since {} ms, {} posted",
                    turn.id,
                    self.now_ms - turn.granted_ms,
                    turn.posted
                )
            },
        )
    }

    pub(super) fn recovered(&mut self) {
        let there: Vec<AgentId> = self
            .channel
            .members
            .iter()
            .filter(|(_, member)| member.state != MemberState::Offline)
            .map(|(agent, _)| agent.clone())
            .collect();
        for agent in there {
            let due = self.in_ms(self.config(&agent).grace_ms);
            if let Some(member) = self.channel.members.get_mut(&agent) {
                member.grace_due_ms.get_or_insert(due);
            }
        }
        self.time_passed(Some("the host was down"));
    }
}
