//! Refusals of an event. The channel is unchanged.

use crate::names::{AgentId, TurnId};

/// Refusal, with a message for the sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("`{agent}` is not assigned to this channel")]
    NotAMember { agent: AgentId },
    #[error("`{agent}` is already assigned to this channel")]
    AlreadyAssigned { agent: AgentId },
    #[error("it is not your turn; current turn: {}", holder.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string))]
    NotYourTurn { holder: Option<AgentId> },
    #[error("turn {turn} has ended")]
    TurnOver { turn: TurnId },
    #[error("your turn is paused: {why}")]
    TurnPaused { why: &'static str },
    /// The message was already accepted.
    #[error("already posted as message {number}")]
    Duplicate { number: u64 },
    #[error("already received; held until the turn ends")]
    AlreadyHeld,
    #[error("the message is empty")]
    Empty,
    #[error("no turn is active")]
    NobodyHasTheTurn,
    #[error("no agent is waiting in this channel")]
    NobodyWaits,
    #[error("the channel is already paused")]
    AlreadyPaused,
    #[error("the channel is paused")]
    Paused,
    #[error("the channel is not paused")]
    NotPaused,
    #[error("`{agent}` is not in the queue")]
    NotInQueue { agent: AgentId },
    #[error("`{agent}` is listed twice in the order")]
    NamedTwice { agent: AgentId },
    #[error("too many held messages: {held} are waiting for the turn to end")]
    TooManyHeld { held: usize },
}

impl Refusal {
    /// Returns the machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::NotAMember { .. } => "not_a_member",
            Refusal::AlreadyAssigned { .. } => "already_assigned",
            Refusal::NotYourTurn { .. } => "not_your_turn",
            Refusal::TurnOver { .. } => "turn_over",
            Refusal::TurnPaused { .. } => "turn_paused",
            Refusal::Duplicate { .. } | Refusal::AlreadyHeld => "duplicate",
            Refusal::Empty => "empty",
            Refusal::NobodyHasTheTurn => "nobody_has_the_turn",
            Refusal::NobodyWaits => "nobody_waits",
            Refusal::AlreadyPaused => "already_paused",
            Refusal::Paused => "paused",
            Refusal::NotPaused => "not_paused",
            Refusal::NotInQueue { .. } => "not_in_queue",
            Refusal::NamedTwice { .. } => "named_twice",
            Refusal::TooManyHeld { .. } => "too_many_held",
        }
    }
}
