//! Agents that are a command: one JSON object a line, both ways (`docs/formats/process-agent.md`). Child processes of
//! other kinds are started and ended here too, so that none of them outlives us by a way of its own.

mod agent;
mod child;
mod exchange;
mod lines;
mod protocol;
mod stderr;
mod turn;

pub use agent::ProcessAgent;
pub use protocol::PROTOCOL_VERSION;
pub use turn::{Cancelling, TurnError, TurnHost, TurnRequest, TurnResult};

#[cfg(any(feature = "acp", feature = "mcp"))]
pub(crate) use child::{Child, Launch};
#[cfg(feature = "acp")]
pub(crate) use lines::{Line, LineReader, LineWriter};
#[cfg(any(feature = "acp", feature = "mcp"))]
pub(crate) use turn::in_time;
