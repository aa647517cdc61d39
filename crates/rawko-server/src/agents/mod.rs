//! Connections to agents: a socket, the pipes of a process, or code of this process that takes turns. All use the same
//! protocol over different transports.

mod bucket;
mod connection;
mod hub;
mod link;
mod local;
mod process;
mod project;
mod requests;
#[cfg(feature = "http")]
mod socket;
mod transport;

pub use local::{TakenTurn, TurnOutcome, TurnTaker};
pub use project::ProjectAgents;

pub(crate) use connection::AgentConnections;
#[cfg(feature = "http")]
pub(crate) use connection::OnGuess;
pub(crate) use hub::Hub;
pub(crate) use local::spawn_taker;
pub(crate) use process::{ProcessCommand, spawn_process};
#[cfg(feature = "http")]
pub(crate) use socket::{Gatekeeper, READ_BUFFER_BYTES, connect};
