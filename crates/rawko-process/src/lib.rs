//! The processes of one call (a command service, a Bash call, a check, an MCP server, an agent that is a program): found
//! again wherever they went, and ended with the call.
//!
//! A process group is not enough. `setsid`, `nohup` with a double fork, and every daemon leave it, and once their parent
//! has exited nothing in the process table leads back to the call. So each call gets a [`CallId`] that its processes inherit:
//!
//! | Inherited | Survives | Lost by |
//! |---|---|---|
//! | the environment variable `RAWKO_CALL` | `setsid`, double fork, `exec` | `env -i`, programs that overwrite their environment |
//! | a unique soft limit of file locks (`RLIMIT_LOCKS`, without effect since Linux 2.4.25) | all of that | a program that sets this very limit, or detaches before the limit is set |
//! | the pipes of the call as stdin, stdout or stderr | all of that | closing or redirecting them |
//!
//! The limit is set right after the start, since safe code cannot run anything between fork and exec; a launcher that
//! starts a shell first sets it there ([`CallId::lock_limit`]) and leaves no gap.
//!
//! At the end of a call `/proc` is searched for these marks, for descendants of the processes found, and for members of
//! their groups and sessions, and everything found is killed until a search finds nothing. Each process is checked again
//! through a pidfd before it gets a signal, so a process id that was reused by a stranger is left alone.
//!
//! A mark names its host. A host that is killed ends nothing; the next host ends the processes of calls whose host is
//! gone ([`end_leftovers`]).
//!
//! The alternatives, and why not: a child subreaper must be the parent of the call, which takes a supervisor program beside
//! each call, and an embedding program has none; set on the host itself it would adopt the orphans of all calls without
//! a link to their call. PID namespaces need privileges that many machines do not give. Cgroups need a delegated tree. A
//! mark needs none of it and works the same for root. It is not a sandbox: a program that removes all marks on purpose and
//! detaches is out of reach, and so is a process that another daemon starts on request (`at`, `systemd-run`, `docker run`).
//!
//! ```no_run
//! # async fn run() -> std::io::Result<()> {
//! use rawko_process::{CallId, Processes};
//!
//! let mark = CallId::new();
//! let mut child = tokio::process::Command::new("make")
//!     .envs([mark.variable()])
//!     .process_group(0)
//!     .spawn()?;
//! let processes = Processes::of_child(&child, mark)?;
//! child.wait().await?;
//! processes.kill_all().await;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod egress;
mod helper;
mod launch;
mod leftovers;
mod mark;
mod pins;
mod platform;
mod processes;

pub use egress::{
    Egress, EgressRefusal, HostList, HostRule, HostRules, ReachedHosts, common_hosts, covers_host,
    network_hint,
};
pub use helper::run_if_asked;
pub use launch::{
    AUTHORITY, AuthorityWatch, Confinement, KernelLayer, LastingWatch, Launch, LaunchError, Launched, Layers,
    PROTECTED_NAMES, ProcessLimits, Profile, ProgramStdin, ProgramStdout, ProjectAccess, ProtectedClass,
    Sandbox, WatchedCall, files_named_by_git, git_directory_with, is_harmless_git_key, is_inherited,
    protected_name, read_regular, set_helper, submodule_directories, tracked_files,
};
pub use leftovers::end_leftovers;
pub use mark::{CALL_VARIABLE, CallId};
pub use pins::{is_pinned, pin_programs};
pub use platform::{BeneathLinks, is_portable, open_beneath, path_handle_flags};
pub use processes::Processes;
