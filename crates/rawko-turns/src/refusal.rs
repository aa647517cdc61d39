//! Refusals of an event. The channel is unchanged.

use crate::names::{AgentId, TurnId};

/// Refusal, with a message for the sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("`{agent}` is not assigned to this channel")]
    NotAMember { agent: AgentId },
    #[error("`{agent}` is assigned to this channel already")]
    AlreadyAssigned { agent: AgentId },
    #[error("it is not your turn: {}", holder.as_ref().map_or_else(|| "nobody has it".to_owned(), |holder| format!("{holder} has it")))]
    NotYourTurn { holder: Option<AgentId> },
    #[error("turn {turn} is over")]
    TurnOver { turn: TurnId },
    #[error("your turn is paused: {why}")]
    TurnPaused { why: &'static str },
    /// The message was already accepted.
    #[error("this was posted before, as message {number}")]
    Duplicate { number: u64 },
    #[error("this was said before, and waits for the turn to end")]
    AlreadyHeld,
    #[error("there is nothing in it")]
    Empty,
    #[error("nobody has the turn")]
    NobodyHasTheTurn,
    #[error("nobody waits in this channel")]
    NobodyWaits,
    #[error("the channel is paused already")]
    AlreadyPaused,
    #[error("the channel is paused")]
    Paused,
    #[error("the channel is not paused")]
    NotPaused,
    #[error("`{agent}` is not in the queue")]
    NotInQueue { agent: AgentId },
    #[error("the order names `{agent}` twice")]
    NamedTwice { agent: AgentId },
    #[error("{held} messages of people wait for the turn to end; no more are held")]
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
