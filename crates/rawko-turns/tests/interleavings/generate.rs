//! Random events, drawn from a seed.

use rawko_turns::{
    AgentId, ChannelEvent, InterruptMode, Loss, MemberState, OptionScope, OverrideTo, TurnId, TurnOptions,
    TurnOrder, WaitUntil,
};

use crate::model::Room;

pub(crate) const AGENTS: [&str; 4] = ["a", "b", "c", "d"];

/// Small random number generator: the same seed gives the same sequence.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.roll() >> 11) % limit
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        let index = usize::try_from(self.below(all.len() as u64)).unwrap();
        all[index].clone()
    }

    /// Mostly short times, sometimes longer than every deadline.
    pub(crate) fn pause_ms(&mut self) -> i64 {
        self.pick(&[0, 1, 10, 500, 3_000, 11_000, 61_000, 400_000])
    }

    pub(crate) fn options(&mut self) -> TurnOptions {
        let modes =
            [InterruptMode::Queue, InterruptMode::Interrupt, InterruptMode::Inject, InterruptMode::Parallel];
        let orders = [TurnOrder::RoundRobin, TurnOrder::RoundRobin, TurnOrder::Priority, TurnOrder::Manual];
        TurnOptions {
            human_interrupt_mode: Some(self.pick(&modes)),
            turn_order: Some(self.pick(&orders)),
            auto_detect_turn_end: Some(self.one_in(2)),
            announce_timeouts: Some(self.one_in(2)),
            announce_disconnects: Some(self.one_in(2)),
            grace_ms: Some(self.pick(&[0, 5_000])),
            join_messages: Some(self.below(4)),
            ..TurnOptions::default()
        }
    }

    fn agent(&mut self) -> AgentId {
        self.pick(&AGENTS).into()
    }

    /// Usually the holder of the turn, sometimes another agent.
    fn speaker(&mut self, room: &Room) -> (AgentId, Option<TurnId>) {
        match &room.channel.turn {
            Some(turn) if !self.one_in(4) => (turn.agent.clone(), self.one_in(2).then_some(turn.id)),
            Some(_) | None => (self.agent(), self.one_in(2).then(|| TurnId(self.below(6)))),
        }
    }

    /// Draws the next event and its rooms. A connection belongs to an agent, so its events go to every channel of the
    /// agent.
    pub(crate) fn happening(&mut self, rooms: &[Room]) -> Vec<(usize, ChannelEvent)> {
        let at = usize::try_from(self.below(rooms.len() as u64)).unwrap();
        if self.one_in(4) {
            let agent = self.agent();
            let event = self.presence(agent);
            return (0..rooms.len()).map(|at| (at, event.clone())).collect();
        }
        vec![(at, if self.one_in(3) { self.by_person(&rooms[at]) } else { self.by_agent(&rooms[at]) })]
    }

    fn presence(&mut self, agent: AgentId) -> ChannelEvent {
        match self.below(6) {
            0 | 1 => ChannelEvent::AgentStarted { agent, session: "s".into(), resumed: self.one_in(2) },
            2 => ChannelEvent::AgentStopped { agent },
            3 => ChannelEvent::ConnectionLost { agent },
            4 => ChannelEvent::AgentLost {
                agent,
                loss: self.pick(&[Loss::Exited, Loss::HeartbeatsMissed, Loss::CutOff]),
            },
            _ => ChannelEvent::TimePassed,
        }
    }

    fn by_agent(&mut self, room: &Room) -> ChannelEvent {
        let (agent, turn) = self.speaker(room);
        let id = self.one_in(2).then(|| format!("m{}", self.below(9)));
        match self.below(8) {
            0..=2 => ChannelEvent::AgentSpoke { agent, turn, id, text: "said".into() },
            3 => ChannelEvent::AgentSpoke { agent, turn, id, text: "said TURN_COMPLETE".into() },
            4 => ChannelEvent::TurnCompleted { agent, turn },
            5 => {
                let until =
                    [WaitUntil::Resumed, WaitUntil::Message, WaitUntil::Person, WaitUntil::Time(20_000)];
                let until = self.pick(&until);
                ChannelEvent::WaitRequested {
                    agent,
                    turn,
                    reason: String::new(),
                    until,
                    timeout_ms: Some(4_000),
                }
            }
            6 => ChannelEvent::WaitResolved { agent, turn },
            _ => ChannelEvent::TimePassed,
        }
    }

    fn by_person(&mut self, room: &Room) -> ChannelEvent {
        let (agent, by) = (self.agent(), "p".to_owned());
        match self.below(14) {
            0..=3 => {
                let online = room.channel.state_of(&agent) != MemberState::Offline || self.one_in(2);
                ChannelEvent::Assigned { agent, by, session: online.then(|| "s".to_owned()) }
            }
            4 => ChannelEvent::Removed { agent, by },
            5..=7 => {
                let id = self.one_in(2).then(|| format!("p{}", self.below(9)));
                ChannelEvent::PersonSpoke { person: by, id, text: "said".into() }
            }
            8 => ChannelEvent::Overridden { by, to: self.pick(&[OverrideTo::Active, OverrideTo::Queued]) },
            9 => ChannelEvent::Skipped { by },
            10 => self.pick(&[ChannelEvent::Paused { by: by.clone() }, ChannelEvent::Resumed { by }]),
            11 => ChannelEvent::NextNamed { agent, by },
            12 => {
                let mut agents = room.channel.order.clone();
                agents.reverse();
                self.pick(&[
                    ChannelEvent::OrderSet { agents },
                    ChannelEvent::PrioritySet { agent, priority: 5 },
                ])
            }
            _ => {
                let scope = self.pick(&[
                    OptionScope::Channel,
                    OptionScope::Project,
                    OptionScope::Agent(agent.clone()),
                    OptionScope::ProjectAgent(agent),
                ]);
                ChannelEvent::OptionsSet { scope, options: self.options() }
            }
        }
    }
}
