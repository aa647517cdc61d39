//! Checkpoints: the history of a project's files, one entry per call that changed them. `diff` and `undo` read it, and
//! merges are part of it. Separate from the snapshots of evidence, which hold the beginning of one task only.
//!
//! In a git repository the contents are commits on hidden refs, made without the person's index, hooks or filters.
//! Elsewhere they are files in the user's state directory, by hash. Nothing here writes to the project except
//! [`Checkpoints::apply`].

mod apply;
mod authors;
mod contents;
mod git;
mod ignored;
mod log;
mod merge;
mod names;
mod net;
mod open_below;
mod prune;
mod record;
mod scan;
mod text;
mod vault;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use apply::apply_copy;
pub use apply::{AppliedChange, ApplyError};
pub use git::ref_part;
pub(crate) use git::{Git, ImportRequest};
pub(crate) use merge::has_room;
pub use merge::{MergeResult, MergedFile, has_markers, merge_lines};
pub(crate) use names::name_of;
pub use names::real_path;
pub use net::{NetChanges, net_changes, shared_paths};
pub(crate) use open_below::{Root, text_inside};
pub use prune::{PinnedCheckpoints, PrunedHistory};
pub use record::{CheckpointSettings, Checkpoints, differences};
pub(crate) use scan::{content_mark, read_copy, scan_copy};
pub(crate) use text::quoted;
pub use text::{FileDiff, file_diff, shown_name};

/// All paths of a tree, by name. A name is the path in the project; one that is not UTF-8 is encoded.
pub type Manifest = BTreeMap<String, PathState>;

/// The state of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathState {
    /// Its kind.
    pub kind: PathKind,
    /// Permission bits; 0 for links.
    pub mode: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Hash of the contents, or of a link's target; empty for directories.
    pub hash: String,
}

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
    /// A file that is too large to store or cannot be read: known by its size and time only.
    Opaque,
}

/// One path that an entry changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// Its path in the project.
    pub path: String,
    /// `None`: it did not exist.
    pub before: Option<PathState>,
    /// `None`: it does not exist any more.
    pub after: Option<PathState>,
}

/// The reason for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// The first entry: the whole tree.
    Base,
    /// A call of an agent.
    Call,
    /// Changes between calls: by the person or another program.
    Outside,
    /// A person undid changes.
    Undo,
    /// A person made undone changes again.
    Redo,
    /// A worktree was merged.
    Merge,
}

/// The author of the changes since the previous entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeAuthor {
    /// The reason for the changes.
    pub kind: EntryKind,
    /// The instance that made the call; empty for changes outside.
    pub instance: String,
    /// The idempotency key of the call, which contains its step.
    #[serde(default)]
    pub call: String,
    /// The tool or command, for people.
    #[serde(default)]
    pub label: String,
}

const REVEALED: &str = "revealed";

impl ChangeAuthor {
    /// Changes that were made outside of rawko.
    pub fn outside() -> Self {
        Self { kind: EntryKind::Outside, instance: String::new(), call: String::new(), label: String::new() }
    }

    /// Files that existed before and that git does not ignore any more.
    pub(crate) fn reveal() -> Self {
        Self { label: REVEALED.to_owned(), ..Self::outside() }
    }

    pub(crate) fn is_reveal(&self) -> bool {
        self.kind == EntryKind::Outside && self.label == REVEALED
    }

    /// Returns the step of the instance that started the call.
    pub fn step(&self) -> Option<u64> {
        self.call.strip_prefix(&self.instance)?.strip_prefix('/')?.split('/').next()?.parse().ok()
    }
}

/// One entry of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Counted from 1 for each tree.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The origin of the changes.
    #[serde(flatten)]
    pub author: ChangeAuthor,
    /// The commit with this tree, in a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The git reference of the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "ref")]
    pub reference: Option<String>,
    /// The changed files.
    pub changes: Vec<PathChange>,
    /// Changed files that git ignores. They are in no commit and no diff, but an undo restores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<PathChange>,
    /// Other instances with a call at the same time: some of the changes may be theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}
