//! Shared by the tests of MCP servers: locations of installed servers, and helpers to call and kill them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rawko_core::Value;
use rawko_host::Environment;
use rawko_programs::mcp::{McpConfig, McpHealthState, McpServers, McpSettings, McpTransport};
use rawko_tools::{ProjectAccess, ToolOutcome, ToolSource};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Returns a file of `target/tools`, which must exist.
pub(crate) fn tool(path: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tools").join(path);
    assert!(file.exists(), "{} is not installed: run `cargo xtask tools`", file.display());
    file.to_string_lossy().into_owned()
}

pub(crate) fn everything() -> String {
    tool("peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

/// Our own server, for behaviour that the others do not show on demand.
pub(crate) fn peer(arguments: &[&str]) -> McpConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/peer.py");
    let arguments: Vec<&str> = [script].into_iter().chain(arguments.iter().copied()).collect();
    stdio("peer", "python3", &arguments)
}

pub(crate) fn stdio(name: &str, command: &str, args: &[&str]) -> McpConfig {
    let args = args.iter().map(|&argument| argument.to_owned()).collect();
    let transport = McpTransport::Stdio { command: command.into(), args, env: Vec::new(), cwd: None };
    McpConfig::new(name, transport)
}

pub(crate) fn settings() -> McpSettings {
    McpSettings {
        pause_first: Duration::from_millis(10),
        ..McpSettings::new(project(), Environment::of_process())
    }
}

/// A directory that no other test changes: files of authority that disappear during a start refuse it.
pub(crate) fn project() -> std::path::PathBuf {
    let project = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp");
    std::fs::create_dir_all(&project).unwrap();
    project
}

pub(crate) fn start(config: McpConfig) -> Arc<McpServers> {
    McpServers::start(vec![config], settings())
}

pub(crate) async fn names(servers: &McpServers) -> Vec<String> {
    servers.specs(ProjectAccess::Write).await.into_iter().map(|spec| spec.name).collect()
}

pub(crate) async fn call(servers: &McpServers, name: &str, input: serde_json::Value) -> ToolOutcome {
    tokio::time::timeout(TIME_LIMIT, servers.call(name, Value::from_json(input), ProjectAccess::Write))
        .await
        .expect("an answer in time")
}

/// Makes a call that must succeed.
pub(crate) async fn said(servers: &McpServers, name: &str, input: serde_json::Value) -> String {
    let outcome = call(servers, name, input).await;
    assert!(!outcome.is_error, "{name}: {}", outcome.content);
    outcome.content
}

/// Kills the only server's process with SIGKILL, and returns when it is dead with all its threads.
pub(crate) fn kill_server(servers: &McpServers) {
    let health = servers.health();
    let pid = health[0].pid.expect("a running process");
    kill(pid);
    until("the server is dead", || servers.health()[0].state != McpHealthState::Up);
}

pub(crate) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Returns true if a process runs; a zombie does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some(Some('Z' | 'X') | None))
}

/// Waits for a condition outside this program.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < TIME_LIMIT, "not in time: {what}");
        std::thread::yield_now();
    }
}
