//! `Confinement`: what all programs of one project have in common.

use std::path::{Path, PathBuf};

use crate::egress::Egress;

use super::profile::{Profile, Sandbox};

/// The bounds of a project's programs. Each start adds its profile.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// The project.
    pub root: PathBuf,
    /// The required level of confinement; [`Sandbox::Off`] makes every profile [`Profile::Trusted`].
    pub sandbox: Sandbox,
    /// The person's home directory, which is replaced.
    pub home: Option<PathBuf>,
    /// Paths outside the project that programs of every profile may read.
    pub extra_read: Vec<PathBuf>,
    /// Paths outside the project that programs of every profile may write.
    pub extra_write: Vec<PathBuf>,
    /// Programs that the person does not want confined: `mcp:NAME`, `agent:NAME`, `service:NAME`, `checks`.
    pub unconfined: Vec<String>,
    /// Hosts that programs may reach through a proxy; `None`: no network.
    pub egress: Option<Egress>,
    /// Files that programs must not read, although they lie in a readable directory.
    pub hidden: Vec<PathBuf>,
    /// Existing files that programs must not write, although they lie in a writable directory.
    pub protected: Vec<PathBuf>,
    /// The reason why a program must not start unless the kernel stops its writes and connections, for any value of
    /// `sandbox`.
    pub needs_boundary: Option<String>,
    /// A directory of the host that is `/tmp` for its programs; `None`: each has its own in memory.
    pub scratch: Option<PathBuf>,
}

impl Confinement {
    /// The default for a project: as much as the kernel supports, nothing but the project.
    pub fn of_project(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            sandbox: Sandbox::Auto,
            home: std::env::home_dir(),
            extra_read: Vec::new(),
            extra_write: Vec::new(),
            unconfined: Vec::new(),
            egress: None,
            hidden: Vec::new(),
            protected: Vec::new(),
            needs_boundary: None,
            scratch: None,
        }
    }

    /// Returns the profile of a program: the given one, unless settings name it among the unconfined.
    pub fn profile_of(&self, kind: &str, name: &str, usual: Profile) -> Profile {
        let named = if name.is_empty() { kind.to_owned() } else { format!("{kind}:{name}") };
        if self.unconfined.contains(&named) { Profile::Trusted } else { usual }
    }

    /// Sets the directory that is `/tmp` for the programs, so that its files survive a call.
    #[must_use]
    pub fn with_scratch(mut self, scratch: &Path) -> Self {
        self.scratch = Some(scratch.to_owned());
        self
    }
}
