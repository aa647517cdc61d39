//! The host as its users see it: real host, real tasks, a store in memory, a clock that the test moves.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

mod agents;
mod bench;
mod children;
mod conversations;
mod crashes;
mod pausing;
mod people;
mod rows;
mod services;
mod timers;
mod typed;
