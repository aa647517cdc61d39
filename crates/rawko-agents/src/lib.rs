//! Agents: their files, sessions, memories, and the services that the charts `agent` and `orchestrator` call. Models,
//! tools, programs and decisions have their own crates below.
#![warn(missing_docs)]

pub mod agent;
pub mod memories;
pub mod modes;
pub mod words;
pub mod work;
