//! Coding agents over the Agent Client Protocol: we are the client, an installed program is the agent. It requests
//! permission for its operations, and our gate decides.

mod agent;
mod host;
mod prompt;
mod serve;
mod session;
mod updates;
mod wire;

pub use agent::AcpAgent;
pub use host::{AcpHost, Asked, AskedKind, Deciding, Reading, Verdict, Writing};
