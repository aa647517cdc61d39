//! The launcher: the one place where a child process is started. It plans the confinement of a profile, starts the helper
//! process that sets it up, and hands over the program's pipes.

mod any_path;
mod authority;
mod confinement;
mod content;
mod environment;
pub(crate) mod frame;
mod git;
mod git_config;
mod git_index;
mod git_staged;
mod git_state;
pub(crate) mod guard;
mod helper_file;
mod home;
mod kept;
mod lasting;
mod layers;
mod links;
mod names;
mod needed;
mod path_cache;
mod plain;
mod profile;
mod protected_names;
mod regular;
mod spec;
mod start;
mod view;
mod warning;
mod watch;

pub use authority::AUTHORITY;
pub use confinement::Confinement;
pub use environment::is_inherited;
pub use git::{files_named_by_git, submodule_directories, tracked_files};
pub use git_config::is_harmless_git_key;
pub use helper_file::set_helper;
pub(crate) use helper_file::this_binary_helps;
pub use lasting::{LastingWatch, WatchedCall};
pub use layers::{KernelLayer, Layers};
pub use names::git_directory_with;
pub use profile::{Profile, ProjectAccess, Sandbox};
pub use protected_names::{PROTECTED_NAMES, ProtectedClass, protected_name};
pub use regular::read_regular;
pub use spec::ProcessLimits;
#[cfg(target_os = "linux")]
pub(crate) use spec::{Confined, HelperReport, LaunchRefusal, Network, Spec, StartedProcess, ViewPath};
pub use watch::AuthorityWatch;

use std::fmt;
use std::io;
use std::path::PathBuf;

use tokio::process::Child;

use crate::egress::ReachedHosts;
use crate::processes::Processes;

/// Attempts to start a program while paths of its view vanish.
const ATTEMPTS_MAX: usize = 10;
const VANISHED: &str = "No such file or directory";

/// The order to ask the program to end.
pub(crate) const TERMINATE: u8 = b't';

/// One program to start.
#[derive(Clone, Debug)]
pub struct Launch {
    /// A bare name is looked up in PATH.
    pub program: PathBuf,
    /// Arguments after the program name.
    pub args: Vec<String>,
    /// Working directory; [`Launch::new`] sets it to the root of the project.
    pub cwd: PathBuf,
    /// The environment to inherit from; only listed variables reach the program.
    pub inherited: Vec<(String, String)>,
    /// Variables that settings or rawko itself give to this program.
    pub set: Vec<(String, String)>,
    /// Standard input of the program.
    pub input: ProgramStdin,
    /// Standard output and standard error of the program.
    pub output: ProgramStdout,
    /// Resource limits; none by default.
    pub limits: ProcessLimits,
    /// Permissions of the program; ignored if the confinement is switched off.
    pub profile: Profile,
    /// The bounds of the project; the profile narrows them.
    pub confinement: Confinement,
}

/// Standard input of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStdin {
    /// `/dev/null`.
    Null,
    /// A pipe, as `stdin` of [`Launched::child`].
    Pipe,
}

/// Standard output and standard error of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStdout {
    /// A pipe for each.
    Separate,
    /// One pipe for both, so that they come in the order in which they were written. It is read as stdout.
    Merged,
}

/// A started program.
#[derive(Debug)]
pub struct Launched {
    /// Has the pipes; ends as the program ends, after everything that the program started.
    pub child: Child,
    /// All processes of the call; they are killed when this is dropped.
    pub processes: Processes,
    /// What confines it; `None`: the profile does not.
    pub layers: Option<Layers>,
    /// Files of authority that it may create; to be restored when a call ends.
    pub authority: AuthorityWatch,
    /// Hosts that it reached through its proxy.
    pub connections: ReachedHosts,
}

impl Launched {
    /// Describes the confinement in force.
    pub fn confinement_in_words(&self) -> String {
        self.layers.as_ref().map_or_else(|| "none: switched off in settings".to_owned(), Layers::in_words)
    }
}

/// The reason why a program was not started.
#[derive(Debug)]
pub enum LaunchError {
    /// The program could not be executed.
    Program(io::Error),
    /// The confinement that settings require is not possible here.
    Confinement(String),
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Program(error) => write!(f, "{error}"),
            LaunchError::Confinement(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for LaunchError {}

impl From<io::Error> for LaunchError {
    fn from(error: io::Error) -> Self {
        LaunchError::Program(error)
    }
}

impl From<LaunchError> for io::Error {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Program(error) => error,
            LaunchError::Confinement(why) => io::Error::other(why),
        }
    }
}

impl Launch {
    /// A program with piped input and output, and no variables but those of `inherited` that every program gets.
    pub fn new(program: impl Into<PathBuf>, profile: Profile, confinement: Confinement) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: confinement.root.clone(),
            inherited: Vec::new(),
            set: Vec::new(),
            input: ProgramStdin::Pipe,
            output: ProgramStdout::Separate,
            limits: ProcessLimits::default(),
            profile,
            confinement,
        }
    }

    /// Starts the program. Its processes are ended when the result is dropped.
    pub async fn start(self) -> Result<Launched, LaunchError> {
        // Waits for the helper for some milliseconds.
        let started = tokio::task::spawn_blocking(move || self.start_blocking());
        started.await.map_err(|error| LaunchError::Program(io::Error::other(error)))?
    }

    /// The same for code that is not asynchronous; within a runtime.
    pub fn start_blocking(self) -> Result<Launched, LaunchError> {
        let profile = if self.confinement.sandbox == Sandbox::Off { Profile::Trusted } else { self.profile };
        let launch = Self { profile, ..self };
        // A git worktree may be removed between the plan and the start; a new plan does not have it.
        for _ in 1..ATTEMPTS_MAX {
            match start::start(launch.clone()) {
                Err(LaunchError::Confinement(why))
                    if why.contains(VANISHED) && why.contains(".git/worktrees") =>
                {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                started => return started,
            }
        }
        start::start(launch)
    }
}

#[cfg(target_os = "linux")]
fn identity_inside() -> (u32, u32) {
    crate::helper::namespaces::identity_inside()
}

#[cfg(not(target_os = "linux"))]
fn identity_inside() -> (u32, u32) {
    (1000, 1000)
}
