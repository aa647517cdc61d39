//! Agents that run as child processes: one JSON object per line on stdin and stdout. Their stderr goes to the server's.
//! They only see the environment variables that they are given, and no token or key of the server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use rawko_host::Environment;
use rawko_process::{Mark, Processes};
use rawko_turns::AgentId;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::connection::{Desk, Door, serve};
use super::transport::{Incoming, Transport};
use crate::protocol::MESSAGE_BYTES_MAX;

/// Lines to read ahead.
const AHEAD: usize = 16;

/// Command that starts an agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentCommand {
    pub(crate) program: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) env: BTreeMap<String, String>,
    /// Variables passed from the server's own environment.
    pub(crate) pass_env: Vec<String>,
    pub(crate) environment: Environment,
}

impl AgentCommand {
    fn passed(&self) -> impl Iterator<Item = (&str, &str)> {
        let named =
            self.pass_env.iter().filter_map(|name| Some((name.as_str(), self.environment.get(name)?)));
        self.environment.ordinary().chain(named)
    }
}

/// Starts the process and serves it until it ends. `again`: it resumes its state from before the server stopped.
pub(crate) fn spawn_process(
    desk: Desk,
    agent: AgentId,
    command: &AgentCommand,
    again: bool,
) -> std::io::Result<JoinHandle<()>> {
    let (program, arguments) = command.program.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mark = Mark::new();
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(&command.folder)
        .env_clear()
        .envs(command.passed())
        .envs(&command.env)
        .env("RAWKO_AGENT", agent.as_str())
        .envs([mark.variable()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let processes = Processes::of_child(&child, mark)?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (stdin, stdout) = pipes.ok_or(std::io::ErrorKind::BrokenPipe)?;
    let (lines, incoming) = mpsc::channel(AHEAD);
    let reader = tokio::spawn(read_lines(stdout, lines));
    let pipe = Pipe { incoming, stdin, processes, _child: child };
    Ok(tokio::spawn(async move {
        serve(pipe, desk, Door::Own { agent, again }).await;
        reader.abort();
    }))
}

struct Pipe {
    incoming: mpsc::Receiver<Incoming>,
    stdin: ChildStdin,
    /// Everything that the agent started ends with the connection; dropped, it is killed at once.
    processes: Processes,
    _child: Child,
}

impl Transport for Pipe {
    async fn recv(&mut self) -> Incoming {
        self.incoming.recv().await.unwrap_or(Incoming::Closed)
    }

    async fn send(&mut self, mut text: String) -> bool {
        text.push('\n');
        self.stdin.write_all(text.as_bytes()).await.is_ok()
    }

    async fn ping(&mut self) -> bool {
        true
    }

    async fn close(&mut self) {
        self.processes.kill_all().await;
    }
}

/// Reads lines until the end. A line that is too long is skipped.
async fn read_lines(stdout: ChildStdout, lines: mpsc::Sender<Incoming>) {
    let mut reader = BufReader::new(stdout);
    let limit = MESSAGE_BYTES_MAX as u64 + 1;
    let mut skipping = false;
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(limit).read_until(b'\n', &mut line).await;
        if read.unwrap_or(0) == 0 {
            return;
        }
        let whole = line.ends_with(b"\n") || line.len() < MESSAGE_BYTES_MAX;
        let incoming = match (std::mem::replace(&mut skipping, !whole), whole) {
            // Rest of a line that was too long.
            (true, _) => continue,
            (false, false) => Incoming::Oversized,
            (false, true) => match String::from_utf8(line) {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => Incoming::Text(text),
                Err(_) => Incoming::NotText,
            },
        };
        if lines.send(incoming).await.is_err() {
            return;
        }
    }
}
