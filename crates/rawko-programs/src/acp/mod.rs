//! Coding agents driven over the Agent Client Protocol: we are the client, an installed program is the agent. What it
//! wants to do it asks us for, and our gate answers. The protocol is in the feature `acp`.

#[cfg(not(feature = "acp"))]
mod absent;
#[cfg(feature = "acp")]
mod agent;
mod host;
mod program;
#[cfg(feature = "acp")]
mod prompt;
#[cfg(feature = "acp")]
mod serve;
#[cfg(feature = "acp")]
mod session;
#[cfg(feature = "acp")]
mod updates;
#[cfg(feature = "acp")]
mod wire;

pub use host::{AcpHost, AgentOperation, AskedKind, Deciding, Reading, Verdict, Writing};
pub use program::AcpAgent;
