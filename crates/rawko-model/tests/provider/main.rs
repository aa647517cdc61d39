//! Providers: wire requests, responses in all their variations, and the layers above. The server is a real one on this
//! machine; only the models are simulated.

#![allow(clippy::unwrap_used, reason = "tests")]

mod answers;
mod compaction;
mod failures;
mod providers;
mod quirks;
mod reasoning;
mod requests;
mod scripted;
mod structured;
mod support;
mod tape;
mod timeouts;
