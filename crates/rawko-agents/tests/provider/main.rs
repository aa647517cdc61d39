//! Providers: what goes over the wire, what comes back whatever services do, and what is built on them. The server is
//! a real one on this machine; only the models are made up.

#![allow(clippy::unwrap_used, reason = "tests")]

mod answers;
mod compaction;
mod failures;
mod providers;
mod quirks;
mod requests;
mod scripted;
mod structured;
mod support;
mod tape;
mod timeouts;
