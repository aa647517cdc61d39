//! A command while it runs: read until it ends, and killed with everything that it started when time is up, when it
//! floods us, or when the call is abandoned.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rawko_process::{AuthorityWatch, Launch, LaunchError, Processes, ReachedHosts};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout};
use tokio::time::{Instant, sleep_until, timeout};

use super::output::CommandOutput;
use super::watch;

/// A command with more output than this is unlikely to stop.
const FLOOD_BYTES: u64 = 64 * 1024 * 1024;
/// Time to read the rest of the pipe after the command has ended.
const GRACE: Duration = Duration::from_secs(2);
const CHUNK: usize = 64 * 1024;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShellEnd {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// It wrote too much output.
    Flooded,
}

pub(super) struct RunningShell {
    child: Child,
    output: Option<ChildStdout>,
    /// Dropped with the call, it kills everything.
    processes: Processes,
    authority: AuthorityWatch,
    pub(super) sandbox: String,
    /// Hosts that it reached.
    pub(super) connections: ReachedHosts,
}

pub(super) async fn start(launch: Launch) -> Result<RunningShell, LaunchError> {
    let mut launched = launch.start().await?;
    launched.authority.guard();
    let output = launched.child.stdout.take();
    let sandbox = launched.confinement_in_words();
    Ok(RunningShell {
        child: launched.child,
        output,
        processes: launched.processes,
        authority: launched.authority,
        sandbox,
        connections: launched.connections,
    })
}

impl RunningShell {
    /// Waits for the end. Returns it with the output and a line for each file of authority that was set aside.
    pub(super) async fn finish(
        mut self,
        limit: Duration,
        output_max: usize,
    ) -> (ShellEnd, CommandOutput, Vec<String>) {
        let (ending, output) = self.run(limit, output_max).await;
        let refused = self.authority.restore();
        (ending, output, refused)
    }

    async fn run(&mut self, limit: Duration, output_max: usize) -> (ShellEnd, CommandOutput) {
        let mut output = CommandOutput::new(output_max);
        let deadline = Instant::now() + limit;
        let early = tokio::select! {
            is_flood = drain(&mut self.output, &mut output) => is_flood.then_some(ShellEnd::Flooded),
            status = self.child.wait() => {
                // What it left behind would hold the pipe open.
                self.processes.kill_all().await;
                let _ = timeout(GRACE, drain(&mut self.output, &mut output)).await;
                return (ending(status.ok()), output);
            }
            () = sleep_until(deadline) => Some(ShellEnd::TimedOut),
        };
        // Its output is closed, but it may keep running for a while.
        let early = match early {
            Some(early) => early,
            None => tokio::select! {
                status = self.child.wait() => {
                    self.processes.kill_all().await;
                    return (ending(status.ok()), output);
                }
                () = sleep_until(deadline) => ShellEnd::TimedOut,
            },
        };
        self.processes.kill_all().await;
        let _ = timeout(GRACE, self.child.wait()).await;
        (early, output)
    }
}

/// Reads to the end; returns true if the output exceeds `FLOOD_BYTES` first.
async fn drain(pipe: &mut Option<impl AsyncRead + Unpin>, output: &mut CommandOutput) -> bool {
    let Some(pipe) = pipe else { return false };
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        output.push(&chunk[..count]);
        watch::report(&chunk[..count]);
        if output.total() > FLOOD_BYTES {
            return true;
        }
    }
    false
}

fn ending(status: Option<ExitStatus>) -> ShellEnd {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => ShellEnd::Exited(code),
        Some((None, Some(signal))) => ShellEnd::Signalled(signal),
        Some((None, None)) | None => ShellEnd::Signalled(0),
    }
}
