//! A command while it runs: read until it ends, and killed with everything that it started when time is up, when it
//! floods us, or when the call is abandoned.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use rawko_process::Processes;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::launch::Launch;
use super::output::Output;

/// A command with more output than this is unlikely to stop.
const FLOOD_BYTES: u64 = 64 * 1024 * 1024;
/// Time to read the rest of the pipe after the command has ended.
const GRACE: Duration = Duration::from_secs(2);
const CHUNK: usize = 64 * 1024;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// It wrote too much output.
    Flooded,
}

pub(super) struct Running {
    guard: Guard,
    output: Receiver,
    exited: oneshot::Receiver<Option<ExitStatus>>,
    pub(super) sandbox: String,
}

/// Held by the call. The thread that waits for the command holds its processes too, so dropping them is not enough.
struct Guard(Arc<Processes>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.kill();
    }
}

pub(super) async fn start(launch: Launch) -> Result<Running, String> {
    let (told, started) = oneshot::channel();
    let (ended, exited) = oneshot::channel();
    let thread = std::thread::Builder::new().name("rawko-bash".into());
    let spawned = thread.spawn(move || match launch.launch() {
        Ok(launched) => {
            let processes = Arc::new(launched.processes);
            // A call that was abandoned meanwhile does not take the guard: it is dropped here, and kills the command.
            let _ = told.send(Ok((Guard(Arc::clone(&processes)), launched.output, launched.sandbox)));
            let _ = ended.send(reaped(launched.child, &processes));
        }
        Err(error) => drop(told.send(Err(error))),
    });
    spawned.map_err(|error| format!("no thread for the command: {error}"))?;
    let lost = |_| "the command was lost before it started".to_owned();
    let (guard, output, sandbox) = started.await.map_err(lost)??;
    let output =
        Receiver::from_owned_fd(output).map_err(|error| format!("its output cannot be read: {error}"))?;
    Ok(Running { guard, output, exited, sandbox })
}

/// Waits for a command, and kills what it left behind before its process id is given back: until then the whole group
/// can be signalled at once.
fn reaped(mut child: Child, processes: &Processes) -> Option<ExitStatus> {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
    }
    processes.kill();
    child.wait().ok()
}

impl Running {
    pub(super) async fn finish(mut self, limit: Duration, output_max: usize) -> (Ending, Output) {
        let mut output = Output::new(output_max);
        let deadline = Instant::now() + limit;
        let early = tokio::select! {
            is_flood = drain(&mut self.output, &mut output) => is_flood.then_some(Ending::Flooded),
            status = &mut self.exited => {
                let _ = timeout(GRACE, drain(&mut self.output, &mut output)).await;
                return (ending(status.ok().flatten()), output);
            }
            () = sleep_until(deadline) => Some(Ending::TimedOut),
        };
        // Its output is closed, but it may keep running for a while.
        let early = match early {
            Some(early) => Some(early),
            None => tokio::select! {
                status = &mut self.exited => return (ending(status.ok().flatten()), output),
                () = sleep_until(deadline) => Some(Ending::TimedOut),
            },
        };
        self.guard.0.kill_all().await;
        let _ = timeout(GRACE, &mut self.exited).await;
        (early.unwrap_or(Ending::TimedOut), output)
    }
}

/// Reads to the end; returns true if the output exceeds `FLOOD_BYTES` first.
async fn drain(pipe: &mut Receiver, output: &mut Output) -> bool {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        output.push(&chunk[..count]);
        if output.total() > FLOOD_BYTES {
            return true;
        }
    }
    false
}

fn ending(status: Option<ExitStatus>) -> Ending {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => Ending::Exited(code),
        Some((None, Some(signal))) => Ending::Signalled(signal),
        Some((None, None)) | None => Ending::Signalled(0),
    }
}
