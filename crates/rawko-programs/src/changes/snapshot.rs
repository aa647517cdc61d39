//! `FolderSnapshot`: the files of a project at one moment, in a folder of the user's state directory. Texts are stored by their
//! hash, once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::diff::change;
use super::{ChangeStatus, FileChange};
use crate::checks::walk_files;

/// Larger files are compared by hash, without a diff.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of all stored texts; further files are compared by hash.
const TEXTS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes of all diffs of a comparison; further files are listed without one.
const DIFFS_BYTES_MAX: usize = 64 * 1024;
/// Snapshots that no task has used for this long are removed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MANIFEST: &str = "files.json";

/// A snapshot in its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSnapshot {
    folder: PathBuf,
    files: BTreeMap<String, FileMark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    hash: String,
    /// The text is in the folder.
    #[serde(default)]
    stored: bool,
    /// It may be run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    runs: bool,
}

impl FolderSnapshot {
    /// Takes a snapshot under a name, unless there is one: a repeated call must not forget the beginning.
    pub fn take(root: &Path, all: &Path, name: &str) -> io::Result<FolderSnapshot> {
        if let Some(taken) = Self::open(all, name)? {
            return Ok(taken);
        }
        remove_old(all);
        let folder = all.join(name);
        fs::create_dir_all(&folder)?;
        let (mut files, mut total) = (BTreeMap::new(), 0);
        for path in walk_files(root) {
            let Some((mark, text)) = read(&root.join(&path)) else { continue };
            total += text.as_ref().map_or(0, |text| text.len() as u64);
            let stored = text.filter(|_| total <= TEXTS_BYTES_MAX);
            if let Some(text) = &stored {
                let place = folder.join(&mark);
                if !place.exists() {
                    fs::write(place, text)?;
                }
            }
            let about = fs::symlink_metadata(root.join(&path)).ok().filter(fs::Metadata::is_file);
            let runs = about.is_some_and(|about| about.permissions().mode() & 0o111 != 0);
            files.insert(path, FileMark { hash: mark, stored: stored.is_some(), runs });
        }
        // Last, and in one step: a snapshot without it was not completed.
        let (manifest, draft) = (folder.join(MANIFEST), folder.join("files.json.new"));
        fs::write(&draft, serde_json::to_vec(&files)?)?;
        fs::rename(draft, manifest)?;
        Ok(FolderSnapshot { folder, files })
    }

    /// Returns the name of a task's snapshot: a file name, whichever characters the key has.
    pub fn name_of(key: &str) -> String {
        hash(key.as_bytes())
    }

    /// Opens a snapshot; `None` if there is none of that name.
    pub fn open(all: &Path, name: &str) -> io::Result<Option<FolderSnapshot>> {
        let folder = all.join(name);
        match fs::read(folder.join(MANIFEST)) {
            Ok(text) => Ok(Some(FolderSnapshot { files: serde_json::from_slice(&text)?, folder })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the time of the snapshot.
    pub fn taken_at(&self) -> Option<std::time::SystemTime> {
        fs::metadata(self.folder.join(MANIFEST)).and_then(|about| about.modified()).ok()
    }

    /// Returns the files that differ now, by path.
    pub fn changes(&self, root: &Path) -> Vec<FileChange> {
        let mut changes = Vec::new();
        let mut gone: Vec<&String> = self.files.keys().collect();
        for path in walk_files(root) {
            if let Ok(at) = gone.binary_search(&&path) {
                gone.remove(at);
            }
            let Some((hash, text)) = read(&root.join(&path)) else { continue };
            match self.files.get(&path) {
                Some(before) if before.hash == hash => {}
                Some(before) => {
                    let old = self.text(before);
                    changes.push(change(&path, ChangeStatus::Modified, old.as_deref(), text.as_deref()));
                }
                None => changes.push(change(&path, ChangeStatus::Added, None, text.as_deref())),
            }
        }
        for path in gone {
            let before = &self.files[path];
            // A file that git ignores by now still exists, and may have changed.
            let (status, new) = match read(&root.join(path)) {
                Some((hash, _)) if hash == before.hash => continue,
                Some((_, text)) => (ChangeStatus::Modified, text),
                None if root.join(path).is_file() => continue,
                None => (ChangeStatus::Deleted, None),
            };
            let old = self.text(before);
            changes.push(change(path, status, old.as_deref(), new.as_deref()));
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        let mut total = 0;
        for change in &mut changes {
            total += change.diff.as_ref().map_or(0, String::len);
            if total > DIFFS_BYTES_MAX {
                change.is_cut |= change.diff.take().is_some();
            }
        }
        changes
    }

    /// Returns the text that a file had; `None` if it did not exist or has no stored text.
    pub(crate) fn text_before(&self, path: &str) -> Option<String> {
        self.files.get(path).and_then(|mark| self.text(mark))
    }

    /// Returns true if the file existed.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns true for a file that could run.
    pub(crate) fn could_run(&self, path: &str) -> bool {
        self.files.get(path).is_some_and(|mark| mark.runs)
    }

    /// Returns the files that existed.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    fn text(&self, mark: &FileMark) -> Option<String> {
        mark.stored.then(|| fs::read_to_string(self.folder.join(&mark.hash)).ok()).flatten()
    }
}

/// Returns the hash of a file, and its text if it is text and small.
fn read(path: &Path) -> Option<(String, Option<String>)> {
    let about = fs::symlink_metadata(path).ok()?;
    if about.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some((hash(target.as_os_str().as_encoded_bytes()), None));
    }
    // Reading a pipe or a device may take for ever.
    if !about.is_file() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    if about.len() > TEXT_BYTES_MAX {
        hasher.update_reader(fs::File::open(path).ok()?).ok()?;
        return Some((hasher.finalize().to_hex()[..32].to_owned(), None));
    }
    let body = fs::read(path).ok()?;
    Some((hash(&body), String::from_utf8(body).ok().filter(|text| !text.contains('\0'))))
}

fn hash(body: &[u8]) -> String {
    blake3::hash(body).to_hex()[..32].to_owned()
}

/// Removes snapshots of old tasks. One that cannot be removed does no harm.
fn remove_old(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|about| about.modified());
        let age = modified.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::FolderSnapshot;

    #[test]
    fn changes_are_listed_with_their_diffs() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = project.path();
        let write = |path: &str, text: &[u8]| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".gitignore", b"out/\n");
        write("same.txt", b"same\n");
        write("a.py", b"one\ntwo\nthree\n");
        write("tests/test_a.py", b"assert True\n");
        write("picture.png", &[0, 159, 146, 150]);
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        FolderSnapshot::take(root, state.path(), "t").unwrap();
        write("a.py", b"one\n2\nthree\n");
        write("new.py", b"fresh\n");
        write("out/ignored", b"x");
        write("picture.png", &[1, 159, 146, 150]);
        std::fs::remove_file(root.join("tests/test_a.py")).unwrap();
        // Taken again, as after a crash: the beginning stays the beginning.
        let snapshot = FolderSnapshot::take(root, state.path(), "t").unwrap();
        let mut shown = String::new();
        for change in snapshot.changes(root) {
            let (status, test) = (change.status, if change.is_test { " (test)" } else { "" });
            shown += &format!("{status:?} {}{test} +{} -{}\n", change.path, change.added, change.removed);
            shown += &change.diff.unwrap_or_else(|| "no diff\n".to_owned());
        }
        expect![[r"
            Modified a.py +1 -1
            @@ -1,3 +1,3 @@
             one
            -two
            +2
             three
            Added new.py +1 -0
            @@ -0,0 +1 @@
            +fresh
            Modified picture.png +0 -0
            no diff
            Deleted tests/test_a.py (test) +0 -1
            @@ -1 +0,0 @@
            -assert True
        "]]
        .assert_eq(&shown);
        assert_eq!(FolderSnapshot::open(state.path(), "other").unwrap(), None);
    }
}
