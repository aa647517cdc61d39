//! A channel, with a model of it built only from its effects. The two must agree.

use std::collections::{BTreeMap, BTreeSet};

use rawko_turns::{
    AgentId, Channel, ChannelEffect, ChannelEvent, MemberState, MessageAuthor, OptionScope, OverrideTo,
    TurnOptions, TurnOrder, TurnPhase, reduce,
};

use crate::generate::{AGENTS, Dice};

pub(crate) struct Room {
    pub(crate) channel: Channel,
    seed: u64,
    /// States according to the log.
    states: BTreeMap<AgentId, MemberState>,
    /// Messages that each agent received or posted.
    got: BTreeMap<AgentId, BTreeSet<u64>>,
    /// Last message seen by each agent at the previous check.
    seen: BTreeMap<AgentId, u64>,
    posted: u64,
    /// Messages accepted from authors, and messages posted by the channel.
    accepted: usize,
    said: usize,
    /// Number of the last posted one.
    last_said: u64,
}

impl Room {
    pub(crate) fn new(seed: u64, number: usize, dice: &mut Dice) -> Self {
        let mut channel = Channel::new(format!("channel-{number}"));
        channel.options.channel = dice.options();
        let nobody = AGENTS.map(|agent| (agent.into(), MemberState::Offline));
        Self {
            channel,
            seed,
            states: nobody.into(),
            got: BTreeMap::new(),
            seen: BTreeMap::new(),
            posted: 0,
            accepted: 0,
            said: 0,
            last_said: 0,
        }
    }

    /// Restores the channel from its serialized state.
    pub(crate) fn restart(&mut self) {
        let text = serde_json::to_string(&self.channel).unwrap();
        let read: Channel = serde_json::from_str(&text).unwrap();
        assert_eq!(read, self.channel, "seed {}", self.seed);
        self.channel = read;
    }

    pub(crate) fn play(&mut self, event: ChannelEvent, now_ms: i64) {
        let before = self.channel.clone();
        match reduce(&mut self.channel, event.clone(), now_ms) {
            Ok(effects) => {
                self.accepted += usize::from(says_something(&event));
                effects.iter().for_each(|effect| self.observe(effect));
            }
            Err(_) => assert_eq!(self.channel, before, "a refusal changed something, seed {}", self.seed),
        }
        let timed = matches!(event, ChannelEvent::TimePassed | ChannelEvent::Recovered);
        let wrong = self.wrong(timed.then_some(now_ms));
        assert_eq!(wrong, None, "seed {}, after {event:?}, channel {:#?}", self.seed, self.channel);
        self.seen = self.channel.members.iter().map(|(agent, member)| (agent.clone(), member.seen)).collect();
    }

    fn observe(&mut self, effect: &ChannelEffect) {
        let seed = self.seed;
        match effect {
            ChannelEffect::Moved(moved) => {
                let state = self.states.get_mut(&moved.agent).unwrap();
                assert_eq!(*state, moved.from, "seed {seed}: {moved:?}");
                *state = moved.to;
            }
            ChannelEffect::Posted(message) => {
                self.posted += 1;
                assert_eq!(message.number, self.posted, "seed {seed}: numbers without gaps");
                if message.author != MessageAuthor::Notice {
                    self.said += 1;
                    self.last_said = message.number;
                }
                if let MessageAuthor::Agent(agent) = &message.author {
                    self.got.entry(agent.clone()).or_default().insert(message.number);
                }
            }
            ChannelEffect::Delivered { number, to } => {
                for agent in to {
                    self.got.entry(agent.clone()).or_default().insert(*number);
                }
            }
            ChannelEffect::Granted { agent, after, upto, .. }
            | ChannelEffect::Resumed { agent, after, upto, .. } => {
                self.got.entry(agent.clone()).or_default().extend(after + 1..=*upto);
            }
            ChannelEffect::Held { .. }
            | ChannelEffect::Suspended { .. }
            | ChannelEffect::WaitBegan { .. }
            | ChannelEffect::Ended { .. }
            | ChannelEffect::Assigned { .. }
            | ChannelEffect::Dismissed { .. }
            | ChannelEffect::Warned { .. }
            | ChannelEffect::RoundEnded { .. } => {}
        }
    }

    /// Returns the first violated invariant.
    fn wrong(&self, timed: Option<i64>) -> Option<&'static str> {
        let channel = &self.channel;
        let with_turn: Vec<&AgentId> = channel
            .members
            .iter()
            .filter(|(_, member)| matches!(member.state, MemberState::Active | MemberState::Waiting))
            .map(|(agent, _)| agent)
            .collect();
        let holder: Vec<&AgentId> = channel.turn.iter().map(|turn| &turn.agent).collect();
        let phase = channel.turn.as_ref().map(|turn| matches!(turn.phase, TurnPhase::Running { .. }));
        let active = channel.members.values().filter(|member| member.state == MemberState::Active).count();
        let in_queue = |agent: &AgentId| channel.state_of(agent).is_in_queue();
        let listed: BTreeSet<&AgentId> = channel.order.iter().collect();
        let checks = [
            (with_turn == holder, "ACTIVE or WAITING is exactly the one whose turn it is"),
            (
                active == usize::from(phase == Some(true)),
                "a turn that runs is ACTIVE, one that stands WAITING",
            ),
            (listed.len() == channel.order.len(), "the list names everybody once"),
            (
                channel.members.keys().all(|agent| !in_queue(agent) || listed.contains(agent)),
                "the queue is in the list",
            ),
            (channel.order.iter().all(|agent| channel.members[agent].assigned), "the list is of members"),
            (
                channel.members.iter().all(|(agent, member)| self.states[agent] == member.state),
                "the log tells the states",
            ),
            (!self.stands_idle(), "somebody waits for a turn and nobody has it"),
            (self.accepted == self.said + channel.held.len(), "every message is in the channel or held"),
            (self.seen_was_handed_over(), "what counts as seen was handed over"),
            (
                timed.is_none_or(|now| channel.next_due().is_none_or(|(due, _)| due > now)),
                "what is due is done",
            ),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
    }

    fn stands_idle(&self) -> bool {
        let channel = &self.channel;
        channel.turn.is_none()
            && channel.paused_ms.is_none()
            && channel.options.for_channel().order != TurnOrder::Manual
            && channel.in_state(MemberState::Queued).next().is_some()
            && !channel.rests()
    }

    fn seen_was_handed_over(&self) -> bool {
        let nothing = BTreeSet::new();
        self.channel.members.iter().all(|(agent, member)| {
            // Messages from before the membership do not count.
            let Some(before) = self.seen.get(agent) else { return true };
            let got = self.got.get(agent).unwrap_or(&nothing);
            (before + 1..=member.seen).all(|number| got.contains(&number))
        })
    }

    /// Lets every agent complete its turns until all messages are seen.
    pub(crate) fn drain(&mut self, now_ms: i64) {
        let by = || "p".to_owned();
        self.play(ChannelEvent::Resumed { by: by() }, now_ms);
        self.play(
            ChannelEvent::OptionsSet { scope: OptionScope::Channel, options: TurnOptions::default() },
            now_ms,
        );
        self.play(
            ChannelEvent::OptionsSet { scope: OptionScope::Project, options: TurnOptions::default() },
            now_ms,
        );
        for _ in 0..100 {
            let Some(turn) = self.channel.turn.clone() else { break };
            match turn.phase {
                TurnPhase::Running { .. } => {
                    self.play(ChannelEvent::TurnCompleted { agent: turn.agent, turn: Some(turn.id) }, now_ms);
                }
                TurnPhase::Waiting(_) => {
                    self.play(ChannelEvent::Overridden { by: by(), to: OverrideTo::Active }, now_ms)
                }
            }
        }
        assert_eq!(self.channel.turn, None, "turns come to rest, seed {}", self.seed);
        assert!(self.channel.held.is_empty(), "nothing is held for ever, seed {}", self.seed);
        for (agent, member) in self.channel.members.iter().filter(|(_, member)| member.state.is_in_queue()) {
            let got = self.got.get(agent).cloned().unwrap_or_default();
            let has_all = (member.seen + 1..=self.last_said).all(|number| got.contains(&number));
            assert!(has_all, "{agent} missed something, seed {}", self.seed);
        }
    }
}

fn says_something(event: &ChannelEvent) -> bool {
    match event {
        ChannelEvent::AgentSpoke { text, .. } | ChannelEvent::PersonSpoke { text, .. } => {
            text.starts_with("said")
        }
        _ => false,
    }
}
