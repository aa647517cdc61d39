//! Refusals of an event. The channel is unchanged.

use crate::names::{AgentId, TurnId};

/// Refusal, with a message for the sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelRefusal {
    /// The agent is not assigned to the channel.
    #[error("`{agent}` is not assigned to this channel")]
    NotAMember {
        /// The agent.
        agent: AgentId,
    },
    /// The agent is a member already.
    #[error("`{agent}` is already assigned to this channel")]
    AlreadyAssigned {
        /// The agent.
        agent: AgentId,
    },
    /// Another agent has the turn, or none has.
    #[error("it is not your turn; current turn: {}", holder.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string))]
    NotYourTurn {
        /// Current holder of the turn.
        holder: Option<AgentId>,
    },
    /// The message or request names a finished turn.
    #[error("turn {turn} has ended")]
    TurnOver {
        /// Number of that turn.
        turn: TurnId,
    },
    /// The turn is suspended, so the agent may not post.
    #[error("your turn is paused: {why}")]
    TurnPaused {
        /// Cause, as a clause.
        why: &'static str,
    },
    /// The message was already accepted.
    #[error("already posted as message {number}")]
    Duplicate {
        /// Number of the accepted message.
        number: u64,
    },
    /// A held message has the same deduplication id.
    #[error("already received; held until the turn ends")]
    AlreadyHeld,
    /// The text has nothing but whitespace.
    #[error("the message is empty")]
    Empty,
    /// A skip came while no turn is active.
    #[error("no turn is active")]
    NobodyHasTheTurn,
    /// An override came while no agent waits.
    #[error("no agent is waiting in this channel")]
    NobodyWaits,
    /// A pause came for a paused channel.
    #[error("the channel is already paused")]
    AlreadyPaused,
    /// The request needs a running channel.
    #[error("the channel is paused")]
    Paused,
    /// A resume came for a running channel.
    #[error("the channel is not paused")]
    NotPaused,
    /// The named agent cannot get the next turn.
    #[error("`{agent}` is not in the queue")]
    NotInQueue {
        /// The agent.
        agent: AgentId,
    },
    /// The new order has a duplicate.
    #[error("`{agent}` is listed twice in the order")]
    NamedTwice {
        /// The agent.
        agent: AgentId,
    },
    /// The limit on held messages is reached.
    #[error("too many held messages: {held} are waiting for the turn to end")]
    TooManyHeld {
        /// Number of held messages.
        held: usize,
    },
}

impl ChannelRefusal {
    /// Returns the machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            ChannelRefusal::NotAMember { .. } => "not_a_member",
            ChannelRefusal::AlreadyAssigned { .. } => "already_assigned",
            ChannelRefusal::NotYourTurn { .. } => "not_your_turn",
            ChannelRefusal::TurnOver { .. } => "turn_over",
            ChannelRefusal::TurnPaused { .. } => "turn_paused",
            ChannelRefusal::Duplicate { .. } | ChannelRefusal::AlreadyHeld => "duplicate",
            ChannelRefusal::Empty => "empty",
            ChannelRefusal::NobodyHasTheTurn => "nobody_has_the_turn",
            ChannelRefusal::NobodyWaits => "nobody_waits",
            ChannelRefusal::AlreadyPaused => "already_paused",
            ChannelRefusal::Paused => "paused",
            ChannelRefusal::NotPaused => "not_paused",
            ChannelRefusal::NotInQueue { .. } => "not_in_queue",
            ChannelRefusal::NamedTwice { .. } => "named_twice",
            ChannelRefusal::TooManyHeld { .. } => "too_many_held",
        }
    }
}
