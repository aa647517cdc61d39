//! The content of a request to a person: the command, the change or the address of the call.

use std::path::Path;

use rawko_core::Value;

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
            let diff = diff(&before, text(input, "content"));
            (format!("Write {path}"), vec![("path", Value::str(path)), ("diff", Value::from(diff))])
        }
        "Edit" => {
            let (old, new) = (text(input, "old_string"), text(input, "new_string"));
            let before = before(root, path);
            let is_all = input.get("replace_all").as_bool() == Some(true);
            // In the file, so that the lines have their numbers.
            let diff = match old.is_empty() || !before.contains(old) {
                true => diff(old, new),
                false if is_all => diff(&before, &before.replace(old, new)),
                false => diff(&before, &before.replacen(old, new, 1)),
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

/// Returns the changed lines between the common lines at the start and at the end.
fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - same;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let lines = old[same..old.len() - end].iter().map(|line| format!("-{line}"));
    let mut lines: Vec<String> =
        lines.chain(new[same..new.len() - end].iter().map(|line| format!("+{line}"))).collect();
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("[{more} more lines]"));
    }
    cut(&format!("@@ line {} @@\n{}", same + 1, lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::{before, diff};

    #[test]
    fn a_diff_has_the_lines_that_change() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\ny\nc\n"), "@@ line 2 @@\n-b\n+x\n+y");
        assert_eq!(diff("", "a\n"), "@@ line 1 @@\n+a");
        assert_eq!(diff("a\na\n", "a\n"), "@@ line 2 @@\n-a");
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
