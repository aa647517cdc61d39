//! Files of authority in git's index. A program may not write such a file, but git would write it for the person, at the next
//! `git checkout .` or `git stash`, if the program had put another content into the index. Such entries are reported and left:
//! the person may have staged, committed or merged meanwhile, and git does not record which program wrote an entry.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

use super::git_index::{IndexFile, StagedEntry};
use super::path_cache::{self, PathStamp, SettledValues};
use super::{any_path, git, names, regular};

/// Mode, object id and flags of an entry.
const MODE: std::ops::Range<usize> = 24..28;
const OBJECT: std::ops::Range<usize> = 40..60;
const FLAGS: usize = 60;
/// The checksum at the end.
const SUM: usize = 20;
/// Files that a message names.
const NAMED_MAX: usize = 5;

/// The entries of files of authority, by index.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StagedFiles(#[serde(with = "any_path::keys")] BTreeMap<PathBuf, StagedIndex>);

#[derive(Debug, Serialize, Deserialize)]
struct StagedIndex {
    stamp: Option<PathStamp>,
    /// `None`: the index is not understood.
    files: Option<Vec<StagedFile>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StagedFile {
    #[serde(with = "any_path")]
    path: PathBuf,
    /// Everything before the name.
    fixed: Vec<u8>,
}

impl StagedFiles {
    pub(crate) fn of(project: &Path) -> Self {
        let indexes = git::written_indexes(project).into_iter();
        let read = |index: &Path| StagedIndex {
            stamp: path_cache::stamp(index),
            files: staged(index).as_ref().clone(),
        };
        Self(indexes.map(|index| (index.clone(), read(&index))).collect())
    }

    /// Reports entries whose content is neither the former one nor that of the file beside it, which programs cannot
    /// write, and indexes that changed and are not understood: a line for each index. The state of now is the former one
    /// of the next report. Other files of authority must be as they were by then.
    pub(crate) fn report(&mut self, project: &Path) -> Vec<String> {
        let before = std::mem::replace(self, Self::of(project));
        self.0.iter().filter_map(|(index, now)| now.reported(before.0.get(index), index, project)).collect()
    }
}

impl StagedIndex {
    fn reported(&self, before: Option<&Self>, index: &Path, project: &Path) -> Option<String> {
        let former = before.and_then(|before| before.files.as_deref());
        let Some(now) = &self.files else {
            let is_same = former.is_none() && before.is_some_and(|before| before.stamp == self.stamp);
            return (!is_same).then(|| {
                format!(
                    "git's index `{}` changed, and rawko does not understand it (SHA-256, split, sparse, larger than 64 MB \
                     or damaged): it may have another content of what instructs agents or starts programs than your files. \
                     Look at `git diff` before `git checkout .` or `git stash`, which would write it",
                    index.display()
                )
            });
        };
        let tree = index.parent().filter(|git| git.ends_with(".git")).and_then(Path::parent);
        let tree = tree.unwrap_or(project);
        let is_allowed = |file: &&StagedFile| {
            former.unwrap_or_default().iter().any(|known| known.is_same(file))
                || file.is_that_of(&tree.join(&file.path))
        };
        let mut wrong: Vec<&Path> =
            now.iter().filter(|file| !is_allowed(file)).map(|file| file.path.as_path()).collect();
        // The sides of a conflict have the same path.
        wrong.dedup();
        let named = wrong.iter().take(NAMED_MAX).map(|path| format!("`{}`", path.display()));
        let named = named.collect::<Vec<_>>().join(", ");
        (!wrong.is_empty()).then(|| {
            format!(
                "git's index has another content of {named} than your files: this call or you put it there, so rawko leaves \
                 it. Agents may not change what instructs agents or starts programs, also not by way of git. Look at \
                 `git diff` before `git checkout .` or `git stash`, which would write it, and at `git log --stat`: commits \
                 of this call may have it too"
            )
        })
    }
}

/// Returns the entries of files of authority; `None` for an index that is not understood.
fn staged(index: &Path) -> Arc<Option<Vec<StagedFile>>> {
    static KNOWN: SettledValues<Option<Vec<StagedFile>>> = SettledValues::new();
    KNOWN.get(index, |index| {
        let entries = match regular::read_regular(index) {
            Ok(bytes) => understood(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(_) => return None,
        };
        let files = entries.into_iter().filter_map(|entry| {
            let is_watched = |path: &PathBuf| {
                // Git itself refuses one that would run something, and takes submodules of agents from there.
                let part = names::protected_part(path);
                part.is_some_and(|part| !part.ends_with(".gitmodules"))
            };
            let path = entry.path().filter(is_watched)?;
            Some(StagedFile { path, fixed: entry.fixed })
        });
        Some(files.collect())
    })
}

/// `None` for an index with entries elsewhere, with a part that git must not ignore, or with other sums.
fn understood(bytes: &[u8]) -> Option<Vec<StagedEntry>> {
    let file = IndexFile::of(bytes);
    let (mut at, end) = (file.end?, bytes.len().checked_sub(SUM)?);
    let has_sum = bytes[end..] != [0; SUM];
    if has_sum && Sha1::digest(&bytes[..end]).as_slice() != &bytes[end..] {
        return None;
    }
    while at < end {
        // The others are caches of git.
        bytes.get(at).filter(|first| first.is_ascii_uppercase())?;
        let size = u32::from_be_bytes(bytes.get(at + 4..at + 8)?.try_into().ok()?);
        at += 8 + usize::try_from(size).ok()?;
    }
    (at == end).then_some(file.entries)
}

impl StagedFile {
    /// Returns true for the same content of the same file. Times and flags differ.
    fn is_same(&self, other: &Self) -> bool {
        self.path == other.path
            && self.stage() == other.stage()
            && self.fixed.get(MODE) == other.fixed.get(MODE)
            && self.fixed.get(OBJECT) == other.fixed.get(OBJECT)
    }

    /// The side of a conflict; 0: there is none.
    fn stage(&self) -> u8 {
        self.fixed.get(FLAGS).map_or(0, |flags| (flags >> 4) & 3)
    }

    /// Returns true if this is the content of a file of the person. Git may store other ends of lines.
    fn is_that_of(&self, file: &Path) -> bool {
        let content = match fs::read_link(file) {
            Ok(target) => Some(target.as_os_str().as_bytes().to_vec()),
            Err(_) => regular::read(file),
        };
        let is_object = |content: &[u8]| {
            let mut sum = Sha1::new_with_prefix(format!("blob {}\0", content.len()));
            sum.update(content);
            self.fixed.get(OBJECT) == Some(sum.finalize().as_slice())
        };
        content.is_some_and(|content| is_object(&content) || is_object(&with_unix_lines(&content)))
    }
}

fn with_unix_lines(content: &[u8]) -> Vec<u8> {
    let mut after = content.iter().skip(1).copied().chain([0]);
    content.iter().filter(|byte| after.next() != Some(b'\n') || **byte != b'\r').copied().collect()
}
