//! The HTTP client that all of rawko shares. Separate, so that proxies, certificates, redirects and `Retry-After` mean
//! the same for services, models, MCP servers, telemetry and Restate.
#![warn(missing_docs)]

mod cause;
mod client;
mod retry_after;

pub use cause::{chain, host, innermost, is_refused};
pub use client::{ClientError, HttpClients, build, builder, is_loopback};
pub use retry_after::retry_after_ms;
