//! The files and submodules that git's index lists. `git status` enters submodules, with any content of the working
//! tree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::path_cache::SettledValues;
use super::regular;

/// The mode of a submodule.
const LINK: u32 = 0o160_000;
/// Bytes of an entry before its name; with the second word of flags two more.
const FIXED: usize = 62;

/// The paths of the submodules in an index, relative to the working tree. A path that leads out of it is none.
pub(crate) fn submodules(index: &Path) -> Vec<PathBuf> {
    listed(index, |mode| mode == LINK)
}

/// The paths of all files in an index.
pub(crate) fn files(index: &Path) -> Vec<PathBuf> {
    listed(index, |_| true)
}

fn listed(index: &Path, counts: fn(u32) -> bool) -> Vec<PathBuf> {
    static KNOWN: SettledValues<Vec<(u32, PathBuf)>> = SettledValues::new();
    let listed = KNOWN.get(index, |index| {
        let entries = IndexFile::of(&regular::read(index).unwrap_or_default()).entries;
        entries.iter().filter_map(|entry| Some((entry.mode(), entry.path()?))).collect()
    });
    listed.iter().filter(|(mode, _)| counts(*mode)).map(|(_, path)| path.clone()).collect()
}

/// The entries of an index. One that ends early counts as far as it goes.
#[derive(Debug, Default)]
pub(crate) struct IndexFile {
    pub(crate) entries: Vec<StagedEntry>,
    /// The place of what follows the entries; `None`: the file ends early.
    pub(crate) end: Option<usize>,
}

/// One entry, as git stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StagedEntry {
    /// Times and numbers of the file, mode, object id and flags.
    pub(crate) fixed: Vec<u8>,
    pub(crate) name: Vec<u8>,
}

impl StagedEntry {
    fn mode(&self) -> u32 {
        word(&self.fixed, 24).unwrap_or_default()
    }

    /// The path relative to the working tree. One that leads out of it is none.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let path = PathBuf::from(OsStr::from_bytes(&self.name));
        path.components().all(|part| matches!(part, Component::Normal(_))).then_some(path)
    }
}

impl IndexFile {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut file = Self::default();
        file.end = file.read(bytes);
        file
    }

    fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        if bytes.get(..4)? != b"DIRC" {
            return None;
        }
        let (version, count) = (word(bytes, 4)?, word(bytes, 8)?);
        let (mut at, mut name) = (12, Vec::new());
        for _ in 0..count {
            let is_extended = version > 2 && bytes.get(at + 60)? & 0x40 != 0;
            let fixed = bytes.get(at..at + FIXED + if is_extended { 2 } else { 0 })?;
            let mut start = at + fixed.len();
            if version == 4 {
                let (removed, next) = number(bytes, start)?;
                name.truncate(name.len().checked_sub(removed)?);
                start = next;
            } else {
                name.clear();
            }
            let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
            name.extend_from_slice(&bytes[start..start + length]);
            let end = start + length;
            at = if version == 4 { end + 1 } else { at + ((end - at + 8) & !7) };
            self.entries.push(StagedEntry { fixed: fixed.to_owned(), name: name.clone() });
        }
        Some(at)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number in the index: seven bits in each byte, and one more than that for every byte that follows.
fn number(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = (value + 1).checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_of_an_index() {
        let entry = |mode: u32, name: &str| {
            let mut entry = vec![0; FIXED];
            entry[24..28].copy_from_slice(&mode.to_be_bytes());
            entry.extend(name.as_bytes());
            let padded = (entry.len() + 8) & !7;
            entry.resize(padded, 0);
            entry
        };
        let header = [&b"DIRC"[..], &2_u32.to_be_bytes(), &4_u32.to_be_bytes()].concat();
        let entries = [(LINK, "sub"), (0o100_644, "a/file"), (LINK, "../out"), (LINK, "lib/deep")];
        let all: Vec<u8> = entries.iter().flat_map(|(mode, name)| entry(*mode, name)).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [header, all].concat()).unwrap();
        assert_eq!(submodules(file.path()), [PathBuf::from("sub"), PathBuf::from("lib/deep")]);
        assert_eq!(files(file.path()).len(), 3);
        std::fs::write(file.path(), "DIRC").unwrap();
        assert_eq!(submodules(file.path()), Vec::<PathBuf>::new());
    }
}
