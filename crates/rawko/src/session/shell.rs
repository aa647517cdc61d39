//! `ShellCommand`: a command of the person (`!ls`). It runs in the project with the rights of the person, as in a shell; its
//! output is printed, and the agents read it as a message.

use std::path::Path;
use std::time::Instant;

use rawko_process::{Confinement, Launch, Profile, ProgramStdin, ProgramStdout};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Bytes of the output that the agents read: its beginning and its end.
const MESSAGE_BYTES_MAX: usize = 16_000;
/// The beginning of the message for the agents.
pub(crate) const MESSAGE_BEGIN: &str = "I ran `";
/// Lines that are printed.
const LINES_MAX: usize = 200;
/// A longer line is split: a program may print one that never ends.
const LINE_BYTES_MAX: u64 = 8_192;

/// The exit status of a command that succeeded, in words.
pub(crate) const SUCCEEDED: &str = "exit code 0";

/// What a command reports.
#[derive(Debug)]
pub(crate) enum ShellEvent {
    Line(String),
    /// It ended: the exit status in words.
    Ended(String),
}

#[derive(Debug)]
pub(crate) struct ShellCommand {
    pub(crate) line: String,
    pub(crate) since: Instant,
    output: String,
    lines: usize,
    events: mpsc::UnboundedReceiver<ShellEvent>,
    running: JoinHandle<()>,
}

impl ShellCommand {
    pub(crate) fn start(line: &str, root: &Path) -> ShellCommand {
        let (sender, events) = mpsc::unbounded_channel();
        let launch = Launch {
            args: vec!["-c".to_owned(), line.to_owned()],
            // The shell of the person has all of it.
            set: std::env::vars().collect(),
            input: ProgramStdin::Null,
            output: ProgramStdout::Merged,
            ..Launch::new("sh", Profile::Trusted, Confinement::of_project(root.to_owned()))
        };
        let running = tokio::spawn(async move {
            let ended = run(launch, &sender).await.unwrap_or_else(|error| format!("cannot start: {error}"));
            // The session has ended.
            let _ = sender.send(ShellEvent::Ended(ended));
        });
        let (output, line) = (String::new(), line.to_owned());
        ShellCommand { line, since: Instant::now(), output, lines: 0, events, running }
    }

    /// Returns the next event.
    async fn event(&mut self) -> ShellEvent {
        match self.events.recv().await {
            Some(event) => event,
            None => ShellEvent::Ended("stopped".to_owned()),
        }
    }

    /// Adds a line of the output. Returns true if it is to be printed.
    pub(crate) fn add(&mut self, line: &str) -> bool {
        self.output.push_str(line);
        self.output.push('\n');
        if self.output.len() > 4 * MESSAGE_BYTES_MAX {
            self.output = shortened(&self.output);
        }
        self.lines += 1;
        self.lines <= LINES_MAX
    }

    /// Returns the number of lines that were not printed.
    pub(crate) fn hidden(&self) -> usize {
        self.lines.saturating_sub(LINES_MAX)
    }

    /// Returns the message for the agents.
    pub(crate) fn message(&self, ended: &str) -> String {
        format!("{MESSAGE_BEGIN}{}` ({ended}):\n{}", self.line, shortened(&self.output).trim_end())
    }
}

impl Drop for ShellCommand {
    fn drop(&mut self) {
        // Ends its processes, too.
        self.running.abort();
    }
}

/// Returns the next event of a command; never resolves without one.
pub(crate) async fn next_event(command: &mut Option<ShellCommand>) -> ShellEvent {
    match command {
        Some(command) => command.event().await,
        None => std::future::pending().await,
    }
}

/// Runs the command. Returns its exit status in words.
async fn run(launch: Launch, sender: &mpsc::UnboundedSender<ShellEvent>) -> std::io::Result<String> {
    let mut launched = launch.start().await?;
    if let Some(output) = launched.child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while (&mut output).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await? > 0 {
            let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            if sender.send(ShellEvent::Line(text)).is_err() {
                break;
            }
            line.clear();
        }
    }
    let status = launched.child.wait().await?;
    Ok(match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    })
}

/// Returns the beginning and the end of a text that is too long.
fn shortened(text: &str) -> String {
    if text.len() <= MESSAGE_BYTES_MAX {
        return text.to_owned();
    }
    let half = MESSAGE_BYTES_MAX / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!("{}\n[… {} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end() {
        let text = format!("begin {} end", "ä".repeat(20_000));
        let short = shortened(&text);
        assert!(short.len() < MESSAGE_BYTES_MAX + 100, "{}", short.len());
        assert!(short.starts_with("begin ") && short.ends_with(" end") && short.contains("bytes left out"));
        assert_eq!(shortened("x"), "x");
    }
}
