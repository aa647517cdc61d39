//! Real MCP servers: programs from npm and PyPI, over stdio and HTTP, killed while in use.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod faults;
mod files;
mod http;
mod sampling;
mod stdio;
mod support;
