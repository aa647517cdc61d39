//! Starts a command on a separate thread, because the sandbox applies to the thread and its child processes inherit it;
//! the rest of this process is unaffected.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rawko_process::{Mark, Processes};
use rustix::process::{Resource, getrlimit};

use super::sandbox::Fence;

pub(super) struct Launch {
    pub(super) command: String,
    pub(super) root: PathBuf,
    pub(super) variables: Vec<(String, String)>,
    /// The reason why the command must not run without a sandbox.
    pub(super) needs_kernel: Option<String>,
    pub(super) fence: Fence,
    pub(super) limits: Limits,
}

/// Resource limits of one process. The kernel counts processes per user, so that limit only stops runaways.
pub(super) struct Limits {
    file_kib: u64,
    cpu_seconds: u64,
    processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_kib: 4 * 1024 * 1024, cpu_seconds: 60 * 60, processes: 8192 }
    }
}

impl Limits {
    /// Bash sets them on itself before it becomes the command. `setrlimit` from here would be for the whole host, and
    /// `prlimit` after the start would come too late for what had already been started.
    fn prelude(&self, mark: &Mark) -> String {
        let within = |wanted: u64, resource, unit: u64| match getrlimit(resource).maximum {
            Some(most) => wanted.min(most / unit),
            None => wanted,
        };
        let (file, cpu) =
            (within(self.file_kib, Resource::Fsize, 1024), within(self.cpu_seconds, Resource::Cpu, 1));
        let processes = within(self.processes, Resource::Nproc, 1);
        let locks = mark.lock_limit();
        format!(
            "ulimit -f {file} -t {cpu} -u {processes} -c 0; ulimit -S -x {locks} 2>/dev/null; exec \"$BASH\" -c \"$1\""
        )
    }
}

pub(super) struct Launched {
    pub(super) child: Child,
    pub(super) processes: Processes,
    pub(super) output: OwnedFd,
    /// Describes the sandbox in force.
    pub(super) sandbox: String,
}

impl Launch {
    /// Must be called on a thread that does nothing else afterwards.
    pub(super) fn launch(self) -> Result<Launched, String> {
        let sandbox = self.fence.raise()?;
        if let Some(why) = self.needs_kernel.as_ref().filter(|_| sandbox.starts_with("none")) {
            return Err(format!("refused: {why}, and there is no sandbox ({sandbox})"));
        }
        let launched =
            self.spawn().map(|(child, processes, output)| Launched { child, processes, output, sandbox });
        launched.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!("bash could not be started in {}: {error}", self.root.display())
            }
            _ => format!("bash could not be started: {error}"),
        })
    }

    /// One pipe for both outputs, so that they come in the order in which they were written.
    fn spawn(&self) -> io::Result<(Child, Processes, OwnedFd)> {
        let (reader, writer) = io::pipe()?;
        let mark = Mark::new();
        let child = Command::new("bash")
            .args(["-c", &self.limits.prelude(&mark), "bash", &self.command])
            .current_dir(&self.root)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .envs([mark.variable()])
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        let processes = Processes::of(child.id(), mark, [reader.as_fd()])?;
        Ok((child, processes, reader.into()))
    }
}
