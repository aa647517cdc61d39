//! A change as a unified diff that `git apply` reads.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::git::git_mode;
use super::names::real_path;
use super::{PathChange, PathKind, PathState};
use crate::changes::ChangeStatus;

/// The diff of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// Its path in the project.
    pub path: String,
    /// What happened to it.
    pub status: ChangeStatus,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    /// True if it has no text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_binary: bool,
    /// Unified, with git's headers.
    pub diff: String,
}

/// Quotes a name as git does: a name with a line feed must not look like a part of the diff, and `git apply` reads it.
pub(crate) fn quoted(side: &str, path: &str) -> String {
    quote(&format!("{side}/"), path)
}

/// Returns a name for people: one that has control characters, or is not UTF-8, in quotes.
pub fn shown_name(path: &str) -> String {
    quote("", path)
}

fn quote(lead: &str, name: &str) -> String {
    let path = real_path(name);
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    if let Ok(text) = std::str::from_utf8(bytes)
        && text.chars().all(is_plain)
    {
        return format!("{lead}{text}");
    }
    let mut text = format!("\"{lead}");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                c if c.is_control() => octal(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => text.push(c),
            }
        }
        octal(&mut text, chunk.invalid());
    }
    text.push('"');
    text
}

fn octal(text: &mut String, bytes: &[u8]) {
    bytes.iter().for_each(|byte| text.push_str(&format!("\\{byte:03o}")));
}

/// Returns the diff of a file or link; `None` for directories.
pub fn file_diff(change: &PathChange, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<FileDiff> {
    let is_file =
        |mark: &Option<PathState>| mark.as_ref().is_some_and(|mark| mark.kind != PathKind::Directory);
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    let status = match (is_file(&change.before), is_file(&change.after)) {
        (false, false) => return None,
        (false, true) => ChangeStatus::Added,
        (true, false) => ChangeStatus::Deleted,
        (true, true) => ChangeStatus::Modified,
    };
    let path = &change.path;
    let (old_name, new_name) = (quoted("a", path), quoted("b", path));
    let mut diff = format!("diff --git {old_name} {new_name}\n");
    match (status, before, after) {
        (ChangeStatus::Added, _, Some(after)) => diff += &format!("new file mode {}\n", git_mode(after)),
        (ChangeStatus::Deleted, Some(before), _) => {
            diff += &format!("deleted file mode {}\n", git_mode(before));
        }
        (_, Some(before), Some(after)) if git_mode(before) != git_mode(after) => {
            diff += &format!("old mode {}\nnew mode {}\n", git_mode(before), git_mode(after));
        }
        _ => {}
    }
    let mut file = FileDiff { path: path.clone(), status, added: 0, removed: 0, is_binary: false, diff };
    let text = |body: Option<&[u8]>, mark: Option<&PathState>| match (body, mark) {
        (_, None) => Some(String::new()),
        (Some(body), Some(_)) => String::from_utf8(body.to_vec()).ok().filter(|text| !text.contains('\0')),
        (None, Some(mark)) => (mark.kind == PathKind::Directory).then(String::new),
    };
    let (Some(old), Some(new)) = (text(old, before), text(new, after)) else {
        file.is_binary = true;
        file.diff += &format!("Binary files {old_name} and {new_name} differ\n");
        return Some(file);
    };
    let lines = TextDiff::from_lines(&*old, &*new);
    for line in lines.iter_all_changes() {
        match line.tag() {
            ChangeTag::Insert => file.added += 1,
            ChangeTag::Delete => file.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let from = if status == ChangeStatus::Added { "/dev/null".to_owned() } else { old_name };
    let to = if status == ChangeStatus::Deleted { "/dev/null".to_owned() } else { new_name };
    if old != new {
        file.diff += &lines.unified_diff().context_radius(3).header(&from, &to).to_string();
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::{quoted, shown_name};

    #[test]
    fn names_are_quoted_as_git_does() {
        assert_eq!(quoted("a", "src/ä b.rs"), "a/src/ä b.rs");
        assert_eq!(quoted("b", "x\n+y\u{1b}[2J\"\\"), "\"b/x\\n+y\\033[2J\\\"\\\\\"");
        assert_eq!(quoted("b", "\0bytes:62ff2ec3a9"), "\"b/b\\377.é\"");
        assert_eq!((&*shown_name("a b/ä"), &*shown_name("x\ny")), ("a b/ä", "\"x\\ny\""));
    }
}
