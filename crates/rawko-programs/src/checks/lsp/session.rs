//! `LspSession`: a running language server and the files that are open in it. A pass sends only what changed since the last.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rawko_process::{LastingWatch, Launch, Processes};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::files::OpenFile;
use super::talk::Talk;
use crate::checks::process;

/// Limit of captured stderr.
const STDERR_BYTES_MAX: usize = 16 * 1024;
/// Time for stderr to arrive after the exit.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct LspSession {
    talk: Talk,
    child: Child,
    processes: Processes,
    /// After the processes: they end first.
    authority: LastingWatch,
    complaints: JoinHandle<String>,
    is_introduced: bool,
    /// The version and text of each open file.
    open: BTreeMap<String, (u64, String)>,
    /// The number of its last use.
    pub(super) used: u64,
}

impl LspSession {
    pub(super) async fn start(launch: Launch, root: &Path) -> Result<Self, String> {
        let launched = launch.start().await;
        let launched =
            launched.map_err(|error| format!("the language server could not be started: {error}"))?;
        let (mut child, processes) = (launched.child, launched.processes);
        let (authority, _start) = LastingWatch::start(launched.authority, &processes);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the language server has no pipes".to_owned());
        };
        let complaints = tokio::spawn(last_line(child.stderr.take()));
        let talk = Talk::new(stdin, stdout, root);
        let open = BTreeMap::new();
        Ok(Self { talk, child, processes, authority, complaints, is_introduced: false, open, used: 0 })
    }

    /// Returns the diagnostics of each file, in order.
    pub(super) async fn diagnostics(
        &mut self,
        opened: &[OpenFile],
        time: Duration,
    ) -> Result<Vec<Vec<Value>>, String> {
        let call = self.authority.call().await;
        let answer = match timeout(time, self.pass(opened)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("the language server did not answer within {time:?}")),
        };
        call.end_and_stop().await;
        answer
    }

    async fn pass(&mut self, opened: &[OpenFile]) -> Result<Vec<Vec<Value>>, String> {
        if !self.is_introduced {
            self.talk.introduce().await?;
            self.is_introduced = true;
        }
        self.close_others(opened).await?;
        for file in opened {
            let known = self.open.get(&file.uri).map(|(version, text)| (*version, *text == file.text));
            let version = match known {
                Some((_, true)) => continue,
                Some((version, false)) => {
                    self.talk.change(file, version + 1).await?;
                    version + 1
                }
                None => {
                    self.talk.open(file).await?;
                    1
                }
            };
            self.open.insert(file.uri.clone(), (version, file.text.clone()));
        }
        self.talk.diagnostics(opened).await
    }

    /// Closes files that no longer match or exist.
    async fn close_others(&mut self, opened: &[OpenFile]) -> Result<(), String> {
        let is_gone = |uri: &&String| !opened.iter().any(|file| file.uri == **uri);
        let gone: Vec<String> = self.open.keys().filter(is_gone).cloned().collect();
        for uri in gone {
            self.talk.close(&uri).await?;
            self.open.remove(&uri);
        }
        Ok(())
    }

    pub(super) async fn end(mut self) {
        let _call = self.authority.call().await;
        // Ended before its pipes are closed: an error about closed pipes would hide the cause.
        self.processes.end(process::GRACE).await;
        let _ = timeout(process::GRACE, self.child.wait()).await;
    }

    /// Ends it; returns the reason with the last line of its stderr.
    pub(super) async fn end_because(mut self, why: String) -> String {
        let _call = self.authority.call().await;
        self.processes.end(process::GRACE).await;
        let _ = timeout(process::GRACE, self.child.wait()).await;
        match timeout(GRACE, self.complaints).await {
            Ok(Ok(line)) if !line.is_empty() => format!("{why}: {line}"),
            _ => why,
        }
    }
}

/// Returns the last line of stderr.
async fn last_line(pipe: Option<ChildStderr>) -> String {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else { return String::new() };
    while let Ok(1..) = pipe.read_buf(&mut kept).await {
        if kept.len() > 2 * STDERR_BYTES_MAX {
            kept.drain(..kept.len() - STDERR_BYTES_MAX);
        }
    }
    let text = String::from_utf8_lossy(&kept);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
