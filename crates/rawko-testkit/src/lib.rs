//! Shared test support: a server that emulates model services, over real sockets and in their real wire formats; real
//! Restate servers; processes that end with the test. Not part of the product, and independent of its code: a mistake
//! in a codec cannot be hidden by the same mistake in its test.
//!
//! ```
//! use rawko_testkit::{ModelReply, ProviderServer};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let server = ProviderServer::replying([ModelReply::text(503, "overloaded")]).await?;
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert!(server.asked().is_empty());
//! # std::io::Result::Ok(())
//! # })?;
//! # std::io::Result::Ok(())
//! ```
#![warn(missing_docs)]

mod guarded;
mod reply;
mod request;
mod restate;
mod server;
mod wire;

pub use guarded::{Guarded, Spawn};
pub use reply::{ModelReply, ReplyEnding};
pub use request::ReceivedRequest;
pub use restate::{RestateCluster, RestateOptions, RestateServer, free_port, restate_program};
pub use server::ProviderServer;
pub use wire::{
    ModelAnswer, ModelToolCall, Reason, WireProtocol, anthropic, gemini, ollama, openai, responses,
};
