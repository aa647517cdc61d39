//! The content of a path, as far as it is compared and put back.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{any_path, git_state, regular};

/// Where a link leads.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LinkTarget(#[serde(with = "any_path")] pub(super) PathBuf);

/// The content of a path.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Content {
    File {
        bytes: Vec<u8>,
        /// Names of the same file.
        links: u64,
    },
    Link(LinkTarget),
    /// A directory, or nothing that can be read.
    Other,
}

impl Content {
    pub(super) fn of(path: &Path) -> Self {
        match (fs::read_link(path), regular::read(path)) {
            (Ok(target), _) => Content::Link(LinkTarget(target)),
            (Err(_), Some(bytes)) => {
                Content::File { bytes, links: path.symlink_metadata().map_or(0, |found| found.nlink()) }
            }
            (Err(_), None) => Content::Other,
        }
    }

    /// Returns true if a file may have this content after a call.
    pub(super) fn allows(&self, path: &Path, after: &Self) -> bool {
        let is_steps = path.ends_with("git-rebase-todo") || path.ends_with("sequencer/todo");
        match (self, after) {
            // Steps of the person are done one by one.
            (Content::File { bytes: before, .. }, Content::File { bytes: after, links: 1 }) if is_steps => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (before, after) = (text(before), text(after));
                let before = git_state::commands(&before);
                git_state::commands(&after).iter().all(|command| before.contains(command))
            }
            _ => self == after,
        }
    }

    pub(super) fn put(&self, path: &Path) -> std::io::Result<()> {
        match self {
            Content::File { bytes, .. } => {
                // Never through a link.
                fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
            }
            Content::Link(target) => std::os::unix::fs::symlink(&target.0, path),
            Content::Other => Ok(()),
        }
    }
}
