//! rawko as an MCP server: the official conformance suite, and a client that drives a workflow with an approval.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod charts;
mod suite;
mod workflows;
