//! A command line as rules see it: its commands, the files that it names, and the files that it writes.

use std::path::{Path, PathBuf};

use super::commands::CommandPattern;
use super::git_content::TrackedFiles;
use super::paths::{PathPattern, PathSubject, Roots};
use super::programs;
use super::rewritten::rewritten;
use crate::shell::{
    LineReading, Simple, Word, is_dangerous_variable, is_device, is_free, is_read_only_line, only_reads,
    read_line, runs_by_option,
};

pub(super) struct CommandLine {
    pub(super) reading: LineReading,
    /// Files written by redirections.
    pub(super) writes: Vec<PathSubject>,
    /// Words that may name a file.
    pub(super) named: Vec<PathSubject>,
    /// The commands of shell scripts that the line runs.
    scripts: Vec<Simple>,
    /// A script whose commands are not known.
    unknown_script: Option<String>,
    /// Texts of scripts in other languages that start programs.
    code: Vec<String>,
    tracked: TrackedFiles,
    /// True if nothing that the line runs is known to write.
    pub(super) is_read_only: bool,
}

impl CommandLine {
    pub(super) fn read(line: &str, roots: &Roots) -> Option<Self> {
        let reading = read_line(line).ok()?;
        let is_read_only = is_read_only_line(&reading);
        let (mut scripts, unknown_script) = scripts(&reading, roots);
        let directories = directories(&reading);
        let commands: Vec<&Simple> = every(&reading).collect();
        let code = programs::code(&commands, &directories, roots);
        let tracked = TrackedFiles::of(&commands, roots);
        scripts.extend(programs::by_content(&commands, &directories, roots));
        let at = |path: &str| -> Vec<PathSubject> {
            directories.iter().map(|directory| PathSubject::new(path, directory, roots)).collect()
        };
        let written = reading.writes.iter().filter(|word| !is_device(word));
        let writes: Vec<PathSubject> = written.filter_map(Word::known).flat_map(at).collect();
        let unknown_script = unknown_script.or_else(|| rewritten(&commands, &writes, &directories, roots));
        let words = every(&reading).flat_map(Simple::args);
        let words = words.chain(&reading.reads).chain(&reading.writes).filter_map(Word::known);
        let values = reading.values.iter().map(String::as_str);
        let mut named: Vec<PathSubject> = words.chain(values).flat_map(paths_in).flat_map(at).collect();
        named.extend(matched(&reading.globs, &directories, roots));
        Some(Self { writes, named, is_read_only, scripts, unknown_script, code, tracked, reading })
    }

    /// Returns all commands, including those that only run others.
    pub(super) fn all(&self) -> impl Iterator<Item = &Simple> {
        every(&self.reading).chain(&self.scripts)
    }

    /// Returns true if a script in another language that the line runs starts programs and contains the words of a rule.
    pub(super) fn is_in_code(&self, pattern: &CommandPattern) -> bool {
        self.code.iter().any(|text| pattern.is_named_in(text))
    }

    /// Returns true if git may print a committed file that a pattern names.
    pub(super) fn shows_committed(&self, pattern: &PathPattern, roots: &Roots) -> bool {
        let commands: Vec<&Simple> = self.all().collect();
        self.tracked.are_shown(&commands, pattern, roots)
    }

    /// Returns the commands that an allow rule must cover. Entering a directory before git may enter another
    /// repository, whose configuration can run programs.
    pub(super) fn to_allow(&self) -> impl Iterator<Item = &Simple> {
        let has_git = self.reading.commands.iter().any(|simple| simple.name() == "git");
        self.reading
            .commands
            .iter()
            .filter(move |simple| !is_free(simple.name()) || (has_git && simple.name() == "cd"))
    }

    /// Returns the reason why a rule that denies or asks cannot be checked.
    pub(super) fn unchecked(&self) -> Option<String> {
        let script = self.unknown_script.as_ref();
        let script = script.map(|script| format!("the commands of `{script}` are not known"));
        let opaque = || self.reading.opaque.first().cloned();
        script.or_else(opaque).or_else(|| self.uncertain()).or_else(|| self.hidden_option())
    }

    /// Returns the reason why an option may stand in a variable: a value on the line begins with a dash, and a program
    /// with options that run something gets a variable.
    fn hidden_option(&self) -> Option<String> {
        let value = self.reading.values.iter().find(|value| value.starts_with('-'))?;
        let is_given = |simple: &Simple| {
            runs_by_option(simple)
                && simple.args().iter().any(|word| word.known().is_none() && word.may_be_option())
        };
        every(&self.reading).any(is_given).then(|| format!("`{value}` may be an option that runs something"))
    }

    /// Returns the reason why no allow rule can cover the line.
    pub(super) fn uncertain(&self) -> Option<String> {
        if let Some(Err(why)) = &self.reading.printed {
            return Some(why.to_string());
        }
        if let Some(why) = self.reading.unknowable.first().or(self.reading.calculated.first()) {
            return Some(why.clone());
        }
        let name = self.reading.assigned.iter().find(|name| is_dangerous_variable(name))?;
        Some(format!("setting `{name}` can change which programs run"))
    }

    pub(super) fn writes_somewhere_unknown(&self) -> bool {
        self.reading.writes.iter().any(|word| word.known().is_none())
    }
}

/// Returns every command of a line: those that run others, and those that programs run by their arguments.
fn every(reading: &LineReading) -> impl Iterator<Item = &Simple> {
    reading.commands.iter().chain(&reading.wrappers).chain(&reading.inner)
}

/// Limit of files that patterns are compared with.
const FILES_MAX: usize = 20_000;

/// Returns the files of the project that patterns on the line match: `.e*`, `src/{a,b}.txt`.
fn matched(globs: &[String], directories: &[PathBuf], roots: &Roots) -> Vec<PathSubject> {
    let matchers: Vec<_> = globs
        .iter()
        .filter_map(|text| {
            let text = text.trim_start_matches("./");
            Some(globset::GlobBuilder::new(text).literal_separator(true).build().ok()?.compile_matcher())
        })
        .collect();
    if matchers.is_empty() {
        return Vec::new();
    }
    let mut walk = ignore::WalkBuilder::new(&roots.project);
    walk.standard_filters(false).follow_links(false);
    walk.filter_entry(|entry| {
        !["node_modules", "target", ".git"].iter().any(|name| entry.file_name() == *name)
    });
    let files = walk.build().filter_map(Result::ok).take(FILES_MAX);
    let is_matched = |path: &Path| {
        directories.iter().any(|directory| {
            let below = path.strip_prefix(roots.project.join(directory));
            below.is_ok_and(|below| matchers.iter().any(|matcher| matcher.is_match(below)))
        })
    };
    let files = files.filter(|entry| is_matched(entry.path()));
    files.map(|entry| PathSubject::new(&entry.path().display().to_string(), "".as_ref(), roots)).collect()
}

/// Returns the parts of a word that may be a path: the word, and the value of `--file=x`, `if=x`, `-fx`, `@x` or
/// `HEAD:x`.
fn paths_in(word: &str) -> Vec<&str> {
    let mut parts = vec![word];
    parts.extend(word.split_once('=').map(|(_, value)| value));
    parts.extend(word.rsplit_once(':').map(|(_, value)| value));
    parts.extend(word.split_once('@').map(|(_, value)| value));
    if word.starts_with('-') && !word.starts_with("--") {
        parts.extend(word.get(2..));
    }
    parts.retain(|part| !part.is_empty() && part.len() < 4096 && !part.contains('\0'));
    parts
}

/// Returns the directories that the line may be in: the project, and each that it changes to.
fn directories(reading: &LineReading) -> Vec<PathBuf> {
    let mut all = vec![PathBuf::new()];
    let changes = reading.commands.iter().filter(|simple| ["cd", "pushd"].contains(&simple.name()));
    for simple in changes.take(16) {
        let Some(target) = simple.args().iter().filter_map(Word::known).find(|arg| !arg.starts_with('-'))
        else {
            continue;
        };
        let from = all.last().cloned().unwrap_or_default();
        all.push(from.join(target));
        all.push(Path::new(target).to_owned());
    }
    // `git -C dir`, `make -C dir`, `tar -C dir`.
    for simple in every(reading) {
        let mut words = simple.args().iter();
        while let Some(word) = words.next() {
            if word.is("-C") {
                all.extend(words.next().and_then(Word::known).map(PathBuf::from));
            }
        }
    }
    all.truncate(40);
    all
}

/// Programs that fetch text from elsewhere.
const NETWORK: &[&str] = &[
    "aria2c", "curl", "dig", "ftp", "gh", "glab", "host", "http", "https", "links", "lynx", "nc", "ncat",
    "nslookup", "rsync", "scp", "sftp", "socat", "ssh", "telnet", "w3m", "wget", "whois", "xh",
];
/// Directories of the system, whose files are not written by strangers.
const SYSTEM: &[&str] =
    &["/bin", "/boot", "/dev", "/lib", "/lib64", "/nix", "/proc", "/sbin", "/sys", "/usr"];

impl CommandLine {
    /// Returns a path outside the project that settings open to programs, unless the line is known not to read it: then all
    /// of its words are known, and its programs read only the files that they are given.
    pub(super) fn beside(&self, extra: &[PathBuf]) -> Option<String> {
        let first = extra.first()?;
        let is_extra = |file: &&PathSubject| {
            extra.iter().any(|path| {
                let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                [&file.named, &file.real].iter().any(|file| file.starts_with(path) || file.starts_with(&real))
            })
        };
        if let Some(file) = self.named.iter().find(is_extra) {
            return Some(format!("Bash {}", file.real.display()));
        }
        let is_inside =
            |simple: &Simple| only_reads(simple) && simple.words.iter().all(|word| word.known().is_some());
        let stays = every(&self.reading).all(is_inside)
            && self.reading.reads.iter().all(|word| word.known().is_some())
            && self.unchecked().is_none();
        (!stays).then(|| format!("Bash, which may read {}", first.display()))
    }

    /// Returns the source of text from outside the project that the line prints.
    pub(super) fn outside(&self, roots: &Roots) -> Option<String> {
        let fetches = |simple: &&Simple| {
            let words: Vec<&str> = simple.args().iter().filter_map(Word::known).collect();
            NETWORK.contains(&simple.name())
                || (simple.name() == "git"
                    && ["clone", "fetch", "pull", "ls-remote"].iter().any(|verb| words.contains(verb)))
        };
        if let Some(simple) = self.all().find(fetches) {
            return Some(format!("Bash {}", simple.name()));
        }
        let is_outside = |file: &&PathSubject| {
            !file.real.starts_with(&roots.project)
                && !SYSTEM.iter().any(|system| file.real.starts_with(system))
                && file.real.is_file()
        };
        self.named.iter().find(is_outside).map(|file| format!("Bash {}", file.real.display()))
    }
}

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "source", "."];
const SCRIPT_BYTES_MAX: u64 = 256 * 1024;

/// Returns the commands of the shell scripts that a line runs, and the first script that cannot be read. A rule about a
/// command also holds for a script that contains it.
fn scripts(reading: &LineReading, roots: &Roots) -> (Vec<Simple>, Option<String>) {
    let (mut found, mut unknown) = (Vec::new(), None);
    let directories = directories(reading);
    for simple in every(reading) {
        let name = simple.name();
        let (script, is_shell) = match SHELLS.contains(&name) {
            true => (simple.args().iter().filter_map(Word::known).find(|arg| !arg.starts_with('-')), true),
            false if name.contains('/') => (Some(name), false),
            false => continue,
        };
        let has_text = simple
            .args()
            .iter()
            .filter_map(Word::known)
            .any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('c'));
        let Some(script) = script.filter(|_| !(is_shell && has_text)) else { continue };
        let paths = directories.iter().map(|directory| PathSubject::new(script, directory, roots).real);
        let texts: Vec<Vec<u8>> = paths
            .filter(|path| {
                std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= SCRIPT_BYTES_MAX)
            })
            .filter_map(|path| std::fs::read(path).ok())
            .collect();
        let is_script = |text: &Vec<u8>| {
            is_shell
                || text.starts_with(b"#!") && text[..text.len().min(60)].windows(2).any(|two| two == b"sh")
        };
        if texts.is_empty() {
            unknown.get_or_insert_with(|| script.to_owned());
        }
        for text in texts.iter().filter(|text| is_script(text)) {
            match read_line(&String::from_utf8_lossy(text)) {
                Ok(inner) if inner.unknowable.is_empty() => {
                    found.extend(inner.commands.into_iter().chain(inner.wrappers))
                }
                Ok(_) | Err(_) => {
                    unknown.get_or_insert_with(|| script.to_owned());
                }
            }
        }
    }
    (found, unknown)
}
