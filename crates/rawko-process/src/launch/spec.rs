//! The messages between the launcher and its helper process: one `Spec` there, one `HelperReport` back. Separate, because both
//! sides of the process boundary read them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::any_path;
use super::layers::Layers;

/// What the helper starts, and how it is confined. Sent over a socket: arguments and environments of processes can be
/// read by others.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    /// `None`: not confined, only in a session of its own.
    pub(crate) confined: Option<Confined>,
    pub(crate) limits: ProcessLimits,
    /// The soft limit of file locks that marks the processes of the call.
    pub(crate) mark: u64,
    /// The variable that marks them: they are found by it where there is no PID namespace, and another rawko knows its place.
    pub(crate) call: (String, String),
    /// Replaces variables where the file system cannot be replaced: without a mount namespace the private home is a
    /// directory of the host.
    pub(crate) env_without_view: Vec<(String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Confined {
    /// The file system that the program sees, by path. Parents come before children.
    #[serde(with = "any_path::keys")]
    pub(crate) view: BTreeMap<PathBuf, ViewPath>,
    /// What may be written on the host; a place in the view can narrow it.
    #[serde(with = "any_path::list")]
    pub(crate) writable: Vec<PathBuf>,
    /// What may be written in the view, and is something else on the host.
    #[serde(with = "any_path::list")]
    pub(crate) private: Vec<PathBuf>,
    /// What may be read where there is no mount namespace.
    #[serde(with = "any_path::list")]
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) network: Network,
    /// The view could not be built, for this reason: the program starts without it.
    pub(crate) without_view: Option<String>,
    /// Every layer must hold; else nothing is started.
    pub(crate) is_required: bool,
    /// Writes and connections must be stopped; else nothing is started.
    pub(crate) needs_boundary: bool,
}

/// One path of the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ViewPath {
    /// A directory in memory, gone with the call.
    Private,
    /// A path of the host, read-only.
    Read,
    /// A directory of the host with a layer in memory above it: what the program writes is gone with the call.
    Copy,
    /// A path of the host.
    Write {
        #[serde(with = "any_path")]
        source: PathBuf,
    },
    /// A symbolic link.
    Link {
        #[serde(with = "any_path")]
        target: PathBuf,
    },
    /// A small file with this text.
    Text { text: String },
    /// Exists on the host below another place, and is shown empty.
    Hidden,
    /// A device of the host.
    Device,
    /// The processes of the namespace.
    Processes,
    /// Pseudo terminals of its own.
    Terminals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Network {
    /// No socket but pairs.
    None,
    /// A loopback interface of its own, connected to nothing.
    Loopback,
    /// The same, with a proxy of rawko that listens on it.
    Proxy,
}

/// Resource limits of the started processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessLimits {
    /// Maximum size in bytes of a file that a process writes (`RLIMIT_FSIZE`); `None`: as inherited.
    pub file_bytes: Option<u64>,
    /// CPU time of each process in seconds (`RLIMIT_CPU`); `None`: as inherited.
    pub cpu_seconds: Option<u64>,
    /// The kernel counts processes per user, so this only stops runaways.
    pub processes: Option<u64>,
}

/// The answer of the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HelperReport {
    pub(crate) started: Result<StartedProcess, LaunchRefusal>,
    pub(crate) layers: Layers,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartedProcess {
    /// The first process of the PID namespace: everything ends with it. `None` without such a namespace.
    pub(crate) init: Option<i32>,
    pub(crate) has_listener: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LaunchRefusal {
    /// The program could not be executed.
    Program { errno: i32 },
    /// The kernel does not let the file system be replaced.
    View { message: String },
    /// The kernel would, but something on this machine is in the way: starting with less could be what an agent is after.
    Place { message: String },
    /// A required layer is missing.
    Confinement { message: String },
}
