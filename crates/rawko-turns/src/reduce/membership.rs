//! Membership of the channel: assigning and removing agents.

use super::ChannelUpdate;
use crate::channel::ChannelMember;
use crate::effect::{ChannelEffect, EndReason};
use crate::lifecycle::{LifecycleMove, MemberState, MoveCause};
use crate::names::AgentId;
use crate::refusal::ChannelRefusal;

impl ChannelUpdate<'_> {
    pub(super) fn assigned(
        &mut self,
        agent: &AgentId,
        by: &str,
        session: Option<String>,
    ) -> Result<(), ChannelRefusal> {
        let join = self.config(agent).join_messages;
        let seen = self.channel.posted.saturating_sub(join);
        let new = ChannelMember { seen, ..ChannelMember::default() };
        let member = self.channel.members.entry(agent.clone()).or_insert(new);
        if member.assigned {
            return Err(ChannelRefusal::AlreadyAssigned { agent: agent.clone() });
        }
        member.assigned = true;
        // Offline agents are listed too: the list keeps the order of assignment.
        self.channel.order.push(agent.clone());
        let Some(member) = self.channel.members.get_mut(agent) else { return Ok(()) };
        if member.state == MemberState::Offline && session.is_some() {
            member.session = session;
            self.step(agent, LifecycleMove::AgentStarted, MoveCause::AgentStarts, None);
        }
        if self.channel.state_of(agent) == MemberState::Idle {
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
        self.step(agent, LifecycleMove::Assigned, MoveCause::AssignedToChannel, reason);
        self.channel.join_order(agent);
        // A new member gets a turn even if no message was posted since its last one.
        if let Some(member) = self.channel.members.get_mut(agent) {
            member.asked = false;
        }
        self.effects.push(ChannelEffect::Assigned { agent: agent.clone() });
    }

    pub(super) fn removed(&mut self, agent: &AgentId, by: String) -> Result<(), ChannelRefusal> {
        if !self.member(agent)?.assigned {
            return Err(ChannelRefusal::NotAMember { agent: agent.clone() });
        }
        let reason = Some(format!("by {by}"));
        match self.channel.state_of(agent) {
            MemberState::Offline | MemberState::Idle => {}
            MemberState::Queued => {
                self.step(agent, LifecycleMove::Removed, MoveCause::RemovedFromChannel, reason)
            }
            MemberState::Active | MemberState::Waiting => {
                self.end_turn(
                    LifecycleMove::Removed,
                    MoveCause::RemovedFromChannel,
                    EndReason::Removed,
                    reason,
                );
            }
        }
        self.channel.leave_order(agent);
        if let Some(member) = self.channel.members.get_mut(agent) {
            member.assigned = false;
        }
        self.effects.push(ChannelEffect::Dismissed { agent: agent.clone(), by });
        self.grant_next();
        Ok(())
    }
}
