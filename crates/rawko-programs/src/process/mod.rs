//! Process agents: one JSON object per line, both ways (`docs/formats/process-agent.md`). Other kinds of child
//! processes are started and terminated here too, so that all of them end with us.

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
