//! The tools of an agent against real files, real processes and real sockets, all through the one dispatch point.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bash;
mod files;
mod grants;
mod paths;
mod plans;
mod sandbox;
mod settings;
mod support;
mod web;
