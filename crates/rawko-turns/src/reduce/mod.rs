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

use crate::channel::{Channel, Member};
use crate::effect::{Effect, Moved};
use crate::event::Event;
use crate::lifecycle::{Move, Trigger};
use crate::names::AgentId;
use crate::options::TurnConfig;
use crate::refusal::Refusal;

/// Applies an event. A refusal leaves the channel unchanged.
///
/// **Invariant**: at most one member is ACTIVE or WAITING, and it is the holder of the turn.
pub fn reduce(channel: &mut Channel, event: Event, now_ms: i64) -> Result<Vec<Effect>, Refusal> {
    let mut work = Work { channel, now_ms, effects: Vec::new() };
    match event {
        Event::AgentStarted { agent, session, resumed } => work.agent_started(&agent, session, resumed)?,
        Event::AgentStopped { agent } => work.agent_stopped(&agent)?,
        Event::ConnectionLost { agent } => work.connection_lost(&agent)?,
        Event::AgentLost { agent, loss } => work.agent_lost(&agent, loss)?,
        Event::Assigned { agent, by, session } => work.assigned(&agent, &by, session)?,
        Event::Removed { agent, by } => work.removed(&agent, by)?,
        Event::AgentSpoke { agent, turn, id, text } => work.agent_spoke(&agent, turn, id, &text)?,
        Event::PersonSpoke { person, id, text } => work.person_spoke(person, id, text)?,
        Event::TurnCompleted { agent, turn } => work.turn_completed(&agent, turn)?,
        Event::WaitRequested { agent, turn, reason, until, timeout_ms } => {
            work.wait_requested(&agent, turn, reason, until, timeout_ms)?;
        }
        Event::WaitResolved { agent, turn } => work.wait_resolved(&agent, turn)?,
        Event::Overridden { by, to } => work.overridden(&by, to)?,
        Event::Skipped { by } => work.skipped(&by)?,
        Event::NextNamed { agent, by } => work.next_named(agent, &by)?,
        Event::Paused { by } => work.paused(&by)?,
        Event::Resumed { by } => work.resumed(&by)?,
        Event::OrderSet { agents } => work.order_set(agents)?,
        Event::PrioritySet { agent, priority } => work.priority_set(&agent, priority)?,
        Event::OptionsSet { scope, options } => work.options_set(scope, options),
        Event::RoundJudged { judgement } => work.round_judged(judgement),
        Event::TimePassed => work.time_passed(None),
        Event::Recovered => work.recovered(),
    }
    Ok(work.effects)
}

/// The channel under change, with the effects so far.
struct Work<'c> {
    channel: &'c mut Channel,
    now_ms: i64,
    effects: Vec<Effect>,
}

impl Work<'_> {
    fn member(&mut self, agent: &AgentId) -> Result<&mut Member, Refusal> {
        let refusal = || Refusal::NotAMember { agent: agent.clone() };
        self.channel.members.get_mut(agent).ok_or_else(refusal)
    }

    fn config(&self, agent: &AgentId) -> TurnConfig {
        self.channel.options.for_agent(agent)
    }

    /// Moves a member along the lifecycle and emits `Moved`.
    fn step(&mut self, agent: &AgentId, by: Move, trigger: Trigger, reason: Option<String>) {
        let solo = by == Move::TurnComplete && self.is_alone(agent);
        let at_ms = self.now_ms;
        let Some(member) = self.channel.members.get_mut(agent) else { return };
        let from = member.state;
        let Some(to) = by.leads(from, solo) else {
            debug_assert!(false, "{by:?} does not lead anywhere from {from:?}");
            return;
        };
        member.state = to;
        let agent = agent.clone();
        self.effects.push(Effect::Moved(Moved { agent, by, from, to, trigger, reason, at_ms }));
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
