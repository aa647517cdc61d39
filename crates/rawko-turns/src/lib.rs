//! Turn taking in a channel as a pure reducer: events in, effects out. It does not wait, perform I/O or read the clock.
//!
//! ```
//! use rawko_turns::{MessageAuthor, Channel, ChannelEffect, ChannelEvent, reduce};
//!
//! let mut channel = Channel::new("standup");
//! let assigned = ChannelEvent::Assigned { agent: "ada".into(), by: "kim".into(), session: Some("s-1".into()) };
//! let effects = reduce(&mut channel, assigned, 0)?;
//! assert!(matches!(effects.last(), Some(ChannelEffect::Granted { agent, .. }) if agent == &"ada".into()));
//!
//! let spoke = ChannelEvent::AgentSpoke { agent: "ada".into(), turn: None, id: None, text: "Hello. TURN_COMPLETE".into() };
//! let effects = reduce(&mut channel, spoke, 1_000)?;
//! assert!(matches!(&effects[0], ChannelEffect::Posted(message) if message.text == "Hello."));
//! assert!(channel.turn.is_none());
//! # Ok::<(), rawko_turns::ChannelRefusal>(())
//! ```
#![warn(missing_docs)]

mod channel;
mod due;
mod effect;
mod event;
mod lifecycle;
mod message;
mod names;
mod notices;
mod options;
mod queue;
mod reduce;
mod refusal;
mod rounds;
mod text;

pub use channel::{
    Channel, ChannelMember, EndedTurn, HeldMessage, SuspendedTurn, Turn, TurnPhase, WaitingFor,
};
pub use due::TurnDeadline;
pub use effect::{ChannelEffect, EndReason, MemberMove, SuspendReason};
pub use event::{ChannelEvent, Loss, OptionScope, OverrideTo, WaitUntil};
pub use lifecycle::{LifecycleMove, LogLine, MemberState, MoveCause};
pub use message::{ChannelMessage, MessageAuthor};
pub use names::{AgentId, TurnId, is_name};
pub use options::{InterruptMode, OptionLayers, TurnConfig, TurnOptions, TurnOrder};
pub use reduce::reduce;
pub use refusal::ChannelRefusal;
pub use rounds::{RoundJudgement, Rounds};
pub use text::{COMPLETE_WORD, split_complete};
