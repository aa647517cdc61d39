//! The content of a request to a person: the command, the change or the address of the call.

use std::path::Path;
use std::time::Duration;

use rawko_core::Value;
use similar::{ChangeTag, TextDiff};

use crate::input::text;

/// Limit of text in a request; a note marks the cut. A command line is never cut: longer ones are not run.
const LINES_MAX: usize = 5_000;
const CHARS_MAX: usize = 200_000;
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Returns the title of a request and its details: `command`, `diff`, `url`, `path`, or `input`.
pub fn shown(tool: &str, input: &Value, root: &Path) -> (String, Vec<(&'static str, Value)>) {
    let path = text(input, "path");
    match tool {
        "Bash" => {
            let command = text(input, "command");
            (format!("Run `{}`", first_line(command)), vec![("command", Value::from(cut(command)))])
        }
        "Write" => {
            let before = before(root, path);
            let diff = diff(&before, text(input, "content"), LineNumbers::Shown);
            (format!("Write {path}"), vec![("path", Value::str(path)), ("diff", Value::from(diff))])
        }
        "Edit" => {
            let (old, new) = (text(input, "old_string"), text(input, "new_string"));
            let before = before(root, path);
            let is_all = input.get("replace_all").as_bool() == Some(true);
            // In the file, so that the lines have their numbers.
            let diff = match old.is_empty() || !before.contains(old) {
                true => diff(old, new, LineNumbers::Unknown),
                false if is_all => diff(&before, &before.replace(old, new), LineNumbers::Shown),
                false => diff(&before, &before.replacen(old, new, 1), LineNumbers::Shown),
            };
            (format!("Edit {path}"), vec![("path", Value::str(path)), ("diff", Value::from(diff))])
        }
        "WebFetch" => {
            let url = text(input, "url");
            (format!("Fetch {}", first_line(url)), vec![("url", Value::str(url))])
        }
        "WebSearch" => {
            let query = text(input, "query");
            (format!("Search the web for {}", first_line(query)), vec![("query", Value::str(query))])
        }
        "Read" | "Glob" | "Grep" => (format!("{tool} {path}"), vec![("path", Value::str(path))]),
        "Task" => {
            let agent = text(input, "agent");
            let prompt = Value::from(cut(text(input, "prompt")));
            (format!("Start the agent {agent}"), vec![("agent", Value::str(agent)), ("task", prompt)])
        }
        _ => (format!("Call {tool}"), vec![("input", Value::from(cut(&input.to_string())))]),
    }
}

fn before(root: &Path, path: &str) -> String {
    // The call is refused later if it leads out of the project; nothing of such a file is stored with the question.
    let real = root.join(path).canonicalize().ok();
    let real = real.filter(|real| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
    let small = real.filter(|path| {
        std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() < FILE_BYTES_MAX)
    });
    let text = small.and_then(|path| String::from_utf8(rawko_process::read_regular(&path).ok()?).ok());
    text.unwrap_or_default()
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(100).collect();
    if short.len() < text.trim().len() { format!("{short}…") } else { short }
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() { format!("{short}\n[the rest is left out]") } else { short }
}

/// Line numbers of a diff: unknown if its lines are not those of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineNumbers {
    Shown,
    Unknown,
}

/// Unchanged lines around a change: a person who reads `-x` has to see what it belongs to.
const CONTEXT_LINES: usize = 2;
/// Time after which a diff is longer than it could be.
const DIFF_TIME_MAX: Duration = Duration::from_millis(200);

/// Returns the changed lines with the lines around them, each group with the number of its first line.
fn diff(old: &str, new: &str, numbers: LineNumbers) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_slices(&old, &new);
    let mut lines: Vec<String> = Vec::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        if let Some(first) = group.first().filter(|_| numbers == LineNumbers::Shown) {
            lines.push(format!("@@ line {} @@", first.old_range().start + 1));
        } else if !lines.is_empty() {
            lines.push("@@".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("{mark}{}", change.value()));
        }
    }
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("[{more} more lines]"));
    }
    cut(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{LineNumbers, before, diff};

    #[test]
    fn a_diff_has_the_lines_that_change() {
        let numbered = |old: &str, new: &str| diff(old, new, LineNumbers::Shown);
        assert_eq!(numbered("a\nb\nc\n", "a\nx\ny\nc\n"), "@@ line 1 @@\n a\n-b\n+x\n+y\n c");
        assert_eq!(numbered("", "a\n"), "@@ line 1 @@\n+a");
        assert_eq!(numbered("a\na\n", "a\n"), "@@ line 1 @@\n a\n-a");
        assert_eq!(diff("a\nb\n", "a\nc\n", LineNumbers::Unknown), " a\n-b\n+c");
        // Changes that are far apart do not show all that is between them.
        let file: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let changed = file.replace("5\n6", "5\nx").replace("17\n", "y\n");
        let shown = "@@ line 4 @@\n 4\n 5\n-6\n+x\n 7\n 8\n@@ line 15 @@\n 15\n 16\n-17\n+y\n 18\n 19";
        assert_eq!(numbered(&file, &changed), shown);
    }

    #[test]
    fn a_question_shows_nothing_from_outside() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(directory.path().join("key"), "KEY").unwrap();
        std::fs::write(root.join("a"), "text").unwrap();
        std::os::unix::fs::symlink("../key", root.join("link")).unwrap();
        std::os::unix::fs::symlink("a", root.join("inner")).unwrap();
        let outside = directory.path().join("key").display().to_string();
        for (path, expected) in
            [("a", "text"), ("inner", "text"), ("link", ""), ("../key", ""), (&outside, ""), ("none", "")]
        {
            assert_eq!(before(&root, path), expected, "{path}");
        }
    }
}
