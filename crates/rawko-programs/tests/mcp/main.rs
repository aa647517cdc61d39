//! MCP servers as people run them: programs from npm and PyPI, over stdio and HTTP, killed while we use them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod faults;
mod files;
mod http;
mod stdio;
mod support;
