//! The required server scenarios of both revisions. What rawko does not have is listed in `exceptions.yaml`, each with its
//! reason; a scenario there that begins to pass is a failure, too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rawko_host::{Engine, Host};
use rawko_server::{AppOptions, HttpServer};
use rawko_store::MemoryStore;
use tokio::net::TcpListener;

use crate::charts;

/// A server with the suite's charts and without tokens: the suite has no place for one.
pub(crate) async fn serve() -> (HttpServer, Host) {
    let host = Host::builder().store(Arc::new(MemoryStore::new())).start().await.unwrap();
    charts::all().into_iter().for_each(|edition| host.library().offer(edition));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let engine: Arc<dyn Engine> = Arc::new(host.clone());
    (HttpServer::start(listener, AppOptions::new(engine)).unwrap(), host)
}

async fn passes(revision: &'static str) {
    let exceptions =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/mcp/exceptions-{revision}.yaml"));
    let exceptions = exceptions.to_str().unwrap();
    run(&["--requirements", revision, "--expected-failures", exceptions]).await;
}

/// Runs scenarios of the suite; panics with the checks that failed.
async fn run(selection: &[&str]) {
    let (server, _host) = serve().await;
    let url = format!("http://{}/mcp", server.address());
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tools: PathBuf = here.join("../../target/tools/mcp/node_modules");
    let suite = tools.join("@modelcontextprotocol/conformance/dist/index.js");
    assert!(suite.exists(), "{} is not installed: run `cargo xtask tools`", suite.display());
    let results = tempfile::tempdir().unwrap();
    let mut command = Command::new(tools.join(".bin/node"));
    command.arg(suite).args(["server", "--url", &url]).args(selection);
    command.arg("--output-dir").arg(results.path()).current_dir(results.path());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let words =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let summary = words.find("SUMMARY").map_or(words.as_str(), |at| &words[at..]);
    assert!(!words.contains("SKIPPED: scenario"), "{selection:?}: {words}");
    assert!(output.status.success(), "{selection:?}:\n{}\n{summary}", failures(results.path()));
    server.close().await;
}

/// Returns the checks that did not pass, one per line.
fn failures(results: &Path) -> String {
    let mut lines = String::new();
    for folder in std::fs::read_dir(results).unwrap().filter_map(Result::ok) {
        let text = std::fs::read(folder.path().join("checks.json")).unwrap_or_default();
        let checks: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap_or_default();
        for check in
            checks.iter().filter(|check| check["status"] == "FAILURE" || check["status"] == "WARNING")
        {
            let name = folder.file_name().to_string_lossy().into_owned();
            lines += &format!("{name}: {} {}: {}\n", check["status"], check["id"], check["errorMessage"]);
        }
    }
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn the_required_scenarios_of_2025_11_25_pass() {
    passes("2025-11-25").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_required_scenarios_of_2026_07_28_pass() {
    passes("2026-07-28").await;
}

/// Instances as tasks. Not run, because no chart insists on a task: `tasks-required-task-error`, and
/// `tasks-mrtr-composition`, whose tool asks before it becomes a task; an instance is one from its start.
#[tokio::test(flavor = "multi_thread")]
async fn the_scenarios_of_the_tasks_extension_pass() {
    for scenario in [
        "tasks-lifecycle",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-dispatch-and-envelope",
    ] {
        run(&["--scenario", scenario, "--spec-version", "2026-07-28", "--force"]).await;
    }
}
