//! Agents: their files, sessions, memories, and the services that the charts `agent` and `orchestrator` call. Models,
//! tools, programs and decisions have their own crates below.
//!
//! ```
//! use rawko_agents::agent::Agents;
//! use rawko_chart::SourceFile;
//! use rawko_host::Environment;
//!
//! let file = SourceFile::new("reviewer.md", "---\nname: reviewer\nwhenToUse: For reviews.\n---\nRead the change.\n");
//! let (agents, findings) = Agents::of_source(&file, Environment::none());
//! assert!(findings.is_empty());
//! assert_eq!(agents.get("reviewer").map(|agent| agent.name.as_str()), Some("reviewer"));
//! ```
#![warn(missing_docs)]

pub mod agent;
pub mod memories;
pub mod modes;
pub mod words;
pub mod work;
