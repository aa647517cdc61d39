//! A command while it runs: read until it ends, and ended with its whole group when time is up, when it floods us, or
//! when nobody waits any more. What leaves its group (`setsid`) cannot be found again; only its output is let go of.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
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
    group: Group,
    output: Receiver,
    exited: oneshot::Receiver<Option<ExitStatus>>,
    pub(super) sandbox: String,
}

/// The group of a command, as long as its number is surely its own. Dropped, it is killed.
struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    fn kill(&self) {
        // Nothing can be half done under this lock.
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(super) async fn start(launch: Launch) -> Result<Running, String> {
    let (told, started) = oneshot::channel();
    let (ended, exited) = oneshot::channel();
    let thread = std::thread::Builder::new().name("rawko-bash".into());
    let spawned = thread.spawn(move || match launch.launch() {
        Ok(launched) => {
            let pid = i32::try_from(launched.child.id()).ok().and_then(Pid::from_raw);
            let group = Arc::new(Mutex::new(pid));
            // If nobody listens any more the group comes back here, is dropped, and the command is killed.
            let _ = told.send(Ok((Group(Arc::clone(&group)), launched.output, launched.sandbox)));
            let _ = ended.send(reaped(launched.child, &group));
        }
        Err(error) => drop(told.send(Err(error))),
    });
    spawned.map_err(|error| format!("no thread for the command: {error}"))?;
    let lost = |_| "the command was lost before it started".to_owned();
    let (group, output, sandbox) = started.await.map_err(lost)??;
    let output =
        Receiver::from_owned_fd(output).map_err(|error| format!("its output cannot be read: {error}"))?;
    Ok(Running { group, output, exited, sandbox })
}

/// Waits for a command without letting go of its number, ends what it left behind in its group, and only then lets go:
/// so no signal can ever reach a stranger that got the number next.
fn reaped(mut child: Child, group: &Mutex<Option<Pid>>) -> Option<ExitStatus> {
    let pid = *group.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pid) = pid {
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let _ = kill_process_group(pid, Signal::KILL);
    }
    *group.lock().unwrap_or_else(PoisonError::into_inner) = None;
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
        self.group.kill();
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
