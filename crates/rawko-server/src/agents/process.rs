//! Agents that run as child processes: one JSON object per line on stdin and stdout. Their stderr goes to the server's.
//! They only see the environment variables that they are given, and no token or key of the server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rawko_host::Environment;
use rawko_process::{
    Confinement, LastingWatch, Launch, Launched, Processes, Profile, ProjectAccess, WatchedCall,
};
use rawko_turns::AgentId;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::connection::{AgentConnections, ConnectionOrigin, serve};
use super::transport::{ReceivedMessage, Transport};
use crate::protocol::MESSAGE_BYTES_MAX;

/// Longer lines of stderr are printed in pieces.
const ERROR_LINE_MAX: u64 = 16 * 1024;
/// Files of authority are looked at when a message comes or goes, and the last look is older than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Lines to read ahead.
const AHEAD: usize = 16;

/// Command that starts an agent.
#[derive(Clone, Debug)]
pub(crate) struct ProcessCommand {
    pub(crate) program: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) env: BTreeMap<String, String>,
    /// Variables passed from the server's own environment.
    pub(crate) pass_env: Vec<String>,
    pub(crate) environment: Environment,
    pub(crate) confinement: Confinement,
}

impl ProcessCommand {
    fn launch(&self, agent: &AgentId) -> Option<Launch> {
        let (program, arguments) = self.program.split_first()?;
        let mut set = self.environment.named(self.pass_env.iter().map(String::as_str));
        set.extend(self.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        set.push(("RAWKO_AGENT".to_owned(), agent.as_str().to_owned()));
        let usual = Profile::Program(ProjectAccess::Write);
        let profile = self.confinement.profile_of("agent", agent.as_str(), usual);
        Some(Launch {
            args: arguments.to_vec(),
            cwd: self.folder.clone(),
            inherited: self.environment.all(),
            set,
            ..Launch::new(program, profile, self.confinement.clone())
        })
    }
}

/// Starts the process and serves it until it ends. `again`: it resumes its state from before the server stopped.
pub(crate) fn spawn_process(
    connections: AgentConnections,
    agent: AgentId,
    command: &ProcessCommand,
    again: bool,
) -> std::io::Result<JoinHandle<()>> {
    let launch = command.launch(&agent).ok_or(std::io::ErrorKind::InvalidInput)?;
    // Some milliseconds, once for each agent of the settings.
    let Launched { mut child, processes, authority, .. } = launch.start_blocking()?;
    let (authority, start) = LastingWatch::start(authority, &processes);
    tokio::spawn(print_errors(child.stderr.take()));
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (stdin, stdout) = pipes.ok_or(std::io::ErrorKind::BrokenPipe)?;
    let (lines, incoming) = mpsc::channel(AHEAD);
    let reader = tokio::spawn(read_lines(stdout, lines));
    let pipe = Pipe {
        incoming,
        stdin,
        processes,
        _child: child,
        authority,
        start: Some(start),
        looked: Instant::now(),
        look: None,
    };
    Ok(tokio::spawn(async move {
        serve(pipe, connections, ConnectionOrigin::Own { agent, again }).await;
        reader.abort();
    }))
}

struct Pipe {
    incoming: mpsc::Receiver<ReceivedMessage>,
    stdin: ChildStdin,
    /// Everything that the agent started ends with the connection; dropped, it is killed at once.
    processes: Processes,
    _child: Child,
    /// After the processes: they end first.
    authority: LastingWatch,
    /// From the start to the first message.
    start: Option<WatchedCall>,
    looked: Instant,
    /// The look that the last message began.
    look: Option<JoinHandle<()>>,
}

impl Pipe {
    /// Returns true if files of authority have to be looked at again. A look may take longer than the time between two.
    fn is_look_due(&mut self) -> bool {
        let is_running = self.look.as_ref().is_some_and(|look| !look.is_finished());
        let is_due = self.start.is_none() && !is_running && self.looked.elapsed() >= LOOK_EVERY;
        if is_due {
            self.looked = Instant::now();
        }
        is_due
    }
}

impl Transport for Pipe {
    async fn recv(&mut self) -> ReceivedMessage {
        let incoming = self.incoming.recv().await.unwrap_or(ReceivedMessage::Closed);
        // Not awaited: a caller that gives up here would lose the message.
        if let Some(start) = self.start.take() {
            tokio::task::spawn_blocking(move || drop(start));
        } else if self.is_look_due() {
            let authority = self.authority.clone();
            self.look = Some(tokio::spawn(async move { authority.look().await }));
        }
        incoming
    }

    async fn send(&mut self, mut text: String) -> bool {
        if self.is_look_due() {
            self.authority.look().await;
        }
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

/// Prints what the agent writes to stderr, without characters that a terminal would execute.
async fn print_errors(stderr: Option<ChildStderr>) {
    let Some(stderr) = stderr else { return };
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(ERROR_LINE_MAX).read_until(b'\n', &mut line).await {
            Ok(1..) => {
                let text = String::from_utf8_lossy(&line);
                let text = rawko_chart::printable(text.trim_end());
                #[expect(clippy::print_stderr, reason = "the agent's messages belong to the server's")]
                {
                    eprintln!("{text}");
                }
            }
            Ok(0) | Err(_) => return,
        }
    }
}

/// Reads lines until the end. A line that is too long is skipped.
async fn read_lines(stdout: ChildStdout, lines: mpsc::Sender<ReceivedMessage>) {
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
            (false, false) => ReceivedMessage::Oversized,
            (false, true) => match String::from_utf8(line) {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => ReceivedMessage::Text(text),
                Err(_) => ReceivedMessage::NotText,
            },
        };
        if lines.send(incoming).await.is_err() {
            return;
        }
    }
}
