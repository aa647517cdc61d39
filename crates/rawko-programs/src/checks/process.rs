//! A check while it runs. Time being up, too much output or an abandoned call ends everything that it started.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rawko_process::{AuthorityWatch, Input, Launch, LaunchError, Processes};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::time::timeout;

/// Limit of stdout and of stderr.
const OUTPUT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Between being asked to end and being ended.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The end of a run.
pub(super) enum Ending {
    Exited { status: ExitStatus, stdout: String, stderr: String },
    TimedOut,
    TooMuchOutput,
}

pub(super) async fn run(launch: Launch, time: Duration) -> Result<Ending, LaunchError> {
    let mut launched = Launch { input: Input::Null, ..launch }.start().await?;
    launched.authority.guard();
    let (mut child, processes) = (launched.child, launched.processes);
    let _restored = Restored(launched.authority);
    let ending = match timeout(time, exchange(&mut child, &processes)).await {
        Ok(ending) => ending,
        Err(_) => Ok(Ending::TimedOut),
    };
    if !matches!(ending, Ok(Ending::Exited { .. })) {
        processes.end(GRACE).await;
        let _ = timeout(GRACE, child.wait()).await;
    }
    Ok(ending?)
}

/// Files of authority are put right when the check is over, also if it is abandoned.
struct Restored(AuthorityWatch);

impl Drop for Restored {
    fn drop(&mut self) {
        self.0.restore();
    }
}

async fn exchange(child: &mut Child, processes: &Processes) -> io::Result<Ending> {
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
                // Processes that it left running would hold the pipes open.
                processes.kill_all().await;
                if let Ok(false) = timeout(GRACE, pipes).await {
                    return Ok(Ending::TooMuchOutput);
                }
                status?
            }
        }
    };
    processes.kill_all().await;
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
