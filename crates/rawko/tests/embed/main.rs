//! The façade from outside: what a program that embeds rawko does with it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod actors;
mod agents;
mod outside;
