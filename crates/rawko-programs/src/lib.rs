//! Programs that agents use: process agents, agents over ACP, MCP servers, language servers and the project's checks.
//! Separate from tools, because each of these speaks a protocol with an external program.
//!
//! ```no_run
//! # async fn example(host: &dyn rawko_programs::program::ProgramHost) {
//! use rawko_programs::program::{ProgramAgent, TurnRequest, WireFormat};
//! use rawko_settings::Environment;
//!
//! let agent = ProgramAgent::new(WireFormat::lines(), "./agent.py", "/project", Environment::of_process());
//! let request = TurnRequest { prompt: "Fix the parser".into(), ..TurnRequest::default() };
//! match agent.turn(request, host).await {
//!     Ok(result) => println!("{}", result.text),
//!     Err(error) => println!("{error}"),
//! }
//! # }
//! ```

#![warn(missing_docs)]

mod acp;
pub mod changes;
pub mod checkpoints;
pub mod checks;
pub mod hooks;
#[doc(hidden)]
pub mod incoming;
pub mod mcp;
pub mod process;
pub mod program;
pub mod worktrees;
