//! The server, with real sockets, real processes and a real store.

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
