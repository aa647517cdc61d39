//! A program while it runs: fed, read, and ended with everything it started when time is up or nobody waits any more.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::services::bodies::KEPT_BYTES;
use crate::services::{Category, ServiceError};

/// Between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(2);
/// How often to look whether a group that was asked to end has done so.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// More than is kept of stderr, so that no half of a secret survives at the cut.
const TAIL_BYTES: usize = 2 * KEPT_BYTES;

#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) timeout: Option<Duration>,
    pub(super) output_bytes_max: u64,
}

/// How a run of a program ended.
pub(super) enum Ending {
    Exited {
        status: ExitStatus,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    },
    TooMuchOutput,
    TimedOut,
    /// Nobody waits for the answer any more.
    Abandoned,
}

/// Runs a started program to its end. A task of its own owns it, so that dropping this future still leaves somebody
/// to end the program politely.
pub(super) async fn supervised(child: Child, input: Vec<u8>, limits: Limits) -> Result<Ending, ServiceError> {
    let (waiting, abandoned) = oneshot::channel::<()>();
    let ending = tokio::spawn(supervise(child, input, limits, abandoned)).await;
    drop(waiting);
    let lost =
        |what: String| ServiceError::new(Category::Host, format!("lost control of the program: {what}"));
    ending.map_err(|error| lost(error.to_string()))?.map_err(|error| lost(error.to_string()))
}

async fn supervise(
    mut child: Child,
    input: Vec<u8>,
    limits: Limits,
    abandoned: oneshot::Receiver<()>,
) -> io::Result<Ending> {
    let mut group = Group::of(&child)?;
    let ending = tokio::select! {
        ending = exchange(&mut child, &group, &input, limits.output_bytes_max) => ending,
        () = expired(limits.timeout) => Ok(Ending::TimedOut),
        _ = abandoned => Ok(Ending::Abandoned),
    };
    match &ending {
        Ok(Ending::Exited { .. }) => {}
        Ok(Ending::TooMuchOutput | Ending::TimedOut | Ending::Abandoned) | Err(_) => {
            group.end(&mut child).await
        }
    }
    group.is_ended = true;
    ending
}

async fn expired(after: Option<Duration>) {
    match after {
        Some(after) => sleep(after).await,
        None => std::future::pending().await,
    }
}

/// Feeds it, reads what it writes, and waits for it. What it leaves running in its group ends with it: whoever waits
/// for the end of its output would otherwise wait for that.
async fn exchange(child: &mut Child, group: &Group, input: &[u8], output_max: u64) -> io::Result<Ending> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = {
        let mut pipes = pin!(async {
            let (_, within, ()) = tokio::join!(
                write(stdin, input),
                read_within(stdout, &mut out, output_max),
                read_tail(stderr, &mut err)
            );
            within
        });
        tokio::select! {
            within = &mut pipes => if within { child.wait().await? } else { return Ok(Ending::TooMuchOutput) },
            status = child.wait() => {
                group.signal(Signal::KILL);
                // Only what left the group can still hold the pipes open; what was written before is here.
                if let Ok(false) = timeout(GRACE, pipes).await {
                    return Ok(Ending::TooMuchOutput);
                }
                status?
            }
        }
    };
    group.signal(Signal::KILL);
    Ok(Ending::Exited { status, stdout: out, stderr: err })
}

/// A program need not read its input: that it closes the pipe is no failure.
async fn write(pipe: Option<tokio::process::ChildStdin>, input: &[u8]) {
    if let Some(mut pipe) = pipe {
        let _ = pipe.write_all(input).await;
    }
}

/// Everything up to a limit; false when there was more.
async fn read_within(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, bytes_max: u64) -> bool {
    if let Some(pipe) = pipe {
        let _ = pipe.take(bytes_max.saturating_add(1)).read_to_end(into).await;
    }
    into.len() as u64 <= bytes_max
}

/// The last part of everything.
async fn read_tail(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    while let Ok(1..) = pipe.read_buf(into).await {
        if into.len() > 2 * TAIL_BYTES {
            into.drain(..into.len() - TAIL_BYTES);
        }
    }
}

/// The process group of a program. Dropped before its end (the runtime goes away), it is killed at once.
struct Group {
    pid: Pid,
    is_ended: bool,
}

impl Group {
    fn of(child: &Child) -> io::Result<Self> {
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { pid: pid.ok_or(io::ErrorKind::NotFound)?, is_ended: false })
    }

    /// A group that is gone already is as it should be.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }

    async fn end(&self, child: &mut Child) {
        self.signal(Signal::TERM);
        let gone = async {
            let _ = child.wait().await;
            while test_kill_process_group(self.pid).is_ok() {
                sleep(LOOK_AGAIN).await;
            }
        };
        let is_gone = timeout(GRACE, gone).await.is_ok();
        if !is_gone {
            self.signal(Signal::KILL);
            let _ = timeout(GRACE, child.wait()).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_ended {
            self.signal(Signal::KILL);
        }
    }
}
