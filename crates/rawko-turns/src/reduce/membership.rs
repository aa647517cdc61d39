//! Membership of the channel: assigning and removing agents.

use super::Work;
use crate::channel::Member;
use crate::effect::{Effect, EndReason};
use crate::lifecycle::{Move, State, Trigger};
use crate::names::AgentId;
use crate::refusal::Refusal;

impl Work<'_> {
    pub(super) fn assigned(
        &mut self,
        agent: &AgentId,
        by: &str,
        session: Option<String>,
    ) -> Result<(), Refusal> {
        let join = self.config(agent).join_messages;
        let seen = self.channel.posted.saturating_sub(join);
        let new = Member { seen, ..Member::default() };
        let member = self.channel.members.entry(agent.clone()).or_insert(new);
        if member.assigned {
            return Err(Refusal::AlreadyAssigned { agent: agent.clone() });
        }
        member.assigned = true;
        // Offline agents are listed too: the list keeps the order of assignment.
        self.channel.order.push(agent.clone());
        let Some(member) = self.channel.members.get_mut(agent) else { return Ok(()) };
        if member.state == State::Offline && session.is_some() {
            member.session = session;
            self.step(agent, Move::AgentStarted, Trigger::AgentStarts, None);
        }
        if self.channel.state_of(agent) == State::Idle {
            self.enqueue_by(agent, Some(by));
            self.grant_next();
        }
        Ok(())
    }

    pub(super) fn enqueue(&mut self, agent: &AgentId) {
        self.enqueue_by(agent, None);
    }

    fn enqueue_by(&mut self, agent: &AgentId, by: Option<&str>) {
        let reason = by.map(|by| format!("by {by}"));
        self.step(agent, Move::Assigned, Trigger::AssignedToChannel, reason);
        self.channel.join_order(agent);
        // A new member gets a turn even if no message was posted since its last one.
        if let Some(member) = self.channel.members.get_mut(agent) {
            member.asked = false;
        }
        self.effects.push(Effect::Assigned { agent: agent.clone() });
    }

    pub(super) fn removed(&mut self, agent: &AgentId, by: String) -> Result<(), Refusal> {
        if !self.member(agent)?.assigned {
            return Err(Refusal::NotAMember { agent: agent.clone() });
        }
        let reason = Some(format!("by {by}"));
        match self.channel.state_of(agent) {
            State::Offline | State::Idle => {}
            State::Queued => self.step(agent, Move::Removed, Trigger::RemovedFromChannel, reason),
            State::Active | State::Waiting => {
                self.end_turn(Move::Removed, Trigger::RemovedFromChannel, EndReason::Removed, reason);
            }
        }
        self.channel.leave_order(agent);
        if let Some(member) = self.channel.members.get_mut(agent) {
            member.assigned = false;
        }
        self.effects.push(Effect::Dismissed { agent: agent.clone(), by });
        self.grant_next();
        Ok(())
    }
}
