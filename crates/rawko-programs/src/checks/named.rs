//! The files that a command names: scripts, modules and folders that an interpreter runs. Names without a file count,
//! too: an agent that creates such a file would decide what the check runs.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::definition::Check;
use super::settings_of;

/// Programs that run the file they are given.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "dash", "zsh", "ksh", "node", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript",
    "source", ".",
];
const SCRIPT_ENDINGS: [&str; 8] = ["sh", "bash", "py", "js", "mjs", "cjs", "rb", "pl"];

/// Paths in the project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NamedFiles {
    pub(super) existing: BTreeSet<String>,
    pub(super) absent: BTreeSet<String>,
}

/// Returns the files that a check's command names, or the script or rule that it runs.
pub(super) fn named_files(root: &Path, check: &Check) -> NamedFiles {
    let mut named = NamedFiles::default();
    let commands = settings_of::commands(root, check);
    let mut all: Vec<Vec<String>> = vec![words_of(&check.command)];
    all.extend(commands.lines().map(shell_words));
    let every: Vec<String> = all.concat();
    let mut folders = vec![check.cwd.clone(), PathBuf::from(".")];
    folders.extend(every.iter().map(|word| check.cwd.join(word)).filter(|folder| root.join(folder).is_dir()));
    for words in &all {
        named.take_words(root, &folders, words);
    }
    named.absent.extend(settings_of::skipping_files(root, check));
    let existing = named.existing.clone();
    named.absent.retain(|path| !existing.contains(path));
    named
}

impl NamedFiles {
    fn take_words(&mut self, root: &Path, folders: &[PathBuf], words: &[String]) {
        let mut runner = None;
        let mut is_module = false;
        for word in words {
            let name = word.rsplit('/').next().unwrap_or_default();
            if is_module {
                self.take_module(root, folders, word);
                (runner, is_module) = (None, false);
                continue;
            }
            if let Some(kind) = Runner::of(name).filter(|_| !root.join(word).is_file()) {
                runner = Some(kind);
                continue;
            }
            if runner == Some(Runner::Python) && word == "-m" {
                is_module = true;
                continue;
            }
            if word.starts_with('-') && !word.contains('=') {
                continue;
            }
            self.take_path(root, folders, word, runner.take());
            if let Some((_, value)) = word.split_once('=') {
                self.take_path(root, folders, value, None);
            }
        }
    }

    fn take_path(&mut self, root: &Path, folders: &[PathBuf], word: &str, runner: Option<Runner>) {
        let places: Vec<String> = folders.iter().filter_map(|folder| normal(&folder.join(word))).collect();
        if let Some(file) = places.iter().find(|path| root.join(path).is_file()) {
            self.existing.insert(file.clone());
            return;
        }
        let folder = places.iter().find(|path| root.join(path).is_dir());
        if let (Some(folder), Some(runner)) = (folder, runner) {
            for file in runner.entries() {
                let path = format!("{folder}/{file}");
                if root.join(&path).is_file() {
                    self.existing.insert(path)
                } else {
                    self.absent.insert(path)
                };
            }
            return;
        }
        let ending = Path::new(word).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_script = runner.is_some() || SCRIPT_ENDINGS.contains(&ending);
        let is_plain = !word.is_empty() && !word.contains(['*', '?', '$', '{', '[', '~', '%', ':', ',']);
        if folder.is_none() && is_script && is_plain {
            self.absent.extend(places.into_iter().next());
        }
    }

    /// `python3 -m a.b` runs `a/b.py` or `a/b/__main__.py` of its folder, before any installed module.
    fn take_module(&mut self, root: &Path, folders: &[PathBuf], module: &str) {
        let Some(cwd) = folders.first() else { return };
        let parts: Vec<&str> = module.split('.').collect();
        for end in 1..=parts.len() {
            let stem = parts[..end].join("/");
            let is_whole = end == parts.len();
            let files = [format!("{stem}.py"), format!("{stem}/__init__.py"), format!("{stem}/__main__.py")];
            for file in files.iter().filter_map(|file| normal(&cwd.join(file))) {
                if root.join(&file).is_file() {
                    self.existing.insert(file);
                } else if is_whole || end == 1 && !root.join(cwd).join(&stem).is_dir() {
                    self.absent.insert(file);
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Python,
    Other,
}

impl Runner {
    fn of(program: &str) -> Option<Self> {
        let is_python = program
            .strip_prefix("python")
            .is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.'));
        match is_python {
            true => Some(Runner::Python),
            false => INTERPRETERS.contains(&program).then_some(Runner::Other),
        }
    }

    /// The files of a folder that it runs.
    fn entries(self) -> &'static [&'static str] {
        match self {
            Runner::Python => &["__main__.py"],
            Runner::Other => &["index.js", "package.json"],
        }
    }
}

/// The words of a command; a text for a shell is split as a shell does.
fn words_of(command: &[String]) -> Vec<String> {
    match command {
        [shell, option, text] if Runner::of(shell).is_some() && option == "-c" => shell_words(text),
        words => words.to_vec(),
    }
}

/// Splits a shell command into words, without quotes. Operators separate words.
pub(super) fn shell_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None | Some('"'), '\\') => word.extend(letters.next()),
            (None, _) if letter.is_whitespace() || ";&|()<>`@".contains(letter) => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            (_, _) => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// A relative path inside the project, without `.` and `..`.
fn normal(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
