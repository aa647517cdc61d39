//! A check while it runs: in a group of its own, so that time being up, too much output or nobody waiting ends
//! everything it started.

use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// Limit of stdout and of stderr.
const OUTPUT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The end of a run.
pub(super) enum Ending {
    Exited { status: ExitStatus, stdout: String, stderr: String },
    TimedOut,
    TooMuchOutput,
}

pub(super) async fn run(mut command: Command, time: Duration) -> io::Result<Ending> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut group = Group::of(&child)?;
    let ending = match timeout(time, exchange(&mut child, &group)).await {
        Ok(ending) => ending,
        Err(_) => Ok(Ending::TimedOut),
    };
    if !matches!(ending, Ok(Ending::Exited { .. })) {
        group.end(&mut child).await;
    }
    group.is_ended = true;
    ending
}

async fn exchange(child: &mut Child, group: &Group) -> io::Result<Ending> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = {
        let mut pipes = pin!(async {
            let (out, err) = tokio::join!(read(stdout, &mut out), read(stderr, &mut err));
            out && err
        });
        tokio::select! {
            is_within = &mut pipes => if is_within { child.wait().await? } else { return Ok(Ending::TooMuchOutput) },
            status = child.wait() => {
                // What it left running would hold the pipes open.
                group.signal(Signal::KILL);
                if let Ok(false) = timeout(GRACE, pipes).await {
                    return Ok(Ending::TooMuchOutput);
                }
                status?
            }
        }
    };
    group.signal(Signal::KILL);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ending::Exited { status, stdout: text(out), stderr: text(err) })
}

/// Reads up to a limit; returns false if there was more.
async fn read(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> bool {
    if let Some(pipe) = pipe {
        let _ = pipe.take(OUTPUT_BYTES_MAX + 1).read_to_end(into).await;
    }
    into.len() as u64 <= OUTPUT_BYTES_MAX
}

/// Dropped before its end (nobody waits any more), it is killed at once.
pub(super) struct Group {
    pid: Pid,
    pub(super) is_ended: bool,
}

impl Group {
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { pid: pid.ok_or(io::ErrorKind::NotFound)?, is_ended: false })
    }

    /// A group that is gone already is as it should be.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }

    pub(super) async fn end(&self, child: &mut Child) {
        self.signal(Signal::TERM);
        let gone = async {
            let _ = child.wait().await;
            while test_kill_process_group(self.pid).is_ok() {
                sleep(LOOK_AGAIN).await;
            }
        };
        if timeout(GRACE, gone).await.is_err() {
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
