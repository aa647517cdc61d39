//! Channels in API responses. Separate from the stored form, because the session of an agent must stay secret.

use rawko_turns::{
    self as turns, AgentId, MemberState, MessageAuthor, TurnOptions, TurnOrder, TurnPhase, WaitingFor,
};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Channel {
    name: String,
    /// All current and former members: first those in the queue, in order.
    members: Vec<Member>,
    /// Number of messages.
    posted: u64,
    /// Number of turns.
    turns: u64,
    turn: Option<Turn>,
    /// Agent that a person named as next.
    next: Option<String>,
    /// Messages from people that are held until the turn ends.
    held: usize,
    /// Start of the current pause.
    paused_ms: Option<i64>,
    /// The channel's own options.
    #[schema(value_type = Object)]
    options: TurnOptions,
}

#[derive(Debug, Serialize, ToSchema)]
struct Member {
    agent: String,
    /// `OFFLINE`, `IDLE`, `QUEUED`, `ACTIVE` or `WAITING`.
    state: &'static str,
    assigned: bool,
    priority: i32,
    /// Messages that it has not seen.
    unread: u64,
    /// End of the grace time after a lost connection. The agent may reconnect until then.
    grace_due_ms: Option<i64>,
}

/// The current turn.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Turn {
    agent: String,
    id: u64,
    since_ms: i64,
    /// Latest end of a running turn, or of the wait.
    deadline_ms: Option<i64>,
    state: TurnState,
    /// Reason for the wait.
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TurnState {
    Running,
    /// The agent asked to wait.
    Waiting,
    /// A person has the floor.
    Interrupted,
    Paused,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Message {
    /// Position in the channel, counted from 1.
    number: u64,
    at_ms: i64,
    /// `agent`, `person`, or `notice` for the channel itself.
    kind: &'static str,
    from: Option<String>,
    text: String,
    /// The turn it was posted in.
    turn: Option<u64>,
    /// Set if it arrived after that turn had ended.
    late: bool,
}

/// A channel with its messages and turns.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Room {
    pub(super) channel: Channel,
    /// Number of changes.
    pub(super) version: u64,
    /// The last hundred messages.
    pub(super) messages: Vec<Message>,
    /// Agents that wait for the turn, next one first.
    pub(super) queue: Vec<String>,
    pub(super) turn: Option<Turn>,
}

impl From<&turns::Channel> for Channel {
    fn from(channel: &turns::Channel) -> Channel {
        let others = channel.members.keys().filter(|agent| !channel.order.contains(agent));
        let everybody = channel.order.iter().chain(others);
        let member = |agent: &AgentId| {
            let member = channel.members.get(agent)?;
            Some(Member {
                agent: agent.to_string(),
                state: member.state.as_str(),
                assigned: member.assigned,
                priority: member.priority,
                unread: channel.posted.saturating_sub(member.seen),
                grace_due_ms: member.grace_due_ms,
            })
        };
        Channel {
            name: channel.name.clone(),
            members: everybody.filter_map(member).collect(),
            posted: channel.posted,
            turns: channel.turns,
            turn: channel.turn.as_ref().map(Turn::from),
            next: channel.next.as_ref().map(ToString::to_string),
            held: channel.held.len(),
            paused_ms: channel.paused_ms,
            options: channel.options.channel.clone(),
        }
    }
}

impl From<&turns::Turn> for Turn {
    fn from(turn: &turns::Turn) -> Turn {
        let (state, deadline_ms, reason) = match &turn.phase {
            TurnPhase::Running { deadline_ms, .. } => (TurnState::Running, Some(*deadline_ms), None),
            TurnPhase::Waiting(waiting) => match &waiting.what {
                WaitingFor::Asked { reason, .. } => {
                    (TurnState::Waiting, waiting.due_ms, Some(reason.clone()))
                }
                WaitingFor::Person => (TurnState::Interrupted, waiting.due_ms, None),
                WaitingFor::Pause => (TurnState::Paused, waiting.due_ms, None),
            },
        };
        Turn {
            agent: turn.agent.to_string(),
            id: turn.id.0,
            since_ms: turn.granted_ms,
            deadline_ms,
            state,
            reason,
        }
    }
}

impl From<turns::ChannelMessage> for Message {
    fn from(message: turns::ChannelMessage) -> Message {
        let (kind, from) = match message.author {
            MessageAuthor::Agent(agent) => ("agent", Some(agent.to_string())),
            MessageAuthor::Person(person) => ("person", Some(person)),
            MessageAuthor::Notice => ("notice", None),
        };
        let turns::ChannelMessage { number, at_ms, text, turn, late, .. } = message;
        Message { number, at_ms, kind, from, text, turn: turn.map(|turn| turn.0), late }
    }
}

/// Returns the agents that wait for the turn, in turn order after its last holder.
pub(super) fn queue(channel: &turns::Channel) -> Vec<String> {
    let after =
        |agent: &AgentId| channel.order.iter().position(|known| known == agent).map_or(0, |at| at + 1);
    let last = channel.turn.as_ref().map(|turn| &turn.agent).or(channel.last.as_ref());
    let from = last.map_or(0, after).min(channel.order.len());
    let (before, behind) = channel.order.split_at(from);
    let waits = |agent: &&AgentId| channel.state_of(agent) == MemberState::Queued;
    let mut queue: Vec<&AgentId> = behind.iter().chain(before).filter(waits).collect();
    if channel.options.for_channel().order == TurnOrder::Priority {
        let priority = |agent: &AgentId| channel.members.get(agent).map_or(0, |member| member.priority);
        queue.sort_by_key(|agent| std::cmp::Reverse(priority(agent)));
    }
    if let Some(at) = queue.iter().position(|agent| channel.next.as_ref() == Some(agent)) {
        queue[..=at].rotate_right(1);
    }
    queue.into_iter().map(ToString::to_string).collect()
}
