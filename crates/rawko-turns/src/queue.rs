//! Who is next. Apart from granting: here is only the choice, and the list it is made from.

use crate::channel::Channel;
use crate::lifecycle::State;
use crate::names::AgentId;
use crate::options::TurnOrder;

impl Channel {
    /// Who gets the next turn; nobody while the channel rests.
    pub(crate) fn pick(&self) -> Option<AgentId> {
        let queued: Vec<&AgentId> = self.in_state(State::Queued).collect();
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

    /// Whether turns stop until somebody speaks: everybody had one since the last word and had nothing to say, or too
    /// many passed without a person.
    pub fn rests(&self) -> bool {
        let config = self.options.for_channel();
        let limit = config.turns_unattended_max;
        config.rest_when_quiet && self.is_quiet() || limit > 0 && self.unattended_turns >= limit
    }

    /// Everybody in the queue was asked since the last word, and the last word it was.
    fn is_quiet(&self) -> bool {
        let mut queued = self.in_state(State::Queued).filter_map(|agent| self.members.get(agent));
        queued.all(|member| member.asked)
    }

    /// The list, from behind whoever had the last turn.
    fn around(&self) -> Vec<&AgentId> {
        let last = self.last.as_ref().and_then(|last| self.order.iter().position(|agent| agent == last));
        let from = last.map_or(0, |last| last + 1);
        self.order[from..].iter().chain(&self.order[..from]).collect()
    }

    fn by_priority(&self, queued: &[&AgentId]) -> Option<AgentId> {
        let due: Vec<&&AgentId> = queued.iter().filter(|agent| !self.taken.contains(**agent)).collect();
        let due = if due.is_empty() { queued.iter().collect() } else { due };
        let priority = |agent: &AgentId| self.members.get(agent).map_or(0, |member| member.priority);
        // The first of equals: `min_by_key` keeps it.
        due.into_iter().min_by_key(|agent| std::cmp::Reverse(priority(agent))).map(|agent| (*agent).clone())
    }

    /// Notes who has the turn now, for the choices to come.
    pub(crate) fn note_turn(&mut self, agent: &AgentId) {
        if self.next.as_ref() == Some(agent) {
            self.next = None;
        }
        // Everybody had one: a new cycle.
        let everybody = self.in_state(State::Queued).all(|queued| self.taken.contains(queued));
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

    /// Takes an agent out of the list; whoever came after it is next.
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
