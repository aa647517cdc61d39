//! The server, with real sockets, real processes and a real store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod durability;
mod faults;
mod local;
mod processes;
mod reconnecting;
mod refusing;
mod schema;
mod settings;
mod support;
mod talking;
