//! Posting messages to the channel and delivering them to the members that read along.

use super::ChannelUpdate;
use crate::channel::{HeldMessage, TurnPhase, WaitingFor};
use crate::effect::ChannelEffect;
use crate::event::WaitUntil;
use crate::lifecycle::{MemberState, MoveCause};
use crate::message::{ChannelMessage, MessageAuthor};
use crate::names::{AgentId, TurnId};

/// Number of message ids remembered per author, for deduplication.
const RECENT_MAX: usize = 64;

/// Recipients of a message when it is posted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageReach {
    /// Members in the queue, which read along.
    Queue,
    /// All connected members.
    Everybody,
}

impl ChannelUpdate<'_> {
    /// Posts a message from an agent or a person: it wakes idle members, resolves waits and ends a quiet period.
    pub(super) fn say(
        &mut self,
        author: MessageAuthor,
        text: String,
        id: Option<String>,
        turn: Option<(TurnId, bool)>,
        reach: MessageReach,
    ) -> u64 {
        let agent = match &author {
            MessageAuthor::Agent(agent) => Some(agent.clone()),
            MessageAuthor::Person(_) | MessageAuthor::Notice => None,
        };
        let from_person = matches!(author, MessageAuthor::Person(_));
        self.channel.members.values_mut().for_each(|member| member.asked = false);
        self.channel.rounds.spoken |= agent.is_some();
        if from_person {
            self.channel.unattended_turns = 0;
            self.channel.rounds.attend();
        }
        self.remember(agent.as_ref(), id.as_deref());
        let number = self.post(author, text, id, turn);
        self.wake(agent.as_ref());
        self.deliver(number, agent.as_ref(), reach);
        self.resolve_wait(agent.as_ref(), from_person);
        number
    }

    /// Posts a notice from the channel itself. Notices wake no members.
    pub(super) fn notice(&mut self, text: String) {
        let number = self.post(MessageAuthor::Notice, text, None, None);
        self.deliver(number, None, MessageReach::Queue);
    }

    fn post(
        &mut self,
        author: MessageAuthor,
        text: String,
        id: Option<String>,
        turn: Option<(TurnId, bool)>,
    ) -> u64 {
        self.channel.posted += 1;
        let number = self.channel.posted;
        let (turn, late) = turn.map_or((None, false), |(turn, late)| (Some(turn), late));
        self.effects.push(ChannelEffect::Posted(ChannelMessage {
            number,
            at_ms: self.now_ms,
            author,
            text,
            turn,
            late,
            id,
        }));
        number
    }

    fn deliver(&mut self, number: u64, author: Option<&AgentId>, reach: MessageReach) {
        let reads = |state: MemberState| match reach {
            MessageReach::Queue => state.is_in_queue(),
            MessageReach::Everybody => state != MemberState::Offline,
        };
        let members = self.channel.members.iter();
        let to: Vec<AgentId> = members
            .filter(|(agent, member)| member.assigned && reads(member.state) && Some(*agent) != author)
            .map(|(agent, _)| agent.clone())
            .collect();
        if !to.is_empty() {
            self.effects.push(ChannelEffect::Delivered { number, to });
        }
    }

    /// Resumes the agent that waits for a message, or for a person.
    fn resolve_wait(&mut self, author: Option<&AgentId>, from_person: bool) {
        let Some(turn) = self.channel.turn.as_ref().filter(|turn| Some(&turn.agent) != author) else {
            return;
        };
        let TurnPhase::Waiting(waiting) = &turn.phase else { return };
        let WaitingFor::Asked { until, .. } = &waiting.what else { return };
        let is_it = match until {
            WaitUntil::Message => true,
            WaitUntil::Person => from_person,
            WaitUntil::Resumed | WaitUntil::Time(_) => false,
        };
        if is_it && self.channel.paused_ms.is_none() {
            self.resume_turn(MoveCause::WaitResolved, None);
        }
    }

    fn remember(&mut self, author: Option<&AgentId>, id: Option<&str>) {
        let number = self.channel.posted + 1;
        let Some(id) = id else { return };
        let recent = match author {
            Some(agent) => self.channel.members.get_mut(agent).map(|member| &mut member.recent),
            None => Some(&mut self.channel.recent),
        };
        let Some(recent) = recent else { return };
        recent.push((id.to_owned(), number));
        if recent.len() > RECENT_MAX {
            recent.remove(0);
        }
    }

    /// Posts the messages that were held during the turn.
    pub(super) fn release_held(&mut self) {
        for HeldMessage { person, id, text, .. } in std::mem::take(&mut self.channel.held) {
            self.say(MessageAuthor::Person(person), text, id, None, MessageReach::Queue);
        }
    }
}
