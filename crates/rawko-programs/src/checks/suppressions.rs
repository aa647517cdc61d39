//! Comments and attributes that turn a linter or compiler off without naming a rule. In the control run of a check that
//! failed before, added ones have no effect; those that name a rule stay.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

static SUPPRESSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        \#\s*(?:(?:ruff|flake8):\s*)?noqa\s*$ | \#\s*type:\s*ignore\s*$ | \#\s*pyright:\s*ignore\s*$
        | \#\s*mypy:\s*ignore-errors | \#\s*pylint:\s*(?:skip-file|disable=all)
        | //\s*@ts-(?:nocheck|ignore|expect-error).* | /\*\s*@ts-(?:nocheck|ignore|expect-error).*?\*/
        | //\s*eslint-disable(?:-next-line|-line)?\s*$ | /\*\s*eslint-disable(?:-next-line|-line)?\s*\*/
        | \#!?\[(?:allow|expect)\((?:warnings|unused|clippy::all|clippy::pedantic)\)\]
        | //\s*nolint(?::all)?\s*$",
    )
    .ok()
});
/// Text is no code: it may quote one.
const TEXTS: [&str; 4] = [".md", ".txt", ".rst", ".adoc"];

/// Returns the text without added suppressions, or `None` if there are none.
pub(super) fn removed(path: &str, before: Option<&str>, now: &str) -> Option<String> {
    let pattern = SUPPRESSION.as_ref().filter(|_| !TEXTS.iter().any(|ending| path.ends_with(ending)))?;
    let known: BTreeSet<&str> = before.unwrap_or_default().lines().collect();
    let is_added = |line: &str| !known.contains(line) && pattern.is_match(line);
    if !now.lines().any(is_added) {
        return None;
    }
    let lines = now.lines().map(|line| match is_added(line) {
        true => pattern.replace_all(line, "").into_owned(),
        false => line.to_owned(),
    });
    Some(lines.collect::<Vec<_>>().join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::removed;

    #[test]
    fn only_those_without_a_rule() {
        let table = [
            ("a.py", "# ruff: noqa", Some("")),
            ("a.py", "import b  # noqa", Some("import b  ")),
            ("a.py", "import b  # noqa: F401", None),
            ("a.py", "b: int = ''  # type: ignore", Some("b: int = ''  ")),
            ("a.py", "import b  # type: ignore[import-untyped]", None),
            ("a.ts", "// @ts-nocheck", Some("")),
            ("a.ts", "/* eslint-disable */", Some("")),
            ("a.ts", "// eslint-disable-next-line no-console", None),
            ("src/lib.rs", "#![allow(warnings)]", Some("")),
            ("src/lib.rs", "#[allow(dead_code)]", None),
            ("a.go", "f() //nolint", Some("f() ")),
            ("a.md", "# noqa", None),
        ];
        for (path, line, expected) in table {
            let text = removed(path, Some("first\n"), &format!("first\n{line}\n"));
            let expected = expected.map(|line| format!("first\n{line}\n"));
            assert_eq!(text, expected, "{path}: {line}");
            assert_eq!(removed(path, Some(line), line), None, "not added");
        }
    }
}
