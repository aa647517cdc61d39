//! Messages from agents and people, and the checks whether they are allowed.

use super::ChannelUpdate;
use super::posting::MessageReach;
use crate::channel::{HeldMessage, SuspendedTurn, TurnPhase, WaitingFor};
use crate::effect::{ChannelEffect, SuspendReason};
use crate::event::WaitUntil;
use crate::lifecycle::{LifecycleMove, MoveCause};
use crate::message::MessageAuthor;
use crate::names::{AgentId, TurnId};
use crate::options::InterruptMode;
use crate::refusal::ChannelRefusal;
use crate::text::split_complete;

/// Limit on messages from people that are held during one turn.
const HELD_MAX: usize = 1_000;

impl ChannelUpdate<'_> {
    pub(super) fn agent_spoke(
        &mut self,
        agent: &AgentId,
        turn: Option<TurnId>,
        id: Option<String>,
        text: &str,
    ) -> Result<(), ChannelRefusal> {
        let recent = &self.member(agent)?.recent;
        refuse_duplicate(recent, id.as_deref())?;
        let (text, complete) = split_complete(text);
        if text.trim().is_empty() && !complete {
            return Err(ChannelRefusal::Empty);
        }
        let author = MessageAuthor::Agent(agent.clone());
        if let Some(ended) = self.late(agent, turn) {
            if !text.is_empty() {
                self.say(author, text.to_owned(), id, Some((ended, true)), MessageReach::Queue);
                self.grant_next();
            }
            return Ok(());
        }
        let running = self.running(agent, turn)?;
        let current = running.id;
        if !text.is_empty() {
            running.posted += 1;
            self.say(author, text.to_owned(), id, Some((current, false)), MessageReach::Queue);
            self.await_silence(agent);
        }
        if complete {
            self.complete();
        }
        Ok(())
    }

    /// Returns the turn that just ended, if the message belongs to it.
    fn late(&self, agent: &AgentId, turn: Option<TurnId>) -> Option<TurnId> {
        let ended = self.channel.ended.as_ref().filter(|ended| ended.agent == *agent)?;
        let assigned = self.channel.members.get(agent).is_some_and(|member| member.assigned);
        let has_turn = self.channel.turn.as_ref().is_some_and(|now| now.agent == *agent);
        let meant = turn.map_or(!has_turn, |turn| turn == ended.id);
        (assigned && meant).then_some(ended.id)
    }

    /// Starts the silence timer, if enabled.
    fn await_silence(&mut self, agent: &AgentId) {
        let config = self.config(agent);
        let due = config.auto_detect_turn_end.then(|| self.in_ms(config.silence_ms));
        if let Some(TurnPhase::Running { silence_due_ms, .. }) =
            self.channel.turn.as_mut().filter(|turn| turn.agent == *agent).map(|turn| &mut turn.phase)
        {
            *silence_due_ms = due;
        }
    }

    pub(super) fn person_spoke(
        &mut self,
        person: String,
        id: Option<String>,
        text: String,
    ) -> Result<(), ChannelRefusal> {
        refuse_duplicate(&self.channel.recent, id.as_deref())?;
        if text.trim().is_empty() {
            return Err(ChannelRefusal::Empty);
        }
        let mode = self.channel.config().interrupt;
        let in_turn = self.channel.turn.is_some() && !self.waits_for_person();
        let author = MessageAuthor::Person(person.clone());
        match mode {
            InterruptMode::Queue if in_turn => return self.hold_back(person, id, text),
            InterruptMode::Interrupt if in_turn => {
                self.interrupt(&person);
                self.say(author, text, id, None, MessageReach::Queue);
            }
            InterruptMode::Inject if in_turn => {
                self.say(author, text, id, None, MessageReach::Queue);
                self.restart_silence();
            }
            InterruptMode::Parallel => {
                self.say(author, text, id, None, MessageReach::Everybody);
            }
            InterruptMode::Queue | InterruptMode::Interrupt | InterruptMode::Inject => {
                self.say(author, text, id, None, MessageReach::Queue);
            }
        }
        self.grant_next();
        Ok(())
    }

    /// Returns true if the turn is suspended until the next message. Holding a message back then has no use.
    fn waits_for_person(&self) -> bool {
        let waiting = self.channel.turn.as_ref().map(|turn| &turn.phase);
        matches!(
            waiting,
            Some(TurnPhase::Waiting(SuspendedTurn {
                what: WaitingFor::Asked { until: WaitUntil::Message | WaitUntil::Person, .. },
                ..
            }))
        )
    }

    fn hold_back(&mut self, person: String, id: Option<String>, text: String) -> Result<(), ChannelRefusal> {
        let known = |held: &HeldMessage| id.is_some() && held.id == id;
        if self.channel.held.iter().any(known) {
            return Err(ChannelRefusal::AlreadyHeld);
        }
        if self.channel.held.len() >= HELD_MAX {
            return Err(ChannelRefusal::TooManyHeld { held: HELD_MAX });
        }
        self.effects.push(ChannelEffect::Held { person: person.clone(), text: text.clone() });
        self.channel.held.push(HeldMessage { person, id, text, at_ms: self.now_ms });
        Ok(())
    }

    /// Suspends the current turn. Each further message extends the person's hold.
    fn interrupt(&mut self, person: &str) {
        let Some(agent) = self.channel.turn.as_ref().map(|turn| turn.agent.clone()) else { return };
        let due = self.in_ms(self.config(&agent).hold_ms);
        let is_held = match self.channel.turn.as_mut().map(|turn| &mut turn.phase) {
            Some(TurnPhase::Waiting(SuspendedTurn { what: WaitingFor::Person, due_ms, .. })) => {
                *due_ms = Some(due);
                true
            }
            // A wait of the agent, or a pause, continues unchanged.
            Some(TurnPhase::Waiting(_)) | None => true,
            Some(TurnPhase::Running { .. }) => false,
        };
        if !is_held {
            let words = Some(format!("by {person}"));
            self.pause_turn(WaitingFor::Person, Some(due), MoveCause::HumanInterrupt, words);
            self.suspended(SuspendReason::HumanInterrupt);
        }
    }

    pub(super) fn suspended(&mut self, reason: SuspendReason) {
        if let Some(turn) = &self.channel.turn {
            let (agent, turn) = (turn.agent.clone(), turn.id);
            self.effects.push(ChannelEffect::Suspended { agent, turn, reason });
        }
    }

    /// Restarts the silence timer, because the agent has a new message to answer.
    fn restart_silence(&mut self) {
        let Some(turn) = &self.channel.turn else { return };
        if let TurnPhase::Running { silence_due_ms: Some(_), .. } = turn.phase {
            let agent = turn.agent.clone();
            self.await_silence(&agent);
        }
    }

    /// Suspends the turn and stops its clock.
    pub(super) fn pause_turn(
        &mut self,
        what: WaitingFor,
        due_ms: Option<i64>,
        trigger: MoveCause,
        words: Option<String>,
    ) {
        let (now_ms, since) = (self.now_ms, self.channel.posted);
        let Some(turn) = &mut self.channel.turn else { return };
        let TurnPhase::Running { deadline_ms, .. } = turn.phase else { return };
        let remaining_ms = deadline_ms.saturating_sub(now_ms).max(0);
        turn.phase = TurnPhase::Waiting(SuspendedTurn { what, remaining_ms, since, due_ms });
        let agent = turn.agent.clone();
        self.step(&agent, LifecycleMove::WaitRequested, trigger, words);
    }
}

fn refuse_duplicate(recent: &[(String, u64)], id: Option<&str>) -> Result<(), ChannelRefusal> {
    let known = id.and_then(|id| recent.iter().find(|(known, _)| known == id));
    known.map_or(Ok(()), |(_, number)| Err(ChannelRefusal::Duplicate { number: *number }))
}
