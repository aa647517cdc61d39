//! Files of authority in git's index. A program may not write such a file, but git would write it for the person, at the next
//! `git checkout .` or `git stash`, if the program had put another content into the index.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

use super::git_index::{IndexFile, StagedEntry};
use super::path_cache::SettledValues;
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
pub(crate) struct StagedFiles(#[serde(with = "any_path::keys")] BTreeMap<PathBuf, Vec<StagedFile>>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StagedFile {
    #[serde(with = "any_path")]
    path: PathBuf,
    /// Everything before the name.
    fixed: Vec<u8>,
}

impl StagedFiles {
    pub(crate) fn of(project: &Path) -> Self {
        let indexes = git::indexes(project).into_iter();
        Self(indexes.map(|index| (index.clone(), staged(&index).to_vec())).collect())
    }

    /// Restores entries whose content is neither the former one nor that of the file beside it, which programs cannot
    /// write. Returns a line for each index. Other files of authority must be as they were by then.
    pub(crate) fn put_back(&self, project: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for index in git::indexes(project) {
            let before = self.0.get(&index).map(Vec::as_slice).unwrap_or_default();
            let tree = index.parent().filter(|git| git.ends_with(".git")).and_then(Path::parent);
            let tree = tree.unwrap_or(project);
            let now = staged(&index);
            let is_allowed = |file: &&StagedFile| {
                before.iter().any(|known| known.is_same(file)) || file.is_that_of(&tree.join(&file.path))
            };
            let wrong: Vec<&StagedFile> = now.iter().filter(|file| !is_allowed(file)).collect();
            if wrong.is_empty() {
                continue;
            }
            let named = wrong.iter().take(NAMED_MAX).map(|file| format!("`{}`", file.path.display()));
            let named = named.collect::<Vec<_>>().join(", ");
            let result = rewrite(&index, &wrong, before);
            let now = match result {
                Ok(()) => "the index has the former entries again".to_owned(),
                Err(error) => {
                    format!("the index could not be restored: {error}; compare `git diff --cached`")
                }
            };
            lines.push(format!(
                "git's index had another content of {named} than your files; agents may not change what instructs agents or \
                 starts programs, also not by way of git: {now}. Commits of this call may have it too: look at \
                 `git log --stat` before you check them out"
            ));
        }
        lines
    }
}

fn staged(index: &Path) -> Arc<Vec<StagedFile>> {
    static KNOWN: SettledValues<Vec<StagedFile>> = SettledValues::new();
    KNOWN.get(index, |index| {
        let entries = IndexFile::of(&regular::read(index).unwrap_or_default()).entries;
        let files = entries.into_iter().filter_map(|entry| {
            let is_watched = |path: &PathBuf| {
                // Git itself refuses one that would run something, and takes submodules of agents from there.
                let part = names::protected_part(path);
                part.is_some_and(|part| !part.ends_with(".gitmodules"))
            };
            let path = entry.path().filter(is_watched)?;
            Some(StagedFile { path, fixed: entry.fixed })
        });
        files.collect()
    })
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

/// Writes an index anew, under git's own lock, without the wrong entries and with the former ones of the same files.
fn rewrite(index: &Path, wrong: &[&StagedFile], before: &[StagedFile]) -> io::Result<()> {
    let lock = index.with_file_name("index.lock");
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&lock)?;
    let written = regular::read(index)
        .and_then(|bytes| rewritten(&bytes, wrong, before))
        .ok_or_else(|| io::Error::other("its format is not known"))
        .and_then(|bytes| file.write_all(&bytes));
    match written.and_then(|()| fs::rename(&lock, index)) {
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = fs::remove_file(lock);
            Err(error)
        }
    }
}

/// `None` for an index whose other parts are not understood: with a part that git must not ignore, or with other sums.
fn rewritten(bytes: &[u8], wrong: &[&StagedFile], before: &[StagedFile]) -> Option<Vec<u8>> {
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
    let is_wrong =
        |entry: &StagedEntry| entry.path().is_some_and(|path| wrong.iter().any(|it| it.path == path));
    let kept = file.entries.iter().filter(|entry| !is_wrong(entry)).cloned();
    let former = before.iter().filter(|file| wrong.iter().any(|wrong| wrong.path == file.path));
    let former = former.map(|file| StagedEntry {
        fixed: file.fixed.clone(),
        name: file.path.as_os_str().as_bytes().to_vec(),
    });
    let mut entries: Vec<StagedEntry> = kept.chain(former).collect();
    let stage = |entry: &StagedEntry| entry.fixed.get(FLAGS).map_or(0, |flags| flags & 0x30);
    entries.sort_by(|one, other| (&one.name, stage(one)).cmp(&(&other.name, stage(other))));
    let is_extended = entries.iter().any(|entry| entry.fixed.len() > FLAGS + 2);
    let mut text = b"DIRC".to_vec();
    text.extend(if is_extended { 3_u32 } else { 2 }.to_be_bytes());
    text.extend(u32::try_from(entries.len()).ok()?.to_be_bytes());
    for entry in entries {
        let length = entry.fixed.len() + entry.name.len();
        text.extend(entry.fixed);
        text.extend(entry.name);
        // At least one, up to a multiple of eight.
        text.extend(std::iter::repeat_n(0, ((length + 8) & !7) - length));
    }
    let sum: Vec<u8> = if has_sum { Sha1::digest(&text).to_vec() } else { vec![0; SUM] };
    text.extend(sum);
    Some(text)
}
