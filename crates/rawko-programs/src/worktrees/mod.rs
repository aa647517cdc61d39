//! Worktrees: copies of the project that agents work in, and the way back. In a git repository a copy is a git worktree
//! with a branch of its own; elsewhere it is a plain copy. Both are merged by rawko itself, file by file, so that a merge
//! needs no program of the repository and can be undone.

mod copy;
mod create;
mod index;
mod merge;
mod prune;
mod queue;
mod repository;
mod touched;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checkpoints::{Checkpoints, FileDiff, Manifest, PathChange, differences, file_diff};

pub use merge::{MergeError, Merged};
pub use prune::WorktreeFate;
use queue::MergeQueue;
pub use queue::MergeTurn;
pub use touched::Overlap;

/// Disk space of all worktrees of a project, unless settings lower it.
pub const BYTES_MAX: u64 = 20 * 1024 * 1024 * 1024;

/// End of the name of a folder with patches.
const PATCHES: &str = ".patches";

/// The worktrees of one project.
#[derive(Debug)]
pub struct Worktrees {
    /// Their records, in the user's state directory.
    state: PathBuf,
    /// The copies.
    place: PathBuf,
    bytes_max: u64,
    merging: MergeQueue,
    /// Git does not add and prune worktrees at the same time.
    adding: tokio::sync::Mutex<()>,
}

/// A copy of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// `rawko/<instance>/<item>`; in a git repository also its branch.
    pub name: String,
    /// The instance that works in it; its descendants do, too.
    pub instance: String,
    /// The directory of the copy.
    pub path: PathBuf,
    /// True if it is a git worktree.
    pub is_git: bool,
    /// The checkpoint of the project that it began with.
    pub base: u64,
    /// The commit that its branch began with.
    #[serde(default)]
    pub base_commit: Option<String>,
    /// The last commit of its branch that rawko made.
    #[serde(default)]
    pub commit: Option<String>,
    /// Size of the copy when it was made.
    pub bytes: u64,
    /// Files with conflict markers.
    #[serde(default)]
    pub conflicts: Vec<String>,
    /// Set before anything of it is deleted: files that are gone must not be taken for the work of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
    /// The state of its work.
    #[serde(default)]
    pub settlement: Settlement,
}

/// The state of the work in a worktree. Its end settles it: changes become a commit on its branch, and a copy without
/// changes is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// The copy of a fork: the person decides.
    #[default]
    Never,
    /// The agent or the workflow has not ended.
    Due,
    /// The work is committed.
    Done,
}

/// What a removal leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// Nothing.
    Whole,
    /// The branch, which has the work.
    KeepsBranch,
}

/// The reason why there is no worktree.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(
        "the worktrees of this project would take {wanted} bytes, more than `worktrees.disk_max` ({most} bytes); \
         merge or remove some"
    )]
    /// The copies would take more disk space than is allowed.
    DiskBudget {
        /// Bytes of all copies with the new one.
        wanted: u64,
        /// The limit.
        most: u64,
    },
    /// There is no worktree of this name.
    #[error("there is no worktree `{0}`")]
    Unknown(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The changes in a worktree.
#[derive(Clone, Debug, Default)]
pub struct WorktreeChanges {
    /// The changed files.
    pub changes: Vec<PathChange>,
    /// Their diffs.
    pub diffs: Vec<FileDiff>,
}

impl Worktrees {
    /// `state` is the project's folder in the state directory, `place` the folder of copies.
    pub fn new(state: &Path, place: &Path, bytes_max: u64) -> Self {
        let name = state.file_name().unwrap_or_default();
        Self {
            state: state.join("worktrees"),
            place: place.join(name),
            bytes_max,
            merging: MergeQueue::default(),
            adding: tokio::sync::Mutex::default(),
        }
    }

    /// Returns all worktrees, by name.
    pub fn all(&self) -> io::Result<Vec<Worktree>> {
        Ok(self.records()?.into_iter().filter(|tree| tree.removal.is_none()).collect())
    }

    /// Returns the worktree of an instance that was removed as a whole, for a while: its removal may be asked for again.
    pub fn removed_of(&self, instance: &str) -> io::Result<Option<Worktree>> {
        let is_meant = |tree: &Worktree| tree.removal == Some(Removal::Whole) && tree.instance == instance;
        Ok(self.records()?.into_iter().find(is_meant))
    }

    fn records(&self) -> io::Result<Vec<Worktree>> {
        let list = match fs::read_dir(&self.state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            list => list?,
        };
        let mut found: Vec<Worktree> = Vec::new();
        for entry in list {
            let path = entry?.path();
            if path.to_str().is_some_and(|path| path.ends_with(".tree.json")) {
                found.push(serde_json::from_slice(&fs::read(path)?)?);
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Returns the worktree of an instance or one of its ancestors.
    pub fn of_instance(&self, instance: &str) -> io::Result<Option<Worktree>> {
        let is_within = |tree: &Worktree| {
            instance
                .strip_prefix(&*tree.instance)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        // The nearest, if worktrees are nested.
        Ok(self.all()?.into_iter().filter(is_within).max_by_key(|tree| tree.instance.len()))
    }

    /// Returns the worktree of a name.
    pub fn named(&self, name: &str) -> Result<Worktree, WorktreeError> {
        let found = self.all()?.into_iter().find(|tree| tree.name == name);
        found.ok_or_else(|| WorktreeError::Unknown(name.to_owned()))
    }

    /// Gives a worktree to another instance, which continues with its files.
    pub fn hand_over(&self, tree: &Worktree, instance: &str) -> io::Result<Worktree> {
        let tree = Worktree { instance: instance.to_owned(), settlement: Settlement::Due, ..tree.clone() };
        self.write(&tree, None)?;
        Ok(tree)
    }

    /// Returns the folder for patches of a worktree: beside the copy, and removed with it.
    pub fn patches_of(copy: &Path) -> PathBuf {
        let mut name = copy.file_name().unwrap_or_default().to_owned();
        name.push(PATCHES);
        copy.with_file_name(name)
    }

    /// Returns a time that changes when a worktree is added or removed.
    pub fn changed(&self) -> Option<std::time::SystemTime> {
        fs::metadata(&self.state).ok()?.modified().ok()
    }

    /// Returns the differences between a worktree and its beginning.
    pub async fn changes(&self, history: &Checkpoints, tree: &Worktree) -> io::Result<WorktreeChanges> {
        let base = self.base(tree)?;
        let files = copy::scan(history, &tree.path, &base).await?;
        let changes = differences(&base, &files);
        let old = changes.iter().filter_map(|it| Some((it.path.clone(), it.before.clone()?, tree.base)));
        let old: Vec<_> = old.collect();
        let mut bodies = history.contents(&old).await?.into_iter();
        let mut diffs = Vec::new();
        for change in &changes {
            let before = if change.before.is_some() { bodies.next().flatten() } else { None };
            let after = copy::read(&tree.path, &change.path).await?;
            diffs.extend(file_diff(change, before.as_deref(), after.as_deref()));
        }
        Ok(WorktreeChanges { changes, diffs })
    }

    fn base(&self, tree: &Worktree) -> io::Result<Manifest> {
        Ok(serde_json::from_slice(&fs::read(self.file(&tree.name, "base"))?)?)
    }

    fn file(&self, name: &str, kind: &str) -> PathBuf {
        self.state.join(format!("{}.{kind}.json", rawko_settings::short_hash(name.as_bytes())))
    }

    /// Writes the record of a worktree; the base first, because a record without one is unusable.
    fn write(&self, tree: &Worktree, base: Option<&Manifest>) -> io::Result<()> {
        if let Some(base) = base {
            self.write_part(&tree.name, "base", base)?;
        }
        self.write_part(&tree.name, "tree", tree)
    }

    /// Writes one file of a worktree, whole or not at all.
    fn write_part(&self, name: &str, kind: &str, part: &impl Serialize) -> io::Result<()> {
        rawko_settings::make_private(&self.state)?;
        let file = self.file(name, kind);
        let draft = file.with_extension("draft");
        fs::write(&draft, serde_json::to_vec(part)?)?;
        fs::rename(draft, file)
    }
}
