//! The HTTP API over real sockets: who may do what, what is refused and how, and what cannot be abused. What a request looks
//! like on the wire is written out here, because half of these requests no client library would send.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod abuse;
mod access;
mod agents;
mod assets;
mod channels;
mod charts;
mod idempotency;
mod origins;
mod problems;
mod reference;
mod roles;
mod settings;
mod support;
