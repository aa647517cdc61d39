//! Coding agents driven over the Agent Client Protocol: we are the client, an installed program is the agent. What it
//! wants to do it asks us for, and our gate answers.

mod agent;
mod host;
mod prompt;
mod serve;
mod session;
mod updates;
mod wire;

pub use agent::AcpAgent;
pub use host::{AcpHost, Asked, AskedKind, Deciding, Reading, Verdict, Writing};
