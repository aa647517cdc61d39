//! Files that judge although no name shows it: programs with assertions that the scripts of a check run, and the lists that
//! name them. A check must not pass because such a file asserts less.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::definition::ProjectCheck;
use super::named::{is_interpreter, normal, shell_commands};
use super::places::places;
use super::settings_of;

/// Words of lines that judge.
const ASSERTIONS: [&str; 7] =
    ["assert", "expect(", "AssertionError", "unittest", ".should", "die unless", "panic!"];
/// Programs that run each file of a list.
const SELECTORS: [&str; 4] = ["xargs", "-exec", "run-parts", "parallel"];
/// Words before the program of a command.
const KEYWORDS: [&str; 8] = ["do", "then", "if", "!", "while", "else", "exec", "time"];
/// Modules that a text for an interpreter loads.
static LOADED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\b(?:import|from)\s+([A-Za-z_][\w.]*)|\brequire\(['"]\./([^'"]+)['"]\)"#).ok()
});

/// Files that the texts of the checks run.
#[derive(Debug, Default)]
pub(super) struct JudgingFiles {
    /// Files that a command names.
    files: Vec<String>,
    /// Patterns, folders and lists of files that a command runs one by one.
    selections: Vec<String>,
    patterns: globset::GlobSet,
}

impl JudgingFiles {
    pub(super) fn of(root: &Path, checks: &[ProjectCheck]) -> Self {
        let mut found = Self::default();
        let mut patterns = globset::GlobSetBuilder::new();
        for place in checks.iter().flat_map(|check| places(root, check)) {
            let inner = settings_of::commands_in(&root.join(&place.folder), &place.text);
            let commands = shell_commands(&format!("{}\n{inner}", place.text));
            found.take_programs(&place.folder, &commands);
            if !commands.iter().any(|words| runs_each(words)) {
                continue;
            }
            for word in commands.iter().flatten() {
                let Some(path) = normal(&place.folder.join(word)) else { continue };
                if word.contains(['*', '?']) {
                    let glob = globset::GlobBuilder::new(&path).literal_separator(word.contains('/')).build();
                    if let Ok(glob) = glob {
                        patterns.add(glob);
                    }
                } else if root.join(&path).exists() {
                    found.selections.push(path);
                }
            }
        }
        found.patterns = patterns.build().unwrap_or_default();
        found
    }

    fn take_programs(&mut self, folder: &Path, commands: &[Vec<String>]) {
        let mut take = |word: &str| self.files.extend(normal(&folder.join(word)));
        for words in commands {
            let words: Vec<&String> = words.iter().skip_while(|word| is_before(word)).collect();
            let runs = words.first().is_some_and(|word| is_interpreter(word));
            if let Some(file) = words.iter().skip(usize::from(runs)).find(|word| !word.starts_with('-')) {
                take(file);
            }
            for word in words.iter().filter(|_| runs) {
                for found in LOADED.iter().flat_map(|pattern| pattern.captures_iter(word)) {
                    if let Some(module) = found.get(1) {
                        take(&format!("{}.py", module.as_str().replace('.', "/")));
                    }
                    if let Some(file) = found.get(2) {
                        take(file.as_str());
                        take(&format!("{}.js", file.as_str()));
                    }
                }
            }
        }
    }

    /// Returns true if a file judges, and judges less than before. `now`: its text, `None` if it was deleted.
    pub(super) fn is_weakened(&self, root: &Path, path: &str, before: &str, now: Option<&str>) -> bool {
        let is_selected = || {
            let is_in = |selection: &String| Path::new(path).starts_with(selection) && selection != path;
            self.patterns.is_match(path) || self.selections.iter().any(is_in) || self.is_listed(root, path)
        };
        let is_list = self.selections.iter().any(|selection| selection == path) && is_list(root, before);
        let is_program = asserts_less(before, now.unwrap_or_default())
            && (self.files.iter().any(|file| file == path) || is_selected());
        is_program || is_list && Some(before) != now
    }

    /// Returns true if one of the lists names the file.
    fn is_listed(&self, root: &Path, path: &str) -> bool {
        let texts =
            self.selections.iter().filter_map(|list| crate::checkpoints::text_inside(root, Path::new(list)));
        texts
            .into_iter()
            .any(|text| text.lines().any(|line| normal(&PathBuf::from(line.trim())).as_deref() == Some(path)))
    }
}

/// A list has one file of the project in each line.
fn is_list(root: &Path, text: &str) -> bool {
    let mut names =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    names.peek().is_some()
        && names.all(|name| !name.contains(' ') && (name.contains('/') || root.join(name).is_file()))
}

/// Returns true if a line that asserts is missing now.
fn asserts_less(before: &str, now: &str) -> bool {
    let lines = |text: &str| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for line in text.lines().map(str::trim) {
            if ASSERTIONS.iter().any(|word| line.contains(word)) {
                *counts.entry(line.split_whitespace().collect()).or_default() += 1;
            }
        }
        counts
    };
    let now = lines(now);
    lines(before).iter().any(|(line, count)| now.get(line).is_none_or(|left| left < count))
}

/// Returns true for a command that runs files of a list or a pattern one by one: `python3 "$t"`, `xargs -n1 sh`.
fn runs_each(words: &[String]) -> bool {
    let mut words = words.iter().skip_while(|word| is_before(word)).peekable();
    let is_variable = |word: &&String| word.starts_with('$') || word.starts_with("./$");
    let has_interpreter = words.peek().is_some_and(|word| is_interpreter(word));
    let is_selector =
        words.peek().is_some_and(|word| word.as_str() == "find" || SELECTORS.contains(&word.as_str()));
    let mut rest = words.clone();
    if is_selector {
        let runs = |word: &String| is_interpreter(word) || word == "run-parts";
        return rest.clone().any(|word| SELECTORS.contains(&word.as_str())) && rest.any(runs);
    }
    if has_interpreter { rest.any(|word| is_variable(&word)) } else { rest.peek().is_some_and(is_variable) }
}

fn is_before(word: &str) -> bool {
    KEYWORDS.contains(&word) || word.contains('=') && !word.starts_with('[')
}

#[cfg(test)]
mod tests {
    use super::{asserts_less, is_list, runs_each};
    use crate::checks::named::shell_commands;

    #[test]
    fn commands_that_run_each_file() {
        let table = [
            ("for t in a/*; do python3 \"$t\" || exit 1; done", true),
            ("for t in a/*; do [ -x \"$t\" ] || continue; X=1 $t || exit 1; done", true),
            ("xargs -n1 python3 < suite.txt", true),
            ("find qa -name '*.py' -exec python3 {} +", true),
            ("run-parts checks", true),
            ("for t in a/*; do echo \"$t\"; done", false),
            ("find src -name '*.py' | xargs ruff check", false),
            ("python3 app.py", false),
            ("ruff check src/*.py", false),
        ];
        for (text, expected) in table {
            assert_eq!(shell_commands(text).iter().any(|words| runs_each(words)), expected, "{text}");
        }
    }

    #[test]
    fn fewer_assertions_and_lists() {
        let before = "import app\nassert app.add(1, 2) == 3\n";
        let table = [
            ("import app\n  assert app.add(1,  2) == 3\n", false),
            ("import app\nx = 1\nassert app.add(1, 2) == 3\nassert x\n", false),
            ("import app\nassert app.add(1, 2) == -1\n", true),
            ("", true),
        ];
        for (now, expected) in table {
            assert_eq!(asserts_less(before, now), expected, "{now}");
        }
        let project = tempfile::tempdir().unwrap();
        assert!(is_list(project.path(), "# tests\nqa/a.py\nqa/b.py\n"));
        assert!(!is_list(project.path(), "Some words about it\n") && !is_list(project.path(), ""));
    }
}
