//! Drives a channel and renders it as text: `>` marks an event, the lines below it are its effects.

use std::fmt::Write;

use rawko_turns::{
    AgentId, Channel, ChannelEffect, ChannelEvent, Loss, MemberState, MessageAuthor, OptionScope, TurnId,
    TurnOptions, WaitUntil, reduce,
};

/// 2026-02-04T21:00:00Z, the time in the example of the specification.
pub(crate) const NINE: i64 = 1_770_238_800_000;

pub(crate) struct Walk {
    pub(crate) channel: Channel,
    now_ms: i64,
    text: String,
}

impl Walk {
    pub(crate) fn new() -> Self {
        Self { channel: Channel::new("reviews"), now_ms: NINE, text: String::new() }
    }

    /// Connected and assigned agents; the setup is not part of the text.
    pub(crate) fn with(agents: &[&str]) -> Self {
        let mut walk = Self::new();
        for agent in agents {
            walk = walk.assign(agent);
        }
        walk.text.clear();
        walk
    }

    pub(crate) fn options(mut self, json: &str) -> Self {
        let options: TurnOptions = serde_json::from_str(json).unwrap();
        self.channel.options.channel = options;
        self
    }

    pub(crate) fn agent_options(mut self, agent: &str, json: &str) -> Self {
        let options: TurnOptions = serde_json::from_str(json).unwrap();
        reduce(
            &mut self.channel,
            ChannelEvent::OptionsSet { scope: OptionScope::Agent(agent.into()), options },
            self.now_ms,
        )
        .unwrap();
        self
    }

    pub(crate) fn assign(self, agent: &str) -> Self {
        let session = Some(format!("s-{agent}"));
        self.play(
            &format!("{agent} assigned"),
            ChannelEvent::Assigned { agent: agent.into(), by: "kim".into(), session },
        )
    }

    pub(crate) fn assign_absent(self, agent: &str) -> Self {
        let event = ChannelEvent::Assigned { agent: agent.into(), by: "kim".into(), session: None };
        self.play(&format!("{agent} assigned while away"), event)
    }

    pub(crate) fn start(self, agent: &str) -> Self {
        let event = ChannelEvent::AgentStarted { agent: agent.into(), session: "s-2".into(), resumed: false };
        self.play(&format!("{agent} starts"), event)
    }

    pub(crate) fn reconnect(self, agent: &str) -> Self {
        let event =
            ChannelEvent::AgentStarted { agent: agent.into(), session: format!("s-{agent}"), resumed: true };
        self.play(&format!("{agent} reconnects with its session"), event)
    }

    pub(crate) fn stop(self, agent: &str) -> Self {
        self.play(&format!("{agent} stops"), ChannelEvent::AgentStopped { agent: agent.into() })
    }

    pub(crate) fn lose(self, agent: &str, loss: Loss) -> Self {
        self.play(
            &format!("{agent} lost: {}", loss.words()),
            ChannelEvent::AgentLost { agent: agent.into(), loss },
        )
    }

    pub(crate) fn disconnect(self, agent: &str) -> Self {
        self.play(
            &format!("{agent} loses its connection"),
            ChannelEvent::ConnectionLost { agent: agent.into() },
        )
    }

    pub(crate) fn remove(self, agent: &str) -> Self {
        self.play(
            &format!("{agent} removed"),
            ChannelEvent::Removed { agent: agent.into(), by: "kim".into() },
        )
    }

    pub(crate) fn say(self, agent: &str, text: &str) -> Self {
        let event = ChannelEvent::AgentSpoke { agent: agent.into(), turn: None, id: None, text: text.into() };
        self.play(&format!("{agent}: {text}"), event)
    }

    pub(crate) fn say_in(self, agent: &str, turn: u64, id: &str, text: &str) -> Self {
        let (turn, id) = (Some(TurnId(turn)), Some(id.to_owned()));
        let event = ChannelEvent::AgentSpoke { agent: agent.into(), turn, id: id.clone(), text: text.into() };
        self.play(&format!("{agent}: {text} (turn {}, id {})", turn.unwrap(), id.unwrap()), event)
    }

    pub(crate) fn person(self, text: &str) -> Self {
        let event = ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: text.into() };
        self.play(&format!("kim: {text}"), event)
    }

    pub(crate) fn complete(self, agent: &str) -> Self {
        let event = ChannelEvent::TurnCompleted { agent: agent.into(), turn: None };
        self.play(&format!("{agent} completes"), event)
    }

    pub(crate) fn wait(self, agent: &str, until: WaitUntil, timeout_ms: Option<u64>) -> Self {
        let (agent, reason) = (agent.into(), "a build".into());
        let event = ChannelEvent::WaitRequested { agent, turn: None, reason, until, timeout_ms };
        self.play(&format!("wait until {until:?}"), event)
    }

    pub(crate) fn resolve(self, agent: &str) -> Self {
        let event = ChannelEvent::WaitResolved { agent: agent.into(), turn: None };
        self.play(&format!("{agent} goes on"), event)
    }

    pub(crate) fn after(mut self, ms: i64) -> Self {
        self.now_ms += ms;
        self.play(&format!("…{ms} ms"), ChannelEvent::TimePassed)
    }

    pub(crate) fn restart_after(mut self, ms: i64) -> Self {
        self.now_ms += ms;
        let text = serde_json::to_string(&self.channel).unwrap();
        self.channel = serde_json::from_str(&text).unwrap();
        self.play(&format!("the host starts again after {ms} ms"), ChannelEvent::Recovered)
    }

    pub(crate) fn play(mut self, label: &str, event: ChannelEvent) -> Self {
        writeln!(self.text, "> {label}").unwrap();
        let before = self.channel.clone();
        match reduce(&mut self.channel, event, self.now_ms) {
            Ok(effects) => effects.iter().for_each(|effect| self.note(effect)),
            Err(refusal) => {
                assert_eq!(self.channel, before, "a refusal changes nothing");
                writeln!(self.text, "    refused ({}): {refusal}", refusal.code()).unwrap();
            }
        }
        self
    }

    fn note(&mut self, effect: &ChannelEffect) {
        let line = match effect {
            ChannelEffect::Moved(moved) => {
                format!("log {}", serde_json::to_string(&moved.log_line(&self.channel.name)).unwrap())
            }
            ChannelEffect::Posted(message) => {
                let who = match &message.author {
                    MessageAuthor::Notice => "notice",
                    MessageAuthor::Agent(agent) => agent.as_str(),
                    MessageAuthor::Person(name) => name,
                };
                let late = if message.late { " (late)" } else { "" };
                format!("#{} {who}: {}{late}", message.number, message.text)
            }
            ChannelEffect::Held { text, .. } => format!("held: {text}"),
            ChannelEffect::Delivered { number, to } => format!("#{number} to {}", names(to)),
            ChannelEffect::Granted { agent, turn, deadline_ms, after, upto, again } => {
                let until =
                    deadline_ms.map_or("paused".to_owned(), |due| format!("{} ms", due - self.now_ms));
                let again = if *again { " again" } else { "" };
                format!("turn {turn} granted to {agent}{again}: {until}, {}", range(*after, *upto))
            }
            ChannelEffect::Suspended { agent, turn, reason } => {
                format!("turn {turn} of {agent} suspended: {reason:?}")
            }
            ChannelEffect::WaitBegan { agent, turn, due_ms } => {
                format!("turn {turn} of {agent} waits at most {} ms", due_ms - self.now_ms)
            }
            ChannelEffect::Resumed { agent, turn, deadline_ms, after, upto } => {
                format!(
                    "turn {turn} of {agent} goes on: {} ms, {}",
                    deadline_ms - self.now_ms,
                    range(*after, *upto)
                )
            }
            ChannelEffect::Ended { agent, turn, reason } => {
                format!("turn {turn} of {agent} ended: {}", reason.as_str())
            }
            ChannelEffect::Assigned { agent } => format!("{agent} is told: assigned"),
            ChannelEffect::Dismissed { agent, by } => format!("{agent} is told: removed by {by}"),
            ChannelEffect::Warned { agent, turn, text } => format!("warning, {agent}, turn {turn}: {text}"),
            // For the host only.
            ChannelEffect::RoundEnded { .. } => return,
        };
        writeln!(self.text, "    {line}").unwrap();
    }

    /// Discards the text so far.
    pub(crate) fn quiet(mut self) -> Self {
        self.text.clear();
        self
    }

    /// Returns the text so far, followed by the state of each agent.
    pub(crate) fn text(mut self) -> String {
        let place = |agent: &AgentId| format!("{agent} {}", self.channel.state_of(agent).as_str());
        let all: Vec<String> = self.channel.members.keys().map(place).collect();
        writeln!(self.text, "= {}", all.join(", ")).unwrap();
        self.text
    }

    /// Returns only the agents that were granted the turn, in order.
    pub(crate) fn grants(&self) -> String {
        let lines = self.text.lines().filter_map(|line| line.trim().split_once("granted to "));
        let who = lines.map(|(_, rest)| rest.split([':', ' ']).next().unwrap_or("?"));
        who.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn rests(&self) -> bool {
        self.channel.turn.is_none()
    }

    pub(crate) fn without(&self) -> u32 {
        self.channel.rounds.without
    }

    pub(crate) fn state(&self, agent: &str) -> MemberState {
        self.channel.state_of(&agent.into())
    }
}

fn names(agents: &[AgentId]) -> String {
    agents.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ")
}

fn range(after: u64, upto: u64) -> String {
    if after == upto { "nothing new".to_owned() } else { format!("messages {}–{upto}", after + 1) }
}
