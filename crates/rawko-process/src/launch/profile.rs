//! Profiles: what a child process may do, by name. Types rather than settings, so that each start names one.

use std::fmt;

/// The profile of one child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Reads the project. Writes to a private `/tmp` and home only, and opens no socket.
    ReadOnly,
    /// Writes below the project too, except files of authority. A loopback network of its own.
    Workspace,
    /// A program that runs beside an agent: MCP and language servers, checks, process and ACP agents, command services.
    Program(ProjectAccess),
    /// Not confined: a program of the person, with `sandbox: off` in the settings. It still runs in a session without
    /// a terminal and ends with its call.
    Trusted,
}

/// What a program may do with the project: as much as the agent that can influence it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectAccess {
    /// Reads the project, and writes only to its private `/tmp` and home.
    Read,
    /// Writes below the project too, except files of authority.
    Write,
}

impl Profile {
    pub(crate) fn writes_project(self) -> bool {
        matches!(self, Profile::Workspace | Profile::Program(ProjectAccess::Write))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::ReadOnly => "read-only",
            Profile::Workspace => "workspace",
            Profile::Program(ProjectAccess::Read) => "program (reads the project)",
            Profile::Program(ProjectAccess::Write) => "program (writes to the project)",
            Profile::Trusted => "trusted (not confined)",
        })
    }
}

/// The required level of confinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// As much as the kernel supports, with a warning about the rest.
    #[default]
    Auto,
    /// No confinement; programs still run without a terminal and end with their call.
    Off,
    /// Start nothing without every layer.
    Require,
}

impl Sandbox {
    /// Returns the stricter of two modes.
    #[must_use]
    pub fn stricter(self, other: Sandbox) -> Sandbox {
        match (self, other) {
            (Sandbox::Require, _) | (_, Sandbox::Require) => Sandbox::Require,
            (Sandbox::Auto, _) | (_, Sandbox::Auto) => Sandbox::Auto,
            (Sandbox::Off, Sandbox::Off) => Sandbox::Off,
        }
    }
}
