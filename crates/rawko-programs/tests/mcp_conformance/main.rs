//! The official conformance suite against rawko's MCP client, for both revisions: every required scenario passes. A
//! program of its own (no test harness), because the suite starts it again as the client of each scenario.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod client;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn main() -> ExitCode {
    if std::env::var_os("MCP_CONFORMANCE_SCENARIO").is_some() {
        return client::run();
    }
    let failed: Vec<&str> = REVISIONS.into_iter().filter(|revision| !passes(revision)).collect();
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the required client scenarios of a revision, and prints the summary of the suite.
fn passes(revision: &str) -> bool {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/mcp/node_modules");
    let suite = tools.join("@modelcontextprotocol/conformance/dist/index.js");
    assert!(suite.exists(), "{} is not installed: run `cargo xtask tools`", suite.display());
    let results = tempfile::tempdir().unwrap();
    let client: PathBuf = std::env::current_exe().unwrap();
    let output = Command::new(tools.join(".bin/node"))
        .arg(suite)
        .args(["client", "--requirements", revision, "--timeout", "120000", "--command"])
        .arg(client)
        .current_dir(results.path())
        .output()
        .unwrap();
    let words =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let summary = words.find("SUMMARY").map_or(words.as_str(), |at| &words[at..]);
    println!("{revision}: {}\n{summary}", if output.status.success() { "passed" } else { "FAILED" });
    output.status.success()
}
