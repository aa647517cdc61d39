//! Our JSON lines, one object per line, both ways (`docs/formats/process-agent.md`). Other kinds of child processes are
//! started and terminated here too, so that all of them end with us.

mod child;
mod converse;
mod exchange;
mod lines;
mod protocol;
mod stderr;

pub use protocol::PROTOCOL_VERSION;

pub(crate) use child::{AgentLaunch, AgentProcess};
pub(crate) use converse::converse;
#[cfg(feature = "acp")]
pub(crate) use lines::{LineReader, LineWriter, ProgramLine};

/// Returns true if a line of a program is a message of the protocol, with a known reason or code if it has one.
pub(crate) fn is_agent_line(line: &[u8]) -> bool {
    protocol::is_message(line)
}
