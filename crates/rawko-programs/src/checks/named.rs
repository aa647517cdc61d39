//! The files that a command names: scripts, modules and folders that an interpreter runs. Names without a file count,
//! too: an agent that creates such a file would decide what the check runs.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::definition::ProjectCheck;
use super::places::{CheckPlace, places};
use super::run::shown;
use super::{judged, settings_of, sourced, switches, tools};

/// Programs that run the file they are given.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "dash", "zsh", "ksh", "node", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript",
    "source", ".",
];
const SCRIPT_ENDINGS: [&str; 8] = ["sh", "bash", "py", "js", "mjs", "cjs", "rb", "pl"];

/// A larger script is not searched.
const SCRIPT_BYTES_MAX: usize = 256 * 1024;

/// Paths in the project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NamedFiles {
    pub(super) existing: BTreeSet<String>,
    pub(super) absent: BTreeSet<String>,
    /// Scripts that the check reads as part of itself.
    pub(super) sourced: BTreeSet<String>,
}

/// Returns the files that a check's command names, or the script or rule that it runs.
pub(super) fn named_files(root: &Path, check: &ProjectCheck) -> NamedFiles {
    let mut named = NamedFiles::default();
    for place in places(root, check) {
        named.take_place(root, check, &place);
    }
    named.take_switches(root, &check.cwd, &shown(&check.command));
    named.take_sourced(root, &check.cwd);
    named.absent.extend(settings_of::skipping_files(root, check));
    for word in judged::judged_output(&shown(&check.command)) {
        if let Some(path) = normal(&check.cwd.join(word)) {
            named.absent.remove(&path);
        }
    }
    let is_work = |path: &String| named.sourced.contains(path) && sourced::is_work(root, path);
    named.existing.retain(|path| !is_work(path));
    let sources = super::base::globs(&check.sources);
    named.existing.retain(|path| !sources.is_match(path));
    named.absent.retain(|path| !sources.is_match(path));
    let existing = named.existing.clone();
    named.absent.retain(|path| !existing.contains(path));
    named
}

impl NamedFiles {
    /// Adds what commands name in one of the folders that they run in.
    fn take_place(&mut self, root: &Path, check: &ProjectCheck, place: &CheckPlace) {
        let here = place.folder.as_path();
        let is_first = place.commands == shown(&check.command);
        let mut all: Vec<Vec<String>> =
            if is_first { commands_of(&check.command) } else { shell_commands(&place.commands) };
        all.extend(settings_of::commands_in(&root.join(here), &place.text).lines().flat_map(shell_commands));
        let every: Vec<String> = all.concat();
        let mut folders = vec![here.to_owned(), check.cwd.clone(), PathBuf::from(".")];
        folders.extend(every.iter().map(|word| here.join(word)).filter(|folder| root.join(folder).is_dir()));
        let is_compared = all.iter().any(|words| judged::compares(words));
        let is_own = |word: &str| root.join(here).join(word).is_file();
        let is_python = |name: &str| Runner::of(name) == Some(Runner::Python);
        for words in &all {
            self.take_words(root, &folders, &judged::deciding(words, is_own, is_python, is_compared));
        }
        self.existing.extend(tools::programs(root, here, &every));
        self.absent.extend(tools::absent_programs(root, here, &all));
    }

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

    /// Adds what shell scripts read as part of themselves: `. ./settings.env`, `source lib.sh`.
    fn take_sourced(&mut self, root: &Path, cwd: &Path) {
        let mut scripts: Vec<String> = self.existing.iter().cloned().collect();
        while let Some(script) = scripts.pop() {
            let text = rawko_process::read_regular(&root.join(&script))
                .ok()
                .filter(|text| text.len() <= SCRIPT_BYTES_MAX);
            let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else { continue };
            let folder = Path::new(&script).parent().unwrap_or(Path::new(""));
            self.take_switches(root, cwd, &text);
            for words in text.lines().flat_map(shell_commands) {
                let [command, word, ..] = &words[..] else { continue };
                if !matches!(command.as_str(), "." | "source") {
                    continue;
                }
                // `$(dirname "$0")/lib.sh`, `$HERE/lib.sh`: most likely beside the script.
                let (folders, word) = match word.strip_prefix('$').and_then(|rest| rest.split_once('/')) {
                    Some((_, rest)) => (vec![folder, cwd], rest),
                    None => (vec![cwd, folder], word.as_str()),
                };
                let places: Vec<String> =
                    folders.iter().filter_map(|folder| normal(&folder.join(word))).collect();
                match places.iter().find(|path| root.join(path).is_file()) {
                    Some(file) => {
                        if self.sourced.insert(file.clone()) {
                            self.existing.insert(file.clone());
                            scripts.push(file.clone());
                        }
                    }
                    None if word.contains('$') => {}
                    None => self.absent.extend(places.into_iter().next()),
                }
            }
        }
    }

    /// Adds the files by which a script decides what it runs.
    fn take_switches(&mut self, root: &Path, cwd: &Path, text: &str) {
        let required = switches::required(text).into_iter().filter_map(|word| normal(&cwd.join(word)));
        self.existing.extend(required.filter(|path| root.join(path).is_file()));
        let is_file = |path: &Path| root.join(cwd).join(path).is_file();
        for word in switches::files(text, &shell_commands(text), is_file) {
            let Some(path) = normal(&cwd.join(word)) else { continue };
            match root.join(&path).symlink_metadata() {
                Ok(_) => self.existing.insert(path),
                Err(_) => self.absent.insert(path),
            };
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

/// Returns true for the name of a program that runs the file it is given.
pub(super) fn is_interpreter(word: &str) -> bool {
    Runner::of(word.rsplit('/').next().unwrap_or_default()).is_some()
}

/// The commands of a check; a text for a shell is split as a shell does.
fn commands_of(command: &[String]) -> Vec<Vec<String>> {
    match command {
        [shell, option, text] if Runner::of(shell).is_some() && option == "-c" => shell_commands(text),
        words => vec![words.to_vec()],
    }
}

/// Splits a shell text into words, without quotes. Operators separate words.
pub(super) fn shell_words(text: &str) -> Vec<String> {
    shell_commands(text).concat()
}

/// Splits a shell text into commands and their words, without quotes.
pub(super) fn shell_commands(text: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), String::new(), None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None | Some('"'), '\\') => word.extend(letters.next()),
            (None, _) if letter.is_whitespace() || ";&|()<>`@".contains(letter) => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                if ";&|()`\n".contains(letter) {
                    commands.push(std::mem::take(&mut words));
                }
            }
            (_, _) => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

/// A relative path inside the project, without `.` and `..`.
pub(super) fn normal(path: &Path) -> Option<String> {
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
