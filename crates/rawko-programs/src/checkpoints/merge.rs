//! Three-way merge of trees and of lines. Not git's: its merge drivers are programs that a repository names, and a
//! project without git is merged in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use similar::{DiffOp, TextDiff};

use super::names::{name_of, real_path};
use super::{Manifest, PathChange, PathKind, PathState};

const OURS: &str = "<<<<<<< ";
const BETWEEN: &str = "=======\n";
const THEIRS: &str = ">>>>>>> ";

/// The paths that a merge changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeResult {
    /// Changes to our tree that need no merge of contents.
    pub changes: Vec<PathChange>,
    /// Files that both sides changed.
    pub both: Vec<MergedFile>,
    /// Paths that both sides changed, and that cannot be merged: removed on one side, links, directories.
    pub conflicts: Vec<String>,
}

/// A file that both sides changed, with its three states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedFile {
    /// Its path in the project.
    pub path: String,
    /// `None`: both sides added it.
    pub base: Option<PathState>,
    /// The file in the project.
    pub ours: PathState,
    /// The file in the worktree.
    pub theirs: PathState,
}

impl MergeResult {
    /// Merges their tree into ours.
    pub fn of(base: &Manifest, ours: &Manifest, theirs: &Manifest) -> Self {
        let mut result = Self::default();
        let names: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
        for name in names {
            let (base, ours, theirs) = (base.get(name), ours.get(name), theirs.get(name));
            if theirs == base || ours == theirs {
                continue;
            }
            let is_directory =
                |mark: Option<&PathState>| mark.is_none_or(|mark| mark.kind == PathKind::Directory);
            if ours == base || (is_directory(ours) && is_directory(theirs) && is_directory(base)) {
                // A directory that only one side removed stays if the other uses it.
                let change = PathChange { path: name.clone(), before: ours.cloned(), after: theirs.cloned() };
                result.changes.push(change);
                continue;
            }
            let is_file = |mark: Option<&PathState>| mark.is_some_and(|mark| mark.kind == PathKind::File);
            match (ours, theirs) {
                (Some(mine), Some(other)) if is_file(ours) && is_file(theirs) => {
                    let base = base.filter(|mark| mark.kind == PathKind::File).cloned();
                    let (ours, theirs) = (mine.clone(), other.clone());
                    result.both.push(MergedFile { path: name.clone(), base, ours, theirs });
                }
                _ => result.conflicts.push(name.clone()),
            }
        }
        result.hold_apart(ours);
        result
    }

    /// Moves changes to the conflicts that no tree can have together with ours: a file in the place of a directory that is
    /// still used, and anything below a path that is no directory.
    fn hold_apart(&mut self, ours: &Manifest) {
        let after = |change: &PathChange| (change.path.clone(), change.after.as_ref().map(|mark| mark.kind));
        let changed: BTreeMap<String, Option<PathKind>> = self.changes.iter().map(after).collect();
        let kind = |name: &String| match changed.get(name) {
            Some(kind) => *kind,
            None => ours.get(name).map(|mark| mark.kind),
        };
        let is_clash = |change: &PathChange| {
            let Some(mark) = &change.after else { return false };
            let path = real_path(&change.path);
            let is_own = |name: &String| !changed.contains_key(name);
            if names_above(&path).any(|name| is_own(&name) && kind(&name).is_some_and(is_no_directory)) {
                return true;
            }
            let was_directory = ours.get(&change.path).is_some_and(|mark| mark.kind == PathKind::Directory);
            let is_used = |name: &String| {
                *name != change.path && real_path(name).starts_with(&path) && kind(name).is_some()
            };
            is_no_directory(mark.kind) && was_directory && ours.keys().any(is_used)
        };
        let (clashes, changes) = std::mem::take(&mut self.changes).into_iter().partition(is_clash);
        self.changes = changes;
        self.conflicts.extend(Vec::into_iter(clashes).map(|change: PathChange| change.path));
        self.conflicts.sort();
    }
}

fn is_no_directory(kind: PathKind) -> bool {
    kind != PathKind::Directory
}

/// Returns the names of the directories above a path.
fn names_above(path: &Path) -> impl Iterator<Item = String> {
    path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).map(name_of)
}

/// Returns true if a tree can have a file with this name: no path above it is something else than a directory.
pub(crate) fn has_room(tree: &Manifest, name: &str) -> bool {
    let is_blocked = |above: String| tree.get(&above).is_some_and(|mark| is_no_directory(mark.kind));
    !tree.contains_key(name) && !names_above(&real_path(name)).any(is_blocked)
}

/// Merges lines. `Err` has the text with conflict markers; for files that are not text, ours.
pub fn merge_lines(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    (our_name, their_name): (&str, &str),
) -> Result<Vec<u8>, Vec<u8>> {
    if ours == base || ours == theirs {
        return Ok(theirs.to_vec());
    }
    if theirs == base {
        return Ok(ours.to_vec());
    }
    let text = |body: &[u8]| String::from_utf8(body.to_vec()).ok().filter(|text| !text.contains('\0'));
    let (Some(base), Some(mine), Some(other)) = (text(base), text(ours), text(theirs)) else {
        return Err(ours.to_vec());
    };
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let (left, right) = (hunks(&base, &mine), hunks(&base, &other));
    let (mut merged, mut is_clean, mut at) = (String::new(), true, 0);
    for (begin, end) in regions(&left, &right) {
        merged.extend(lines[at..begin].iter().copied());
        let (our_text, their_text) = (side(&lines, &left, begin, end), side(&lines, &right, begin, end));
        let old: String = lines[begin..end].concat();
        if our_text == their_text || their_text == old {
            merged += &our_text;
        } else if our_text == old {
            merged += &their_text;
        } else {
            is_clean = false;
            let ended =
                |text: String| if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" };
            merged += &format!("{OURS}{our_name}\n{}{BETWEEN}", ended(our_text));
            merged += &format!("{}{THEIRS}{their_name}\n", ended(their_text));
        }
        at = end;
    }
    merged.extend(lines[at..].iter().copied());
    if is_clean { Ok(merged.into_bytes()) } else { Err(merged.into_bytes()) }
}

/// One changed range of the base, and the lines in its place.
struct Hunk {
    begin: usize,
    end: usize,
    text: String,
}

fn hunks(base: &str, new: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(base, new);
    let lines: Vec<&str> = new.split_inclusive('\n').collect();
    let changed = diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let hunk = |op: &DiffOp| {
        let (old, new) = (op.old_range(), op.new_range());
        Hunk { begin: old.start, end: old.end, text: lines[new].concat() }
    };
    changed.map(hunk).collect()
}

/// Ranges of the base that either side changed. Ranges that touch are one: the order of their lines is not known.
fn regions(left: &[Hunk], right: &[Hunk]) -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = left.iter().chain(right).map(|hunk| (hunk.begin, hunk.end)).collect();
    all.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (begin, end) in all {
        match joined.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}

/// Returns the lines of one side in a region of the base.
fn side(lines: &[&str], hunks: &[Hunk], begin: usize, end: usize) -> String {
    let (mut text, mut at) = (String::new(), begin);
    for hunk in hunks.iter().filter(|hunk| hunk.begin >= begin && hunk.end <= end) {
        text.extend(lines[at..hunk.begin].iter().copied());
        text += &hunk.text;
        at = hunk.end;
    }
    text.extend(lines[at..end].iter().copied());
    text
}

/// Returns true if a text still has conflict markers.
pub fn has_markers(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    let has = |lead: &str| text.lines().any(|line| line.starts_with(lead.trim_end()) && line.len() >= 7);
    has(OURS) && has(THEIRS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> String {
        let names = ("project", "item");
        match merge_lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), names) {
            Ok(text) => String::from_utf8(text).unwrap(),
            Err(text) => format!("conflict:\n{}", String::from_utf8(text).unwrap()),
        }
    }

    #[test]
    fn lines_of_both_sides() {
        let base = "a\nb\nc\nd\ne\n";
        assert_eq!(merged(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n"), "A\nb\nc\nd\nE\n");
        assert_eq!(merged(base, "a\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n"), "a\nc\nd\ne\nf\n");
        assert_eq!(merged(base, base, "x\n"), "x\n");
        assert_eq!(merged(base, "same\n", "same\n"), "same\n");
        assert_eq!(merged("", "x\n", ""), "x\n");
        assert_eq!(
            merged(base, "a\nB\nc\nd\ne\n", "a\nb2\nc\nd\ne\n"),
            "conflict:\na\n<<<<<<< project\nB\n=======\nb2\n>>>>>>> item\nc\nd\ne\n"
        );
        assert_eq!(merged("", "x", "y"), "conflict:\n<<<<<<< project\nx\n=======\ny\n>>>>>>> item\n");
        assert!(has_markers(merged(base, "a\nB\nc\nd\ne\n", "a\nX\nc\nd\ne\n").as_bytes()));
        assert!(!has_markers(b"Title\n=======\ntext\n"));
    }
}
