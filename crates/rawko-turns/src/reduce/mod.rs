//! `reduce`: applies one event and returns its effects. A flat `match`; each arm is a function in the file of its
//! topic.

mod membership;
mod posting;
mod presence;
mod rounds;
mod speaking;
mod steering;
mod time;
mod turns;
mod waiting;

use crate::channel::{Channel, ChannelMember};
use crate::effect::{ChannelEffect, MemberMove};
use crate::event::ChannelEvent;
use crate::lifecycle::{LifecycleMove, MoveCause};
use crate::names::AgentId;
use crate::options::TurnConfig;
use crate::refusal::ChannelRefusal;

/// Applies an event. A refusal leaves the channel unchanged.
///
/// **Invariant**: at most one member is ACTIVE or WAITING, and it is the holder of the turn.
pub fn reduce(
    channel: &mut Channel,
    event: ChannelEvent,
    now_ms: i64,
) -> Result<Vec<ChannelEffect>, ChannelRefusal> {
    let mut work = ChannelUpdate { channel, now_ms, effects: Vec::new() };
    match event {
        ChannelEvent::AgentStarted { agent, session, resumed } => {
            work.agent_started(&agent, session, resumed)?
        }
        ChannelEvent::AgentStopped { agent } => work.agent_stopped(&agent)?,
        ChannelEvent::ConnectionLost { agent } => work.connection_lost(&agent)?,
        ChannelEvent::AgentLost { agent, loss } => work.agent_lost(&agent, loss)?,
        ChannelEvent::Assigned { agent, by, session } => work.assigned(&agent, &by, session)?,
        ChannelEvent::Removed { agent, by } => work.removed(&agent, by)?,
        ChannelEvent::AgentSpoke { agent, turn, id, text } => work.agent_spoke(&agent, turn, id, &text)?,
        ChannelEvent::PersonSpoke { person, id, text } => work.person_spoke(person, id, text)?,
        ChannelEvent::TurnCompleted { agent, turn } => work.turn_completed(&agent, turn)?,
        ChannelEvent::WaitRequested { agent, turn, reason, until, timeout_ms } => {
            work.wait_requested(&agent, turn, reason, until, timeout_ms)?;
        }
        ChannelEvent::WaitResolved { agent, turn } => work.wait_resolved(&agent, turn)?,
        ChannelEvent::Overridden { by, to } => work.overridden(&by, to)?,
        ChannelEvent::Skipped { by } => work.skipped(&by)?,
        ChannelEvent::NextNamed { agent, by } => work.next_named(agent, &by)?,
        ChannelEvent::Paused { by } => work.paused(&by)?,
        ChannelEvent::Resumed { by } => work.resumed(&by)?,
        ChannelEvent::OrderSet { agents } => work.order_set(agents)?,
        ChannelEvent::PrioritySet { agent, priority } => work.priority_set(&agent, priority)?,
        ChannelEvent::OptionsSet { scope, options } => work.options_set(scope, options),
        ChannelEvent::RoundJudged { judgement } => work.round_judged(judgement),
        ChannelEvent::TimePassed => work.time_passed(None),
        ChannelEvent::Recovered => work.recovered(),
    }
    Ok(work.effects)
}

/// The channel under change, with the effects so far.
struct ChannelUpdate<'c> {
    channel: &'c mut Channel,
    now_ms: i64,
    effects: Vec<ChannelEffect>,
}

impl ChannelUpdate<'_> {
    fn member(&mut self, agent: &AgentId) -> Result<&mut ChannelMember, ChannelRefusal> {
        let refusal = || ChannelRefusal::NotAMember { agent: agent.clone() };
        self.channel.members.get_mut(agent).ok_or_else(refusal)
    }

    fn config(&self, agent: &AgentId) -> TurnConfig {
        self.channel.options.for_agent(agent)
    }

    /// Moves a member along the lifecycle and emits `MemberMove`.
    fn step(&mut self, agent: &AgentId, by: LifecycleMove, trigger: MoveCause, reason: Option<String>) {
        let solo = by == LifecycleMove::TurnComplete && self.is_alone(agent);
        let at_ms = self.now_ms;
        let Some(member) = self.channel.members.get_mut(agent) else { return };
        let from = member.state;
        let Some(to) = by.leads(from, solo) else {
            debug_assert!(false, "{by:?} does not lead anywhere from {from:?}");
            return;
        };
        member.state = to;
        let agent = agent.clone();
        self.effects.push(ChannelEffect::Moved(MemberMove { agent, by, from, to, trigger, reason, at_ms }));
    }

    /// Returns true if the queue holds no other agent.
    fn is_alone(&self, agent: &AgentId) -> bool {
        let mut others = self.channel.members.iter().filter(|(other, _)| *other != agent);
        !others.any(|(_, member)| member.state.is_in_queue())
    }

    /// Returns the time `ms` from now.
    fn in_ms(&self, ms: u64) -> i64 {
        self.now_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))
    }
}
