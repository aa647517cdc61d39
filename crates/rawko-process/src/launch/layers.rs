//! The layers of the confinement, and which of them hold. Shown by `rawko doctor`, and in the warning about a missing one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One mechanism of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum KernelLayer {
    /// A session without a controlling terminal.
    Session,
    /// An identity without privileges on the host; root does not need it for the other namespaces.
    UserNamespace,
    /// A process table of its own; all processes end with its first one.
    PidNamespace,
    /// A file system with only the paths of the profile.
    MountNamespace,
    /// A loopback interface without a route to the host's network.
    NetworkNamespace,
    /// No capability, and no way to gain one.
    Privileges,
    /// File access rules of the kernel; the detail is the ABI version, such as `v7`.
    Landlock,
    /// A filter that rejects dangerous system calls.
    Seccomp,
}

impl KernelLayer {
    /// The gap without it.
    pub fn without_it(self) -> &'static str {
        match self {
            KernelLayer::Session => "programs can type into your terminal",
            KernelLayer::UserNamespace => "programs keep your identity on the host",
            KernelLayer::PidNamespace => {
                "programs see other processes, and detached ones may outlive their call"
            }
            KernelLayer::MountNamespace => "files of authority inside the project can be changed",
            KernelLayer::NetworkNamespace => {
                "programs get no socket at all, or the host's network if seccomp is missing too"
            }
            KernelLayer::Privileges => "programs keep the privileges of rawko",
            KernelLayer::Landlock => "only the mount namespace restricts files",
            KernelLayer::Seccomp => "dangerous system calls are open",
        }
    }
}

impl fmt::Display for KernelLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KernelLayer::Session => "own session",
            KernelLayer::UserNamespace => "user namespace",
            KernelLayer::PidNamespace => "PID namespace",
            KernelLayer::MountNamespace => "mount namespace",
            KernelLayer::NetworkNamespace => "network namespace",
            KernelLayer::Privileges => "dropped privileges",
            KernelLayer::Landlock => "Landlock",
            KernelLayer::Seccomp => "seccomp",
        })
    }
}

/// The layers of one start, each with its detail (`v7`) or the reason why it is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers(pub Vec<(KernelLayer, Result<String, String>)>);

impl Layers {
    pub(crate) fn add(&mut self, layer: KernelLayer, state: Result<String, String>) {
        self.0.push((layer, state));
    }

    /// Takes back a layer that turned out not to work.
    pub(crate) fn lose(&mut self, layer: KernelLayer, why: String) {
        self.0.retain(|(found, _)| *found != layer);
        self.add(layer, Err(why));
    }

    /// The layers that do not hold. A user namespace is only a means: root gets the others without it.
    pub fn missing(&self) -> impl Iterator<Item = (KernelLayer, &str)> {
        let is_needed = |layer: &KernelLayer| *layer != KernelLayer::UserNamespace;
        self.0.iter().filter_map(move |(layer, state)| match state {
            Err(why) if is_needed(layer) => Some((*layer, why.as_str())),
            Ok(_) | Err(_) => None,
        })
    }

    /// Returns true if the layer is in force; false also if it was not attempted.
    pub fn has(&self, layer: KernelLayer) -> bool {
        self.0.iter().any(|(found, state)| *found == layer && state.is_ok())
    }

    /// One line: `namespaces, landlock v7, seccomp`, and the missing ones.
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        if self.has(KernelLayer::PidNamespace) && self.has(KernelLayer::MountNamespace) {
            words.push("namespaces".to_owned());
        }
        for (layer, state) in &self.0 {
            match (layer, state) {
                (KernelLayer::Landlock, Ok(version)) => words.push(format!("landlock {version}")),
                (KernelLayer::Seccomp, Ok(_)) => words.push("seccomp".to_owned()),
                _ => {}
            }
        }
        let missing: Vec<String> = self.missing().map(|(layer, why)| format!("{layer} ({why})")).collect();
        match (words.is_empty(), missing.is_empty()) {
            (_, true) => words.join(", "),
            (true, false) => format!("none: missing {}", missing.join(", ")),
            (false, false) => format!("{}; missing {}", words.join(", "), missing.join(", ")),
        }
    }
}
