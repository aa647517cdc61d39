//! Turn taking in a channel as a pure reducer: events in, effects out. It does not wait, perform I/O or read the clock.
//!
//! ```
//! use rawko_turns::{Author, Channel, Effect, Event, reduce};
//!
//! let mut channel = Channel::new("standup");
//! let assigned = Event::Assigned { agent: "ada".into(), by: "kim".into(), session: Some("s-1".into()) };
//! let effects = reduce(&mut channel, assigned, 0)?;
//! assert!(matches!(effects.last(), Some(Effect::Granted { agent, .. }) if agent == &"ada".into()));
//!
//! let said = Event::AgentSpoke { agent: "ada".into(), turn: None, id: None, text: "Hello. TURN_COMPLETE".into() };
//! let effects = reduce(&mut channel, said, 1_000)?;
//! assert!(matches!(&effects[0], Effect::Posted(message) if message.text == "Hello."));
//! assert!(channel.turn.is_none());
//! # Ok::<(), rawko_turns::Refusal>(())
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

pub use channel::{Channel, EndedTurn, HeldMessage, Member, Phase, Turn, Waiting, WaitingFor};
pub use due::Due;
pub use effect::{Effect, EndReason, Moved, SuspendReason};
pub use event::{Event, Loss, OverrideTo, Scope, WaitUntil};
pub use lifecycle::{LogLine, Move, State, Trigger};
pub use message::{Author, Message};
pub use names::{AgentId, TurnId, is_name};
pub use options::{InterruptMode, OptionLayers, TurnConfig, TurnOptions, TurnOrder};
pub use reduce::reduce;
pub use refusal::Refusal;
pub use rounds::{Judgement, Rounds};
pub use text::{COMPLETE_WORD, split_complete};
