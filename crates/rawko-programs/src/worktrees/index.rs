//! The person's index: the objects of files that are as git has them. A filter (LFS) or a conversion of line ends makes the
//! object of a file differ from its bytes, and a submodule is one entry. The branch of a copy has differences that an agent
//! or the person made, and none of these.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::checkpoints::{Git, Manifest, PathKind, name_of, real_path};

const GITLINK: &str = "160000";

/// Mode, id and name of an object.
pub(super) type KeptObject = (String, String, String);

/// One file of the index.
#[derive(Debug, Default, PartialEq, Eq)]
struct IndexEntry {
    mode: String,
    id: String,
    name: String,
    /// False for a file of a sparse checkout that is not there.
    is_checked_out: bool,
    /// Its state when git last compared it.
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u32,
    size: u32,
}

/// Returns objects that the branch of a copy takes from the index: files that did not change since git compared them,
/// submodules, and files outside of a sparse checkout. `files` is the tree of the copy, `now` that of the project.
pub(super) async fn unchanged(
    git: &Git,
    root: &Path,
    files: &Manifest,
    now: &Manifest,
) -> io::Result<Vec<KeptObject>> {
    let place = git.run(&["rev-parse", "--git-path", "index"], &[], Vec::new()).await?;
    let Ok(index) = std::fs::metadata(root.join(path_of(place.trim_ascii_end()))) else {
        return Ok(Vec::new());
    };
    let listed = git.run(&["ls-files", "-s", "-t", "-z", "--debug"], &[], Vec::new()).await?;
    let written = (index.mtime(), index.mtime_nsec());
    let is_kept = |entry: &IndexEntry| {
        if entry.mode == GITLINK {
            return true;
        }
        let about = root.join(real_path(&entry.name)).symlink_metadata();
        match (files.get(&entry.name), about) {
            // A file that changed in the moment in which git wrote the index may look unchanged.
            (Some(mark), Ok(about)) => {
                mark.kind != PathKind::Directory
                    && now.get(&entry.name) == Some(mark)
                    && entry.is_of(&about)
                    && entry.modified < written
            }
            (None, Err(_)) => !entry.is_checked_out,
            (Some(_), Err(_)) | (None, Ok(_)) => false,
        }
    };
    let kept = entries(&listed).into_iter().filter(is_kept);
    Ok(kept.map(|entry| (entry.mode, entry.id, entry.name)).collect())
}

/// Returns the submodules of a commit.
pub(super) async fn submodules(git: &Git, commit: &str) -> io::Result<Vec<String>> {
    let listed = git.run(&["ls-tree", "-r", "-z", commit], &[], Vec::new()).await?;
    Ok(objects(&listed).into_iter().filter(|(mode, ..)| mode == GITLINK).map(|(.., name)| name).collect())
}

/// Parses the output of `ls-tree -z`.
pub(super) fn objects(listed: &[u8]) -> Vec<KeptObject> {
    let parse = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'\t')?;
        let about = std::str::from_utf8(&line[..at]).ok()?;
        let mut parts = about.split(' ');
        let (mode, _, id) = (parts.next()?, parts.next()?, parts.next()?);
        Some((mode.to_owned(), id.to_owned(), name_of(path_of(&line[at + 1..]))))
    };
    listed.split(|byte| *byte == 0).filter_map(parse).collect()
}

fn path_of(name: &[u8]) -> &Path {
    Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name))
}

/// Parses the output of `ls-files -s -t -z --debug`. Files with a conflict are left out.
fn entries(listed: &[u8]) -> Vec<IndexEntry> {
    let (mut rest, mut found) = (listed, Vec::new());
    while let Some((entry, after)) = take_entry(rest) {
        rest = after;
        found.extend(entry);
    }
    found
}

fn take_entry(rest: &[u8]) -> Option<(Option<IndexEntry>, &[u8])> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (line, mut rest) = (&rest[..end], &rest[end + 1..]);
    let mut entry = IndexEntry::default();
    while rest.starts_with(b"  ") {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len() - 1);
        let text = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        for field in text.trim().split('\t') {
            let Some((key, value)) = field.split_once(": ") else { continue };
            match key {
                "ctime" => entry.changed = time(value),
                "mtime" => entry.modified = time(value),
                "ino" => entry.inode = value.parse().unwrap_or_default(),
                "size" => entry.size = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
    }
    let at = line.iter().position(|byte| *byte == b'\t')?;
    let about = String::from_utf8_lossy(&line[..at]).into_owned();
    let parts: Vec<&str> = about.split(' ').collect();
    let [tag, mode, id, "0"] = parts[..] else { return Some((None, rest)) };
    entry.is_checked_out = tag != "S";
    (entry.mode, entry.id) = (mode.to_owned(), id.to_owned());
    entry.name = name_of(path_of(&line[at + 1..]));
    Some((Some(entry), rest))
}

fn time(text: &str) -> (i64, i64) {
    let (seconds, rest) = text.split_once(':').unwrap_or((text, "0"));
    (seconds.parse().unwrap_or_default(), rest.parse().unwrap_or_default())
}

impl IndexEntry {
    /// Git keeps the low 32 bits.
    #[expect(clippy::cast_possible_truncation, reason = "as in the index")]
    fn is_of(&self, about: &Metadata) -> bool {
        (about.mtime(), about.mtime_nsec()) == self.modified
            && (about.ctime(), about.ctime_nsec()) == self.changed
            && about.ino() as u32 == self.inode
            && about.size() as u32 == self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_an_index() {
        let debug = "  ctime: 7:8\n  mtime: 5:6\n  dev: 1\tino: 9\n  uid: 0\tgid: 0\n  size: 11\tflags: 0\n";
        let listed = format!(
            "H 100644 aa 0\ta b\nc\0{debug}S 100755 bb 0\tout/x\0{debug}M 100644 cc 2\tboth\0{debug}H 160000 dd 0\tsub\0{debug}"
        );
        let found = entries(listed.as_bytes());
        let names: Vec<(&str, &str, bool)> =
            found.iter().map(|it| (&*it.mode, &*it.name, it.is_checked_out)).collect();
        assert_eq!(names, [("100644", "a b\nc", true), ("100755", "out/x", false), ("160000", "sub", true)]);
        let first = &found[0];
        assert_eq!((first.modified, first.changed, first.inode, first.size), ((5, 6), (7, 8), 9, 11));
    }
}
