//! A child process that stays for a while: started, its stderr kept, and ended with everything that it started. MCP servers, process agents and ACP agents are all held by this.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rawko_process::{
    AuthorityWatch, Confinement, LaunchError, Processes, Profile, ReachedHosts, network_hint,
};
#[cfg(feature = "mcp")]
use rawko_process::{LastingWatch, WatchedCall};
use rawko_settings::Environment;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::timeout;

use super::stderr::StderrTail;

/// Time between the termination signal and the kill.
const GRACE: Duration = Duration::from_secs(2);

/// The start parameters of a child.
#[derive(Clone)]
pub(crate) struct AgentLaunch {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) profile: Profile,
    pub(crate) confinement: Confinement,
}

/// A running child. Dropped, it is killed at once with everything that it started.
pub(crate) struct AgentProcess {
    pid: Pid,
    program: String,
    processes: Arc<Processes>,
    stderr: StderrTail,
    ended: watch::Receiver<Option<ExitStatus>>,
    authority: Option<AuthorityWatch>,
    /// The same of a program that serves one call after another. After the processes: they end first.
    #[cfg(feature = "mcp")]
    calls: Option<LastingWatch>,
    /// True if it can reach any host.
    has_network: bool,
    connections: ReachedHosts,
}

impl AgentLaunch {
    /// Starts it. The caller gets its stdin and stdout.
    pub(crate) async fn start(
        &self,
        environment: &Environment,
    ) -> Result<(AgentProcess, ChildStdin, ChildStdout), String> {
        let launch = rawko_process::Launch {
            args: self.args.clone(),
            cwd: self.cwd.clone(),
            inherited: environment.all(),
            set: self.env.clone(),
            ..rawko_process::Launch::new(self.file(), self.profile, self.confinement.clone())
        };
        let has_network = self.profile == Profile::Trusted || self.confinement.egress.is_some();
        let launched = launch.start().await.map_err(|error| match error {
            LaunchError::Program(error) => self.not_started(&error, environment),
            LaunchError::Confinement(why) => why,
        })?;
        let (authority, connections) = (launched.authority, launched.connections);
        let (mut child, processes) = (launched.child, Arc::new(launched.processes));
        let lost = || format!("lost track of the process `{}`", self.program);
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).ok_or_else(lost)?;
        let stdin = child.stdin.take().ok_or_else(lost)?;
        let stdout = child.stdout.take().ok_or_else(lost)?;
        let stderr = StderrTail::of(child.stderr.take());
        let ended = watched(child, Arc::clone(&processes));
        Ok((
            AgentProcess {
                pid,
                program: self.program.clone(),
                processes,
                stderr,
                ended,
                authority: Some(authority),
                #[cfg(feature = "mcp")]
                calls: None,
                has_network,
                connections,
            },
            stdin,
            stdout,
        ))
    }

    /// A bare name is looked up in PATH, anything else relative to the working directory.
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
                format!("program `{program}` not found: looked for {}", self.file().display())
            }
            io::ErrorKind::NotFound => {
                let path = environment.get("PATH").unwrap_or_default().replace(':', ", ");
                format!("program `{program}` not found in PATH, which is {path}")
            }
            io::ErrorKind::PermissionDenied => format!("program `{program}` is not executable"),
            _ => format!("the program `{program}` could not be started: {error}"),
        }
    }
}

/// Waits for the end of a child, and then kills what it leaves running: that would hold its pipes open for ever.
fn watched(
    mut child: tokio::process::Child,
    processes: Arc<Processes>,
) -> watch::Receiver<Option<ExitStatus>> {
    let (tell, ended) = watch::channel(None);
    tokio::spawn(async move {
        let status = child.wait().await.ok();
        processes.kill_all().await;
        tell.send_replace(status.or_else(|| Some(ExitStatus::from_raw(0))));
    });
    ended
}

impl AgentProcess {
    /// Puts files of authority right after a turn.
    pub(crate) fn restore_authority(&mut self) {
        if let Some(authority) = &mut self.authority {
            authority.restore();
        }
    }

    /// The same if rawko is killed in a turn.
    pub(crate) fn guard_authority(&mut self) {
        if let Some(authority) = &mut self.authority {
            authority.guard();
        }
    }

    /// Watches a program that serves one call after another. Returns its start as the first of them.
    #[cfg(feature = "mcp")]
    pub(crate) fn watch_calls(&mut self) -> Option<WatchedCall> {
        let (calls, start) = LastingWatch::start(self.authority.take()?, &self.processes);
        self.calls = Some(calls);
        Some(start)
    }

    /// Begins a call of such a program.
    #[cfg(feature = "mcp")]
    pub(crate) async fn watched_call(&self) -> Option<WatchedCall> {
        match &self.calls {
            Some(calls) => Some(calls.call().await),
            None => None,
        }
    }

    /// Returns the hosts that a person has to approve first, each with the rule that asks.
    pub(crate) fn wanted_hosts(&self) -> Vec<(String, String)> {
        self.connections.wanted()
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Returns true if it has ended. Queries the kernel, because our own tasks may lag behind.
    pub(crate) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.ended.borrow().is_some() || !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) -> Option<ExitStatus> {
        let mut ended = self.ended.clone();
        ended.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }

    /// Returns the end of stderr.
    pub(crate) async fn last_words(&self) -> String {
        self.stderr.text(self.has_ended()).await
    }

    /// Describes its exit status and the end of stderr for a message; or that it still runs.
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
        let hint = network_hint(&last).filter(|_| !self.has_network);
        let ending = hint.map_or_else(|| ending.clone(), |hint| format!("{ending}: {hint}"));
        if last.is_empty() { ending } else { format!("{ending}; the end of its stderr:\n{last}") }
    }

    /// Ends it gracefully: the caller has closed its stdin.
    pub(crate) async fn end(&self) {
        if timeout(GRACE, self.ended()).await.is_ok() {
            return;
        }
        self.processes.end(GRACE).await;
        let _ = timeout(GRACE, self.ended()).await;
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // Otherwise everything was killed when its end was noticed.
        if self.ended.borrow().is_none() {
            self.processes.kill();
        }
    }
}
