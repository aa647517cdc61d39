//! Programs of a command line that are files: scripts in other languages, links to a denied program, and copies of it.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{PathSubject, Roots};
use crate::shell::{ScriptLanguage, Simple, Word, starts_programs};

/// Directories of programs that a copy is compared with.
const SYSTEM: [&str; 5] = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];
/// Larger files are not compared.
const PROGRAM_BYTES_MAX: u64 = 64 * 1024 * 1024;
const CODE_BYTES_MAX: u64 = 256 * 1024;

/// Returns commands under the names of the programs that their files really are.
pub(super) fn by_content(commands: &[&Simple], directories: &[PathBuf], roots: &Roots) -> Vec<Simple> {
    let mut found = Vec::new();
    for simple in commands.iter().filter(|simple| simple.name().contains('/')) {
        for path in directories.iter().map(|directory| PathSubject::new(simple.name(), directory, roots)) {
            let mut names: Vec<String> =
                path.real.file_name().map(|name| name.to_string_lossy().into_owned()).into_iter().collect();
            names.extend(same_as(&path.real));
            for name in names {
                let rest = simple.args().iter().cloned();
                found.push(Simple { words: std::iter::once(Word::of_text(&name)).chain(rest).collect() });
            }
        }
    }
    found
}

/// Returns the names of system programs with the same content as a file elsewhere.
fn same_as(path: &Path) -> Vec<String> {
    let is_system = SYSTEM.iter().any(|directory| path.starts_with(directory));
    let Ok(about) = fs::metadata(path) else { return Vec::new() };
    if is_system || !about.is_file() || about.len() > PROGRAM_BYTES_MAX {
        return Vec::new();
    }
    let mut content: Option<Vec<u8>> = None;
    let mut names = Vec::new();
    let entries = SYSTEM.iter().flat_map(|directory| fs::read_dir(directory).into_iter().flatten().flatten());
    for entry in entries {
        let is_alike =
            fs::metadata(entry.path()).is_ok_and(|other| other.is_file() && other.len() == about.len());
        if !is_alike {
            continue;
        }
        let own = content.get_or_insert_with(|| fs::read(path).unwrap_or_default());
        if fs::read(entry.path()).is_ok_and(|other| other == *own) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Returns the texts of scripts in other languages that start programs.
pub(super) fn code(commands: &[&Simple], directories: &[PathBuf], roots: &Roots) -> Vec<String> {
    let mut texts = Vec::new();
    for simple in commands {
        let by_name = simple.by_last_name();
        let name = by_name.words.first().map(|word| word.text().to_owned()).unwrap_or_default();
        let language = ScriptLanguage::of_program(&name);
        let files = match language {
            Some(_) => simple
                .args()
                .iter()
                .filter_map(Word::known)
                .filter(|arg| !arg.starts_with('-'))
                .take(1)
                .collect(),
            None if simple.name().contains('/') => vec![simple.name()],
            None => Vec::new(),
        };
        for file in files {
            let paths = directories.iter().map(|directory| PathSubject::new(file, directory, roots).real);
            for path in paths {
                let is_small =
                    fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= CODE_BYTES_MAX);
                let Some(text) = is_small.then(|| fs::read(&path).ok()).flatten() else { continue };
                let text = String::from_utf8_lossy(&text).into_owned();
                let language = language.or_else(|| of_first_line(&text));
                if language.is_some_and(|language| starts_programs(language, &text).is_some()) {
                    texts.push(text);
                }
            }
        }
    }
    texts
}

/// Returns the language of a script that names its interpreter.
fn of_first_line(text: &str) -> Option<ScriptLanguage> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    line.split_whitespace().rev().find_map(|word| ScriptLanguage::of_program(word.rsplit('/').next()?))
}
