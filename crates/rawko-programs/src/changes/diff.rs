//! A file change as text: counted lines and a unified diff within a limit.

use similar::{ChangeTag, TextDiff};

use super::{ChangeStatus, FileChange, is_test};

/// Bytes of one file's diff.
const DIFF_BYTES_MAX: usize = 16 * 1024;

/// Describes a change. A side is `None` if the file does not exist there or has no text.
pub(super) fn change(path: &str, status: ChangeStatus, old: Option<&str>, new: Option<&str>) -> FileChange {
    let mut change = FileChange {
        path: path.to_owned(),
        status,
        added: 0,
        removed: 0,
        diff: None,
        is_cut: false,
        is_test: is_test(path),
    };
    let sides = match status {
        ChangeStatus::Added => new.map(|new| ("", new)),
        ChangeStatus::Deleted => old.map(|old| (old, "")),
        ChangeStatus::Modified => old.zip(new),
    };
    let Some((old, new)) = sides else { return change };
    let diff = TextDiff::from_lines(old, new);
    for line in diff.iter_all_changes() {
        match line.tag() {
            ChangeTag::Insert => change.added += 1,
            ChangeTag::Delete => change.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let mut text = diff.unified_diff().context_radius(3).to_string();
    if text.len() > DIFF_BYTES_MAX {
        let end = (0..=DIFF_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(text[..end].rfind('\n').map_or(end, |line| line + 1));
        change.is_cut = true;
    }
    change.diff = Some(text);
    change
}
