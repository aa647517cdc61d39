//! The tools of an agent against real files, processes and sockets, all through the single dispatch point.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod asking;
mod bash;
mod files;
mod grants;
mod paths;
mod plans;
mod printed;
mod random_lines;
mod sandbox;
mod search;
mod settings;
mod support;
mod web;
