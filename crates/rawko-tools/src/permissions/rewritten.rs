//! A file that a line first writes and then runs. Its content at the time of the check is not what will run.

use std::path::PathBuf;

use super::paths::{PathSubject, Roots};
use crate::shell::{ScriptLanguage, Simple, Word};

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "source", "."];
/// Programs that run the commands of a file with a known name, unless `-f` names another.
const BUILDERS: [(&str, &[&str]); 5] = [
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("bmake", &["makefile", "Makefile"]),
    ("ninja", &["build.ninja"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
];
/// Programs that write a file which they are given.
const WRITERS: [&str; 24] = [
    "awk", "cp", "csplit", "curl", "dd", "ed", "ex", "git", "install", "ln", "mv", "openssl", "patch",
    "perl", "python", "python3", "rsync", "sed", "sort", "tar", "tee", "unzip", "wget", "xxd",
];

/// Returns the first file that is written on a line and run on it. `writes` are the files of redirections.
pub(super) fn rewritten(
    commands: &[&Simple],
    writes: &[PathSubject],
    directories: &[PathBuf],
    roots: &Roots,
) -> Option<String> {
    let at = |path: &str| -> Vec<PathSubject> {
        directories.iter().map(|directory| PathSubject::new(path, directory, roots)).collect()
    };
    let is_same = |one: &PathSubject, other: &PathSubject| one.named == other.named || one.real == other.real;
    let written_by = |simple: &Simple| -> Vec<PathSubject> {
        if !WRITERS.contains(&simple.name()) {
            return Vec::new();
        }
        let words = simple.args().iter().filter_map(Word::known);
        // `of=x`, `--output=x`, `-ox`.
        let values = words.flat_map(|word| {
            let value = word.split_once('=').map(|(_, value)| value);
            let short = word.strip_prefix('-').and_then(|word| word.get(1..));
            [Some(word), value, short].into_iter().flatten().filter(|part| !part.is_empty())
        });
        values.flat_map(at).collect()
    };
    for (number, simple) in commands.iter().enumerate() {
        for file in run_by(simple) {
            let run = at(&file);
            let others = commands.iter().enumerate().filter(|(other, it)| {
                // The same command may be listed as a part of another one.
                *other != number && !run_by(it).contains(&file)
            });
            let mut written = writes.to_vec();
            written.extend(others.flat_map(|(_, other)| written_by(other)));
            if run.iter().any(|run| written.iter().any(|file| is_same(run, file))) {
                return Some(file);
            }
        }
    }
    None
}

/// Returns the files whose content a command runs.
fn run_by(simple: &Simple) -> Vec<String> {
    let name = simple.name();
    let words: Vec<&str> = simple.args().iter().filter_map(Word::known).collect();
    let first = || words.iter().find(|word| !word.starts_with('-')).map(|word| (*word).to_owned());
    if let Some((_, defaults)) = BUILDERS.iter().find(|(builder, _)| *builder == name) {
        let mut files: Vec<String> = defaults.iter().map(|file| (*file).to_owned()).collect();
        files.extend(words.iter().filter(|word| !word.starts_with('-')).map(|word| (*word).to_owned()));
        files.extend(words.iter().filter_map(|word| word.split_once('=')).map(|(_, file)| file.to_owned()));
        files.extend(words.iter().filter_map(|word| word.strip_prefix("-f")).map(str::to_owned));
        files.retain(|file| !file.is_empty());
        return files;
    }
    if SHELLS.contains(&name) || ScriptLanguage::of_program(name).is_some() {
        return first().into_iter().collect();
    }
    if name.contains('/') { vec![name.to_owned()] } else { Vec::new() }
}
