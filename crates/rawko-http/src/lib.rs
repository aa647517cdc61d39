//! The HTTP client that all of rawko shares. Separate, so that proxies, certificates, redirects and `Retry-After` mean
//! the same for services, models, MCP servers, telemetry and Restate.
//!
//! ```
//! let answer = reqwest::header::HeaderMap::from_iter([(
//!     reqwest::header::RETRY_AFTER,
//!     reqwest::header::HeaderValue::from_static("1.5"),
//! )]);
//! assert_eq!(rawko_http::retry_after_ms(&answer, 0), Some(1500));
//! ```
#![warn(missing_docs)]

mod cause;
mod client;
mod retry_after;

pub use cause::{chain, host, innermost, is_refused};
pub use client::{ClientError, HttpClients, build, builder, is_loopback};
pub use retry_after::retry_after_ms;
