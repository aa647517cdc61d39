//! A check while it runs. Time being up, too much output or an abandoned call ends everything that it started.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rawko_process::{AuthorityWatch, Launch, LaunchError, Processes, ProgramStdin};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::time::timeout;

/// Limit of stdout and of stderr.
const OUTPUT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Between being asked to end and being ended.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The end of a run.
pub(crate) enum CheckEnd {
    Exited { status: ExitStatus, stdout: String, stderr: String },
    TimedOut,
    TooMuchOutput,
}

pub(super) async fn run(launch: Launch, time: Duration) -> Result<CheckEnd, LaunchError> {
    run_with(launch, None, time).await
}

/// Runs a program with a text on its standard input.
pub(crate) async fn run_with(
    launch: Launch,
    text: Option<String>,
    time: Duration,
) -> Result<CheckEnd, LaunchError> {
    let input = if text.is_some() { ProgramStdin::Pipe } else { ProgramStdin::Null };
    let mut launched = Launch { input, ..launch }.start().await?;
    launched.authority.guard();
    let (mut child, processes) = (launched.child, launched.processes);
    let _restored = RestoreOnDrop(launched.authority);
    let ending = match timeout(time, exchange(&mut child, &processes, text)).await {
        Ok(ending) => ending,
        Err(_) => Ok(CheckEnd::TimedOut),
    };
    if !matches!(ending, Ok(CheckEnd::Exited { .. })) {
        processes.end(GRACE).await;
        let _ = timeout(GRACE, child.wait()).await;
    }
    Ok(ending?)
}

/// Files of authority are put right when the check is over, also if it is abandoned.
struct RestoreOnDrop(AuthorityWatch);

impl Drop for RestoreOnDrop {
    fn drop(&mut self) {
        self.0.restore();
    }
}

async fn exchange(child: &mut Child, processes: &Processes, text: Option<String>) -> io::Result<CheckEnd> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = {
        let mut pipes = pin!(async {
            let (out, err, ()) =
                tokio::join!(read(stdout, &mut out), read(stderr, &mut err), write(stdin, text));
            out && err
        });
        tokio::select! {
            is_within = &mut pipes => if is_within { child.wait().await? } else { return Ok(CheckEnd::TooMuchOutput) },
            status = child.wait() => {
                // Processes that it left running would hold the pipes open.
                processes.kill_all().await;
                if let Ok(false) = timeout(GRACE, pipes).await {
                    return Ok(CheckEnd::TooMuchOutput);
                }
                status?
            }
        }
    };
    processes.kill_all().await;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(CheckEnd::Exited { status, stdout: text(out), stderr: text(err) })
}

/// Writes the input and closes it. A program that does not read it is no fault.
async fn write(pipe: Option<ChildStdin>, text: Option<String>) {
    if let (Some(mut pipe), Some(text)) = (pipe, text) {
        let _ = pipe.write_all(text.as_bytes()).await;
    }
}

/// Reads up to a limit; returns false if there was more.
async fn read(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> bool {
    if let Some(pipe) = pipe {
        let _ = pipe.take(OUTPUT_BYTES_MAX + 1).read_to_end(into).await;
    }
    into.len() as u64 <= OUTPUT_BYTES_MAX
}
