//! A real remote server over streamable HTTP: killed, restarted at the same address, used again.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rawko_programs::mcp::{McpConfig, McpHealthState, McpServers, McpTransport};
use serde_json::json;

use crate::support::{call, everything, names, said, settings, start};

/// The server at a port, killed on drop.
struct Running {
    child: Child,
    /// Number of messages received.
    posts: Arc<AtomicUsize>,
}

impl Running {
    fn at(port: u16) -> Self {
        let mut child = Command::new("node")
            .args([&everything(), "streamableHttp"])
            .env("PORT", port.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "the server ended before it listened");
        }
        // Drain the output, so that the server does not block.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let posts = Arc::new(AtomicUsize::new(0));
        let (log, count) = (BufReader::new(child.stdout.take().unwrap()), Arc::clone(&posts));
        std::thread::spawn(move || {
            for _ in log.lines().map_while(Result::ok).filter(|line| line.contains("Received MCP POST")) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { child, posts }
    }

    fn posts(&self) -> usize {
        self.posts.load(Ordering::Relaxed)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn config(port: u16) -> McpConfig {
    let headers = vec![("x-team".to_owned(), "rawko".to_owned())];
    let transport = McpTransport::Http { url: format!("http://127.0.0.1:{port}/mcp"), headers };
    McpConfig::new("remote", transport)
}

#[tokio::test]
async fn a_server_that_was_killed_and_started_again() {
    let port = free_port();
    let first = Running::at(port);
    let servers = start(config(port));
    assert!(names(&servers).await.contains(&"mcp__remote__echo".to_owned()));
    let echo = || said(&servers, "mcp__remote__echo", json!({"message": "over HTTP"}));
    assert_eq!(echo().await, "Echo: over HTTP");

    first.kill();
    let _second = Running::at(port);
    // The restarted server does not know our session.
    assert_eq!(echo().await, "Echo: over HTTP");
    assert_eq!(servers.health()[0].state, McpHealthState::Up);
}

#[tokio::test]
async fn a_call_during_which_the_server_is_killed_says_that_nobody_knows() {
    let port = free_port();
    let server = Running::at(port);
    let servers = start(config(port));
    names(&servers).await;
    let long =
        call(&servers, "mcp__remote__trigger-long-running-operation", json!({"duration": 600, "steps": 2}));
    let kill = async {
        // One for the newest revision, two for the handshake of the older one, one for the list, and the call.
        while server.posts() < 5 {
            tokio::task::yield_now().await;
        }
        server.kill();
    };
    let (outcome, ()) = tokio::join!(long, kill);
    assert!(outcome.is_error);
    assert!(outcome.content.contains("was lost during this call"), "{}", outcome.content);
    assert!(outcome.content.contains("is not known"), "{}", outcome.content);

    let _second = Running::at(port);
    assert_eq!(said(&servers, "mcp__remote__echo", json!({"message": "back"})).await, "Echo: back");
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let mut settings = settings();
    settings.start_timeout = Duration::from_secs(20);
    let servers = McpServers::start(vec![config(free_port())], settings);
    let outcome = call(&servers, "mcp__remote__echo", json!({"message": "hello?"})).await;
    assert!(outcome.is_error);
    assert!(outcome.content.contains("the MCP server `remote` is not available"), "{}", outcome.content);
    assert!(outcome.content.contains("Connection refused"), "{}", outcome.content);
    assert_eq!(servers.health()[0].state, McpHealthState::Down);
}
