//! A child process that stays for a while: started in a group of its own, its stderr kept, and ended with everything
//! it started. MCP servers, process agents and ACP agents are all held by this.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rawko_host::Environment;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::stderr::Tail;

/// Between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(2);

/// What to start.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(String, String)>,
}

/// A running child. Dropped, its whole group is killed at once.
pub(crate) struct Child {
    pid: Pid,
    program: String,
    stderr: Tail,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl Launch {
    /// Starts it. Its stdin and stdout are the caller's.
    pub(crate) fn start(
        &self,
        environment: &Environment,
    ) -> Result<(Child, ChildStdin, ChildStdout), String> {
        let mut child = Command::new(self.file())
            .args(&self.args)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(environment.ordinary())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that everything it starts can be ended with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.not_started(&error, environment))?;
        let lost = || format!("lost hold of `{}`", self.program);
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).ok_or_else(lost)?;
        let stdin = child.stdin.take().ok_or_else(lost)?;
        let stdout = child.stdout.take().ok_or_else(lost)?;
        let stderr = Tail::of(child.stderr.take());
        let ended = watched(child, pid);
        Ok((Child { pid, program: self.program.clone(), stderr, ended }, stdin, stdout))
    }

    /// A bare name is looked for in PATH, anything else from where it runs.
    fn file(&self) -> PathBuf {
        if self.program.contains('/') { self.cwd.join(&self.program) } else { PathBuf::from(&self.program) }
    }

    fn not_started(&self, error: &io::Error, environment: &Environment) -> String {
        let program = &self.program;
        match error.kind() {
            io::ErrorKind::NotFound if !self.cwd.is_dir() => {
                format!("`{program}` cannot run in {}: there is no such directory", self.cwd.display())
            }
            io::ErrorKind::NotFound if program.contains('/') => {
                format!("there is no program `{program}`: looked for {}", self.file().display())
            }
            io::ErrorKind::NotFound => {
                let path = environment.get("PATH").unwrap_or_default().replace(':', ", ");
                format!("there is no program `{program}` in PATH, which is {path}")
            }
            io::ErrorKind::PermissionDenied => format!("the program `{program}` may not be executed"),
            _ => format!("the program `{program}` could not be started: {error}"),
        }
    }
}

/// Waits for the end of a child, and then ends what it leaves running: that would hold its pipes open for ever.
fn watched(mut child: tokio::process::Child, pid: Pid) -> watch::Receiver<Option<ExitStatus>> {
    let (tell, ended) = watch::channel(None);
    tokio::spawn(async move {
        let status = child.wait().await.ok();
        kill(pid);
        tell.send_replace(status.or_else(|| Some(ExitStatus::from_raw(0))));
    });
    ended
}

/// A group that is gone already is as it should be.
fn kill(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
}

impl Child {
    #[cfg(feature = "mcp")]
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Whether it has ended, asked of the kernel: what tasks of ours have noticed may lag behind.
    pub(crate) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.ended.borrow().is_some() || !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    /// Returns when it has ended.
    pub(crate) async fn ended(&self) -> Option<ExitStatus> {
        let mut ended = self.ended.clone();
        ended.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }

    /// The last words on stderr.
    pub(crate) async fn last_words(&self) -> String {
        self.stderr.text(self.has_ended()).await
    }

    /// How it ended and its last words, for a message; or that it still runs.
    pub(crate) async fn ending_in_words(&self) -> String {
        let status = if self.has_ended() { timeout(GRACE, self.ended()).await.ok().flatten() } else { None };
        let program = &self.program;
        let ending = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("`{program}` ended with exit code {code}"),
            Some((None, Some(signal))) => format!("`{program}` was ended by signal {signal}"),
            Some((None, None)) => format!("`{program}` ended without an exit code"),
            None => format!("`{program}` still runs"),
        };
        let last = self.last_words().await;
        if last.is_empty() { ending } else { format!("{ending}; the end of its stderr:\n{last}") }
    }

    /// Ends it politely: whoever calls this has closed its stdin.
    pub(crate) async fn end(&self) {
        if timeout(GRACE, self.ended()).await.is_ok() {
            return;
        }
        let _ = kill_process_group(self.pid, Signal::TERM);
        if timeout(GRACE, self.ended()).await.is_err() {
            kill(self.pid);
            let _ = timeout(GRACE, self.ended()).await;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Once it is reaped the number may be somebody else's; its group was killed then.
        if self.ended.borrow().is_none() {
            kill(self.pid);
        }
    }
}
