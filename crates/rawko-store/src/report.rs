//! The result of verifying the hash chains of a store.

use std::fmt;

/// The result of [`crate::SqliteStore::verify_chains`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// Number of instances in the store, including ended ones and children.
    pub instances: u64,
    /// Number of journal records of all instances.
    pub records: u64,
    /// Number of audit lines of all instances.
    pub audit_lines: u64,
    /// At most one for each chain of an instance; empty if nothing was changed, moved or deleted.
    pub problems: Vec<ChainProblem>,
}

/// A place where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainProblem {
    /// The broken chain: journal or audit.
    pub chain: ChainKind,
    /// `None` if the rows that are missing cannot be attributed.
    pub instance: Option<String>,
    /// Step of the first broken entry; `None` if the problem is not at a known step.
    pub step: Option<u64>,
    /// Description without the instance and the step; `Display` adds both.
    pub message: String,
}

/// The chain that a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainKind {
    /// The records of an instance.
    Journal,
    /// The audit lines of an instance.
    Audit,
}

impl ChainKind {
    /// Returns the lower-case name, as in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            ChainKind::Journal => "journal",
            ChainKind::Audit => "audit",
        }
    }
}

impl fmt::Display for ChainProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.instance, self.step) {
            (Some(id), Some(step)) => write!(f, "instance `{id}`, step {step}: {}", self.message),
            (Some(id), None) => write!(f, "instance `{id}`: {}", self.message),
            (None, _) => f.write_str(&self.message),
        }
    }
}
