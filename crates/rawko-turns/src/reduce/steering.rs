//! Control by people while turns run: skipping, pausing, order, priorities, options.

use super::ChannelUpdate;
use crate::channel::{TurnPhase, WaitingFor};
use crate::effect::{EndReason, SuspendReason};
use crate::event::OptionScope;
use crate::lifecycle::{LifecycleMove, MemberState, MoveCause};
use crate::names::AgentId;
use crate::options::TurnOptions;
use crate::refusal::ChannelRefusal;

impl ChannelUpdate<'_> {
    pub(super) fn skipped(&mut self, by: &str) -> Result<(), ChannelRefusal> {
        if self.channel.turn.is_none() {
            return Err(ChannelRefusal::NobodyHasTheTurn);
        }
        self.end_turn(
            LifecycleMove::Skipped,
            MoveCause::Skipped,
            EndReason::Skipped,
            Some(format!("by {by}")),
        );
        self.grant_next();
        Ok(())
    }

    pub(super) fn next_named(&mut self, agent: AgentId, by: &str) -> Result<(), ChannelRefusal> {
        let member = self.channel.members.get(&agent).filter(|member| member.assigned);
        match member.map(|member| member.state) {
            Some(MemberState::Idle) => {
                self.step(&agent, LifecycleMove::Woken, MoveCause::HumanOverride, Some(format!("by {by}")));
                self.channel.join_order(&agent);
            }
            Some(MemberState::Queued | MemberState::Active | MemberState::Waiting) => {}
            Some(MemberState::Offline) | None => return Err(ChannelRefusal::NotInQueue { agent }),
        }
        self.channel.next = Some(agent);
        self.channel.rounds.attend();
        self.grant_next();
        Ok(())
    }

    pub(super) fn paused(&mut self, by: &str) -> Result<(), ChannelRefusal> {
        if self.channel.paused_ms.is_some() {
            return Err(ChannelRefusal::AlreadyPaused);
        }
        self.channel.paused_ms = Some(self.now_ms);
        if self.channel.turn.as_ref().is_some_and(|turn| matches!(turn.phase, TurnPhase::Running { .. })) {
            let words = Some(format!("by {by}"));
            self.pause_turn(WaitingFor::Pause, None, MoveCause::ChannelPaused, words);
            self.suspended(SuspendReason::ChannelPaused);
        }
        Ok(())
    }

    pub(super) fn resumed(&mut self, by: &str) -> Result<(), ChannelRefusal> {
        let since = self.channel.paused_ms.take().ok_or(ChannelRefusal::NotPaused)?;
        self.channel.rounds.attend();
        let stood_ms = self.now_ms.saturating_sub(since).max(0);
        if let Some(TurnPhase::Waiting(waiting)) = self.channel.turn.as_mut().map(|turn| &mut turn.phase) {
            match waiting.what {
                WaitingFor::Pause => {
                    self.resume_turn(MoveCause::ChannelResumed, Some(format!("by {by}")));
                }
                WaitingFor::Asked { .. } | WaitingFor::Person => {
                    waiting.due_ms = waiting.due_ms.map(|due| due.saturating_add(stood_ms));
                }
            }
        }
        self.grant_next();
        Ok(())
    }

    pub(super) fn order_set(&mut self, agents: Vec<AgentId>) -> Result<(), ChannelRefusal> {
        for (place, agent) in agents.iter().enumerate() {
            if !self.channel.order.contains(agent) {
                return Err(ChannelRefusal::NotInQueue { agent: agent.clone() });
            }
            if agents[..place].contains(agent) {
                return Err(ChannelRefusal::NamedTwice { agent: agent.clone() });
            }
        }
        let rest = self.channel.order.iter().filter(|agent| !agents.contains(agent)).cloned();
        self.channel.order = agents.iter().cloned().chain(rest).collect();
        Ok(())
    }

    pub(super) fn priority_set(&mut self, agent: &AgentId, priority: i32) -> Result<(), ChannelRefusal> {
        self.member(agent)?.priority = priority;
        Ok(())
    }

    /// Takes effect with the next turn; a running deadline is kept.
    pub(super) fn options_set(&mut self, scope: OptionScope, options: TurnOptions) {
        let layers = &mut self.channel.options;
        match scope {
            OptionScope::Project => layers.project = options,
            OptionScope::Channel => layers.channel = options,
            OptionScope::ProjectAgent(agent) => drop(layers.project_agents.insert(agent, options)),
            OptionScope::Agent(agent) => drop(layers.agents.insert(agent, options)),
        }
        self.grant_next();
    }
}
