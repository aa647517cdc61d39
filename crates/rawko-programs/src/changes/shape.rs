//! `ChangeShapes`: the changes of a task without what varies by itself, so that one more line of the same kind, a numbered
//! report and another space are not taken for work. Separate from hashes of the tree, which every byte changes.

use std::collections::BTreeSet;

use super::{ChangeStatus, FileChange};

/// Files that are read by people: a report is talk.
const PROSE: [&str; 9] = ["md", "markdown", "txt", "rst", "adoc", "org", "log", "out", "tmp"];
/// Beginnings of lines that are comments in common languages.
const COMMENTS: [&str; 7] = ["//", "/*", "*/", "* ", "--", "<!--", ";;"];
/// After `#` these are code.
const DIRECTIVES: [&str; 11] =
    ["[", "!", "include", "define", "undef", "if", "el", "endif", "pragma", "error", "line"];

/// Two texts that are equal if the changes are of the same kind; empty without such changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeShapes {
    /// Of all files.
    pub all: String,
    /// Without prose and comments.
    pub work: String,
}

impl ChangeShapes {
    /// Describes changes since the beginning of a task.
    pub fn of(changes: &[FileChange]) -> Self {
        let shapes = |is_counted: fn(&str, &str) -> bool| {
            let files: BTreeSet<String> =
                changes.iter().filter_map(|change| shape(change, is_counted)).collect();
            if files.is_empty() {
                return String::new();
            }
            let mut hasher = blake3::Hasher::new();
            for file in files {
                hasher.update(file.as_bytes()).update(&[0]);
            }
            hasher.finalize().to_hex()[..16].to_owned()
        };
        Self {
            all: shapes(|_, _| true),
            work: shapes(|path, line| !is_prose(path) && !is_comment(path, line)),
        }
    }
}

/// Describes one file; `None` if none of its lines counts. The name of a new file with known content is no news.
fn shape(change: &FileChange, is_counted: fn(&str, &str) -> bool) -> Option<String> {
    let path = masked(&change.path);
    let Some(diff) = &change.diff else {
        let size = if change.is_cut { format!("{} {}", change.added, change.removed) } else { String::new() };
        return is_counted(&change.path, "x").then(|| format!("{path} {size}"));
    };
    if change.status == ChangeStatus::Deleted {
        return is_counted(&change.path, "x").then(|| format!("{path} -"));
    }
    let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
    let lines = diff.lines().skip_while(is_header).filter(|line| line.starts_with(['+', '-']));
    let counted = lines.filter(|line| is_counted(&change.path, line[1..].trim()));
    let mut lines: BTreeSet<String> =
        counted.map(|line| format!("{}{}", &line[..1], masked(&line[1..]))).collect();
    if lines.is_empty() {
        // A new file without a line may be needed, such as `__init__.py`.
        return (diff.is_empty() && is_counted(&change.path, "x")).then(|| format!("{path} empty"));
    }
    match change.status {
        ChangeStatus::Added => lines.insert(format!("new .{}", ending(&path))),
        ChangeStatus::Modified | ChangeStatus::Deleted => lines.insert(format!("in {path}")),
    };
    Some(lines.into_iter().collect::<Vec<_>>().join("\n"))
}

/// Replaces words with digits, and spaces by one.
fn masked(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let parts = word.split_inclusive(|letter: char| !letter.is_alphanumeric());
        let part = |part: &str| match part.contains(|letter: char| letter.is_ascii_digit()) {
            true => format!("#{}", part.trim_start_matches(char::is_alphanumeric)),
            false => part.to_owned(),
        };
        parts.map(part).collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

fn ending(path: &str) -> &str {
    path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, ending)| ending)
}

fn is_prose(path: &str) -> bool {
    PROSE.contains(&ending(path).to_ascii_lowercase().as_str())
}

/// An empty line counts as a comment.
fn is_comment(path: &str, line: &str) -> bool {
    let hashed = || {
        let rest = line.strip_prefix('#')?.trim_start();
        Some(ending(path) != "css" && !DIRECTIVES.iter().any(|word| rest.starts_with(word)))
    };
    line.is_empty() || COMMENTS.iter().any(|mark| line.starts_with(mark)) || hashed().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::super::diff::change;
    use super::*;

    /// A path with its text before and now.
    type Edit<'a> = (&'a str, Option<&'a str>, &'a str);

    fn shapes(edits: &[Edit<'_>]) -> ChangeShapes {
        let changes = edits.iter().map(|(path, old, new)| {
            let status = if old.is_some() { ChangeStatus::Modified } else { ChangeStatus::Added };
            change(path, status, *old, Some(new))
        });
        ChangeShapes::of(&changes.collect::<Vec<_>>())
    }

    #[test]
    fn one_more_of_the_same_kind_has_the_same_shape() {
        type Row<'a> = (&'a str, &'a [Edit<'a>], &'a [Edit<'a>]);
        let table: [Row<'_>; 6] = [
            ("lines", &[("notes.txt", None, "1\n")], &[("notes.txt", None, "1\n2\n3\n")]),
            ("spaces", &[("a.py", Some("x = 1"), "x = 1 ")], &[("a.py", Some("x = 1"), "x = 1   ")]),
            (
                "reports",
                &[("REPORT-1.md", None, "All pass.\n")],
                &[("REPORT-1.md", None, "All pass.\n"), ("REPORT-2.md", None, "All pass.\n")],
            ),
            (
                "names",
                &[("a.md", None, "All pass.\n")],
                &[("a.md", None, "All pass.\n"), ("b.md", None, "All pass.\n")],
            ),
            ("numbers", &[("a.py", Some("x = 1\n"), "x = 2\n")], &[("a.py", Some("x = 1\n"), "x = 3\n")]),
            (
                "hashes",
                &[("log", None, "at 12:03 a4f0\n")],
                &[("log", None, "at 12:03 a4f0\nat 12:04 77b1\n")],
            ),
        ];
        for (name, one, other) in table {
            assert_eq!(shapes(one), shapes(other), "{name}");
            assert!(!shapes(one).all.is_empty(), "{name}");
        }
    }

    #[test]
    fn work_has_a_new_shape() {
        type Row<'a> = (&'a str, &'a [Edit<'a>], &'a [Edit<'a>]);
        let table: [Row<'_>; 4] = [
            ("a line", &[("a.py", Some("a\n"), "b\n")], &[("a.py", Some("a\n"), "b\nc\n")]),
            (
                "the same in another file",
                &[("a.py", Some("old()\n"), "new()\n")],
                &[("a.py", Some("old()\n"), "new()\n"), ("b.py", Some("old()\n"), "new()\n")],
            ),
            (
                "a new file",
                &[("1.py", None, "a = f()\n")],
                &[("1.py", None, "a = f()\n"), ("2.py", None, "b = g()\n")],
            ),
            (
                "an empty file",
                &[("a.py", None, "a\n")],
                &[("a.py", None, "a\n"), ("p/__init__.py", None, "")],
            ),
        ];
        for (name, one, other) in table {
            assert_ne!(shapes(one).work, shapes(other).work, "{name}");
        }
    }

    #[test]
    fn prose_and_comments_are_no_work() {
        let table: [(Edit<'_>, bool); 7] = [
            (("notes.md", None, "I think so.\n"), false),
            (("a.py", Some("x\n"), "x\n\n# I think so.\n"), false),
            (("a.rs", Some("x\n"), "// I think so.\nx\n"), false),
            (("a.c", Some("x\n"), "#include <a.h>\nx\n"), true),
            (("a.rs", Some("x\n"), "#[test]\nx\n"), true),
            (("a.css", Some("x\n"), "#id { }\nx\n"), true),
            (("Makefile", None, "all:\n"), true),
        ];
        for (edit, is_work) in table {
            let found = shapes(&[edit]);
            assert_eq!((!found.work.is_empty(), found.all.is_empty()), (is_work, false), "{edit:?}");
        }
    }
}
