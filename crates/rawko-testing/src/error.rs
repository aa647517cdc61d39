//! `TestError`: why scenario files cannot be found or read. Findings inside a file are part of the report instead.

use std::io;
use std::path::PathBuf;

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// The path exists, but no scenario file belongs to it.
    #[error(
        "there are no scenario files {place} `{}` (scenario files are named NAME.scenario.yaml, next to \
         NAME.yaml)",
        path.display()
    )]
    NoScenarios {
        /// `below` for a directory, `beside` for a chart.
        place: &'static str,
        /// The path as passed by the caller.
        path: PathBuf,
    },
    /// A directory below the path cannot be listed.
    #[error("cannot read the directory `{}`: {source}", path.display())]
    Directory {
        /// The directory passed by the caller, not the one that failed.
        path: PathBuf,
        /// The error of the first directory that failed.
        source: io::Error,
    },
    /// A scenario file does not exist.
    #[error("file `{name}` not found")]
    NoFile {
        /// Path as shown in reports, without a leading `./`.
        name: String,
    },
    /// A scenario file was expected, and the path is a directory.
    #[error("`{name}` is a directory; a file is needed here")]
    IsDirectory {
        /// Path as shown in reports, without a leading `./`.
        name: String,
    },
    /// A scenario file cannot be opened or read.
    #[error("cannot read `{name}`: {source}")]
    Read {
        /// Path as shown in reports, without a leading `./`.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A scenario file is larger than the limit.
    #[error("`{name}` is larger than {limit_mb} MB")]
    TooLarge {
        /// Path as shown in reports, without a leading `./`.
        name: String,
        /// The limit in MiB.
        limit_mb: u64,
    },
    /// A scenario file is not UTF-8.
    #[error("`{name}` is not UTF-8 text (byte {at} is the first that is not)")]
    NotText {
        /// Path as shown in reports, without a leading `./`.
        name: String,
        /// Offset of the first invalid byte, from 0.
        at: usize,
    },
    /// A scenario or its chart is invalid; only [`Suite::plans`](crate::Suite::plans) returns this.
    #[error("`{name}` cannot be played: {problem}")]
    Content {
        /// Path of the scenario file, as shown in reports.
        name: String,
        /// The reason, or rendered findings with line breaks.
        problem: String,
    },
}

impl TestError {
    /// Returns true if the content of a file is the cause, not its name or location.
    pub fn is_content(&self) -> bool {
        match self {
            TestError::TooLarge { .. } | TestError::NotText { .. } | TestError::Content { .. } => true,
            TestError::NoScenarios { .. }
            | TestError::Directory { .. }
            | TestError::NoFile { .. }
            | TestError::IsDirectory { .. }
            | TestError::Read { .. } => false,
        }
    }
}
