//! The result of verifying the hash chains of a store.

use std::fmt;

/// The result of [`crate::SqliteStore::verify_chains`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    pub instances: u64,
    pub records: u64,
    pub audit_lines: u64,
    /// At most one for each chain of an instance; empty if nothing was changed, moved or deleted.
    pub problems: Vec<ChainProblem>,
}

/// A place where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainProblem {
    pub chain: ChainKind,
    /// `None` if the rows that are missing cannot be attributed.
    pub instance: Option<String>,
    pub step: Option<u64>,
    pub message: String,
}

/// The chain that a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainKind {
    Journal,
    Audit,
}

impl ChainKind {
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
