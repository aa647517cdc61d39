//! The history on disk: one file per entry, and the tree after the last one. An entry is there as a whole or not at all;
//! a tree that is older than the last entry is brought forward when it is read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::vault::{write_durable, write_whole};
use super::{ChangeAuthor, HistoryEntry, Manifest, PathChange};

/// The tree after the last entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeState {
    pub(super) number: u64,
    /// The latest commit, of this entry or an earlier one.
    #[serde(default)]
    pub(super) commit: Option<String>,
    /// The tree of this commit. With it, a commit needs no parent, and older ones can be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root: Option<String>,
    pub(super) files: Manifest,
    /// Files that git ignores; `None` if there are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ignored: Option<Manifest>,
}

/// Changes to the project that were begun and must be completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RevertIntent {
    pub(super) author: ChangeAuthor,
    /// `before` is the state that was found, `after` the goal.
    pub(super) changes: Vec<PathChange>,
}

#[derive(Clone, Debug)]
pub(super) struct Log {
    folder: PathBuf,
}

impl Log {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Creates the folders, and takes the lock of the history. Blocks while another process holds it.
    pub(super) fn lock(&self) -> io::Result<fs::File> {
        rawko_settings::make_private(&self.entries_folder())?;
        let file =
            fs::OpenOptions::new().create(true).truncate(false).write(true).open(self.folder.join("lock"))?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn entries_folder(&self) -> PathBuf {
        self.folder.join("entries")
    }

    fn numbers(&self) -> io::Result<Vec<u64>> {
        let list = match fs::read_dir(self.entries_folder()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            list => list?,
        };
        let mut numbers = Vec::new();
        for entry in list {
            let name = entry?.file_name();
            let number: Option<u64> = name.to_str().and_then(|name| name.strip_suffix(".json")?.parse().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn last_number(&self) -> io::Result<u64> {
        Ok(self.numbers()?.last().copied().unwrap_or(0))
    }

    pub(super) fn entry(&self, number: u64) -> io::Result<HistoryEntry> {
        read(&self.entries_folder().join(format!("{number:010}.json")))
    }

    /// Returns all entries, the oldest first.
    pub(super) fn entries(&self) -> io::Result<Vec<HistoryEntry>> {
        self.entries_since(0)
    }

    /// Returns the entries after a number, the oldest first.
    pub(super) fn entries_since(&self, number: u64) -> io::Result<Vec<HistoryEntry>> {
        let numbers = self.numbers()?.into_iter().filter(|other| *other > number);
        numbers.map(|number| self.entry(number)).collect()
    }

    /// Returns the instances whose entries were removed, with the time of the last one.
    pub(super) fn removed(&self) -> io::Result<BTreeMap<String, u64>> {
        match read(&self.folder.join("removed.json")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            removed => removed,
        }
    }

    pub(super) fn set_removed(&self, removed: &BTreeMap<String, u64>) -> io::Result<()> {
        write_durable(&self.folder.join("removed.json"), &serde_json::to_vec(removed)?)
    }

    /// Removes an entry. Only the oldest may go: the states before it are not known any more.
    pub(super) fn remove(&self, number: u64) -> io::Result<()> {
        fs::remove_file(self.entries_folder().join(format!("{number:010}.json")))
    }

    pub(super) fn add(&self, entry: &HistoryEntry) -> io::Result<()> {
        let place = self.entries_folder().join(format!("{:010}.json", entry.number));
        write_durable(&place, &serde_json::to_vec(entry)?)
    }

    /// Returns the tree after the last entry; `None` before the first.
    pub(super) fn tree(&self) -> io::Result<Option<TreeState>> {
        let file = self.folder.join("tree.json");
        let mut tree: TreeState = match read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            tree => tree?,
        };
        for number in tree.number + 1..=self.last_number()? {
            let entry = self.entry(number)?;
            take(&mut tree.files, entry.changes);
            tree.ignored.iter_mut().for_each(|files| take(files, entry.ignored.clone()));
            tree.number = number;
            if entry.commit.is_some() {
                (tree.commit, tree.root) = (entry.commit, None);
            }
        }
        Ok(Some(tree))
    }

    pub(super) fn set_tree(&self, tree: &TreeState) -> io::Result<()> {
        write_whole(&self.folder.join("tree.json"), &serde_json::to_vec(tree)?)
    }

    pub(super) fn intent(&self) -> io::Result<Option<RevertIntent>> {
        match read(&self.folder.join("intent.json")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            intent => intent.map(Some),
        }
    }

    pub(super) fn set_intent(&self, intent: &RevertIntent) -> io::Result<()> {
        write_durable(&self.folder.join("intent.json"), &serde_json::to_vec(intent)?)
    }

    pub(super) fn end_intent(&self) -> io::Result<()> {
        fs::remove_file(self.folder.join("intent.json"))
    }

    /// Notes a call that may change files, so that its changes are its own even if the process is killed.
    pub(super) fn open_call(&self, author: &ChangeAuthor) -> io::Result<()> {
        write_whole(&self.call_file(author), &serde_json::to_vec(author)?)
    }

    pub(super) fn close_call(&self, author: &ChangeAuthor) {
        let _ = fs::remove_file(self.call_file(author));
    }

    /// Returns a call that was open.
    pub(super) fn open_calls(&self) -> Vec<ChangeAuthor> {
        let list = fs::read_dir(self.folder.join("calls")).into_iter().flatten().flatten();
        let mut calls: Vec<ChangeAuthor> = list.filter_map(|entry| read(&entry.path()).ok()).collect();
        calls.sort_by(|one, other| one.call.cmp(&other.call));
        calls
    }

    fn call_file(&self, author: &ChangeAuthor) -> PathBuf {
        self.folder.join("calls").join(rawko_settings::short_hash(author.call.as_bytes()))
    }
}

/// Brings a tree forward by the changes of an entry.
fn take(files: &mut Manifest, changes: Vec<PathChange>) {
    for PathChange { path, after, .. } in changes {
        match after {
            Some(mark) => drop(files.insert(path, mark)),
            None => drop(files.remove(&path)),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> io::Result<T> {
    let text = fs::read(file)?;
    serde_json::from_slice(&text).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged: {error}", file.display()))
    })
}
