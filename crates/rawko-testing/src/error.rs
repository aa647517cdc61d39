//! `TestError`: why scenario files cannot be found or read. Findings inside a file are part of the report instead.

use std::io;
use std::path::PathBuf;

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    #[error(
        "there are no scenario files {place} `{}` (a scenario file is called NAME.scenario.yaml and lies beside \
         NAME.yaml)",
        path.display()
    )]
    NoScenarios { place: &'static str, path: PathBuf },
    #[error("cannot read the directory `{}`: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("there is no file `{name}`")]
    NoFile { name: String },
    #[error("`{name}` is a directory; a file is needed here")]
    IsDirectory { name: String },
    #[error("cannot read `{name}`: {source}")]
    Read { name: String, source: io::Error },
    #[error("`{name}` is larger than {limit_mb} MB")]
    TooLarge { name: String, limit_mb: u64 },
    #[error("`{name}` is not UTF-8 text (byte {at} is the first that is not)")]
    NotText { name: String, at: usize },
    #[error("`{name}` cannot be played: {problem}")]
    Content { name: String, problem: String },
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
