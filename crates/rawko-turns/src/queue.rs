//! Selection of the next agent. Separate from granting: this file only holds the choice and the list it is made from.

use crate::channel::Channel;
use crate::lifecycle::MemberState;
use crate::names::AgentId;
use crate::options::TurnOrder;

impl Channel {
    /// Returns the agent that gets the next turn; none while the channel rests.
    pub(crate) fn pick(&self) -> Option<AgentId> {
        let queued: Vec<&AgentId> = self.in_state(MemberState::Queued).collect();
        if let Some(named) = self.next.as_ref().filter(|named| queued.contains(named)) {
            return Some(named.clone());
        }
        let config = self.options.for_channel();
        if queued.is_empty() || self.rests() {
            return None;
        }
        match config.order {
            TurnOrder::RoundRobin => self.around().into_iter().find(|agent| queued.contains(agent)).cloned(),
            TurnOrder::Priority => self.by_priority(&queued),
            TurnOrder::Manual => None,
        }
    }

    /// Returns true if no turn is granted until the next message: the rounds made no progress, too many turns
    /// passed without a message from a person, or every agent had a turn without posting and there
    /// is only one, or the options are set so.
    pub fn rests(&self) -> bool {
        let config = self.options.for_channel();
        let limit = config.turns_unattended_max;
        self.rounds.stuck
            || (config.rest_when_quiet || self.in_state(MemberState::Queued).count() < 2) && self.is_quiet()
            || limit > 0 && self.unattended_turns >= limit
    }

    /// Returns true if every queued agent had a turn since the last message.
    fn is_quiet(&self) -> bool {
        let mut queued = self.in_state(MemberState::Queued).filter_map(|agent| self.members.get(agent));
        queued.all(|member| member.asked)
    }

    /// Returns the list, starting after the holder of the last turn.
    fn around(&self) -> Vec<&AgentId> {
        let last = self.last.as_ref().and_then(|last| self.order.iter().position(|agent| agent == last));
        let from = last.map_or(0, |last| last + 1);
        self.order[from..].iter().chain(&self.order[..from]).collect()
    }

    fn by_priority(&self, queued: &[&AgentId]) -> Option<AgentId> {
        let due: Vec<&&AgentId> = queued.iter().filter(|agent| !self.taken.contains(**agent)).collect();
        let due = if due.is_empty() { queued.iter().collect() } else { due };
        let priority = |agent: &AgentId| self.members.get(agent).map_or(0, |member| member.priority);
        // `min_by_key` returns the first of several equal elements.
        due.into_iter().min_by_key(|agent| std::cmp::Reverse(priority(agent))).map(|agent| (*agent).clone())
    }

    /// Records the holder of the turn for later choices.
    pub(crate) fn note_turn(&mut self, agent: &AgentId) {
        if self.next.as_ref() == Some(agent) {
            self.next = None;
        }
        // Every agent had a turn: a new cycle begins.
        let everybody = self.in_state(MemberState::Queued).all(|queued| self.taken.contains(queued));
        if everybody && self.taken.contains(agent) {
            self.taken.clear();
        }
        self.taken.insert(agent.clone());
        self.last = Some(agent.clone());
    }

    pub(crate) fn join_order(&mut self, agent: &AgentId) {
        if !self.order.contains(agent) {
            self.order.push(agent.clone());
        }
    }

    /// Removes an agent from the list; the agent after it is next.
    pub(crate) fn leave_order(&mut self, agent: &AgentId) {
        let Some(place) = self.order.iter().position(|known| known == agent) else { return };
        self.order.remove(place);
        self.taken.remove(agent);
        if self.next.as_ref() == Some(agent) {
            self.next = None;
        }
        if self.last.as_ref() == Some(agent) {
            let before = if place == 0 { self.order.last() } else { self.order.get(place - 1) };
            self.last = before.cloned();
        }
    }
}
