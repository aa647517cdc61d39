//! A running program: writes its stdin, reads its output, and ends it with all of its children on a timeout or when the
//! call is dropped.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rawko_process::{Launched, Processes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::services::bodies::KEPT_BYTES;
use crate::services::{Category, ServiceError};

/// Time between the request to terminate and the kill.
const GRACE: Duration = Duration::from_secs(2);
/// More than is kept of stderr, so that no half of a secret survives at the cut.
const TAIL_BYTES: usize = 2 * KEPT_BYTES;

#[derive(Clone, Copy)]
pub(super) struct RunLimits {
    pub(super) timeout: Option<Duration>,
    pub(super) output_bytes_max: u64,
}

/// The way in which a program ended.
pub(super) enum ProgramExit {
    Exited {
        status: ExitStatus,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    },
    TooMuchOutput,
    TimedOut,
    /// The call was dropped.
    Abandoned,
}

/// Starts a program and runs it to its end. A separate task owns it from the start, so that the program is terminated
/// gracefully even if this future is dropped.
pub(super) async fn supervised(
    start: impl Future<Output = Result<Launched, ServiceError>> + Send + 'static,
    input: Vec<u8>,
    limits: RunLimits,
) -> Result<ProgramExit, ServiceError> {
    let (waiting, abandoned) = oneshot::channel::<()>();
    let ending = tokio::spawn(async move {
        let Launched { child, processes, mut authority, .. } = start.await?;
        authority.guard();
        let ending = supervise((child, processes), input, limits, abandoned).await;
        authority.restore();
        ending.map_err(|error| lost(&error))
    });
    let ending = ending.await;
    drop(waiting);
    ending.map_err(|error| lost(&error))?
}

/// The program was started, and cannot be waited for.
pub(super) fn lost(error: &dyn std::error::Error) -> ServiceError {
    ServiceError::new(Category::Host, format!("lost control of the program: {error}"))
}

async fn supervise(
    (mut child, processes): (Child, Processes),
    input: Vec<u8>,
    limits: RunLimits,
    abandoned: oneshot::Receiver<()>,
) -> io::Result<ProgramExit> {
    let ending = tokio::select! {
        ending = exchange(&mut child, &processes, &input, limits.output_bytes_max) => ending,
        () = expired(limits.timeout) => Ok(ProgramExit::TimedOut),
        _ = abandoned => Ok(ProgramExit::Abandoned),
    };
    match &ending {
        Ok(ProgramExit::Exited { .. }) => {}
        Ok(ProgramExit::TooMuchOutput | ProgramExit::TimedOut | ProgramExit::Abandoned) | Err(_) => {
            processes.end(GRACE).await;
            let _ = timeout(GRACE, child.wait()).await;
        }
    }
    ending
}

async fn expired(after: Option<Duration>) {
    match after {
        Some(after) => sleep(after).await,
        None => std::future::pending().await,
    }
}

/// Feeds it, reads what it writes, and waits for it. What it leaves running is killed, wherever it went: it would hold
/// the output open.
async fn exchange(
    child: &mut Child,
    processes: &Processes,
    input: &[u8],
    output_max: u64,
) -> io::Result<ProgramExit> {
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
            within = &mut pipes => if within { child.wait().await? } else { return Ok(ProgramExit::TooMuchOutput) },
            status = child.wait() => {
                processes.kill_all().await;
                // Only a process that is out of reach can still hold the pipes open; earlier output has been read.
                if let Ok(false) = timeout(GRACE, pipes).await {
                    return Ok(ProgramExit::TooMuchOutput);
                }
                status?
            }
        }
    };
    processes.kill_all().await;
    Ok(ProgramExit::Exited { status, stdout: out, stderr: err })
}

/// Writes the input. A program that closes the pipe without reading it is fine.
async fn write(pipe: Option<tokio::process::ChildStdin>, input: &[u8]) {
    if let Some(mut pipe) = pipe {
        let _ = pipe.write_all(input).await;
    }
}

/// Reads up to a limit; returns false if there was more.
async fn read_within(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, bytes_max: u64) -> bool {
    if let Some(pipe) = pipe {
        let _ = pipe.take(bytes_max.saturating_add(1)).read_to_end(into).await;
    }
    into.len() as u64 <= bytes_max
}

/// Reads everything and keeps the end.
async fn read_tail(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    while let Ok(1..) = pipe.read_buf(into).await {
        if into.len() > 2 * TAIL_BYTES {
            into.drain(..into.len() - TAIL_BYTES);
        }
    }
}
