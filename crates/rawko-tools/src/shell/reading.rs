//! The effects of a command line as data: every simple command in it, the files it redirects to, the variables it sets,
//! and everything that is unknown before it runs.

use super::print::Unprintable;
use super::word::Word;

/// Limit of nested commands. Also bounds the parsing time: the parser tries alternatives at each level.
pub(super) const DEPTH_MAX: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct LineReading {
    pub(crate) commands: Vec<Simple>,
    /// Commands that only run others: they need not be allowed, but may be blocked.
    pub(crate) wrappers: Vec<Simple>,
    /// Commands that programs run by text in their arguments or their input: `tar --to-command=x`. Rules that deny, ask or
    /// block apply to them.
    pub(crate) inner: Vec<Simple>,
    /// Reasons why a program may run something that the line does not show. Rules that deny, ask or block cannot be
    /// checked then.
    pub(crate) opaque: Vec<String>,
    /// Ranges of commands that form one pipeline, from and to.
    pub(crate) pipelines: Vec<(usize, usize)>,
    pub(crate) writes: Vec<Word>,
    /// Files read by redirection; relevant only for special files (`/dev/tcp`).
    pub(crate) reads: Vec<Word>,
    pub(crate) assigned: Vec<String>,
    /// Known values of assignments, and literal ends of unknown words: both may be parts of a path.
    pub(crate) values: Vec<String>,
    /// Patterns on file names, as written.
    pub(crate) globs: Vec<String>,
    /// Variables of `for` loops over words that are no special files.
    pub(crate) loops: Vec<String>,
    /// The line in canonical form, which is what runs; or the construct that has none.
    pub(crate) printed: Option<Result<String, Unprintable>>,
    /// Arithmetic with variables: known, unless a variable of the environment holds a command.
    pub(crate) calculated: Vec<String>,
    /// Each a clause: "`$x` stands where a command's name should".
    pub(crate) unknowable: Vec<String>,
}

impl LineReading {
    /// Returns true if two readings contain the same commands, files and variables, as far as they are known.
    pub(super) fn is_same(&self, other: &LineReading) -> bool {
        let commands = |reading: &LineReading| -> Vec<Vec<Option<String>>> {
            // The arguments of `eval` are printed as one.
            let wrappers = reading.wrappers.iter().filter(|simple| simple.name() != "eval");
            let all = reading.commands.iter().chain(wrappers);
            all.map(|simple| simple.words.iter().map(|word| word.known.clone()).collect()).collect()
        };
        let files = |words: &[Word]| words.iter().map(|word| word.known.clone()).collect::<Vec<_>>();
        // The text for another shell is printed, too, so that words with such a text differ.
        let is_text =
            |word: &Option<String>| word.as_deref().is_some_and(|text| text.contains([' ', '\n', ';']));
        let (ours, theirs) = (commands(self), commands(other));
        let are_same = ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|(our, their)| {
                our.len() == their.len()
                    && our.iter().zip(their).all(|(a, b)| a == b || (is_text(a) && b.is_some()))
            });
        are_same && files(&self.writes) == files(&other.writes) && self.assigned == other.assigned
    }

    /// Returns true if a word is only a variable of a loop over files, and nothing else sets that variable.
    pub(super) fn is_loop_variable(&self, word: &Word) -> bool {
        let shown = word.shown.trim_matches('"');
        let name =
            shown.strip_prefix("${").and_then(|name| name.strip_suffix('}')).or(shown.strip_prefix('$'));
        name.is_some_and(|name| {
            self.loops.iter().any(|known| known == name)
                && self.assigned.iter().filter(|assigned| *assigned == name).count() == 1
        })
    }

    /// Returns pipelines in the form that patterns match: without quotes, joined by ` | `.
    pub(super) fn pipeline_texts(&self) -> impl Iterator<Item = String> {
        self.pipelines.iter().map(|(from, to)| {
            let commands = self.commands.get(*from..*to).unwrap_or_default();
            commands.iter().map(Simple::text).collect::<Vec<_>>().join(" | ")
        })
    }
}

/// A command with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
}

/// System program directories; a program there is known by its bare name.
const PROGRAM_DIRECTORIES: [&str; 8] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];

impl Simple {
    /// Returns the bare name of a system program, else the path as written: `./git` is not `git`.
    pub(crate) fn name(&self) -> &str {
        self.words.first().and_then(Word::known).map_or("", bare_name)
    }

    /// Returns the command under the last part of its path: a blocked program is blocked in any directory.
    pub(crate) fn by_last_name(&self) -> Simple {
        let mut words = self.words.clone();
        if let Some(first) = words.first_mut()
            && let Some(name) = first.known().and_then(|path| path.rsplit('/').find(|part| !part.is_empty()))
        {
            *first = Word::of_text(name);
        }
        Simple { words }
    }

    pub(crate) fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Returns the command without quotes and escapes, with one space between words: the form that patterns match.
    pub(crate) fn text(&self) -> String {
        let name = self.words.first().map(|word| bare_name(word.text()));
        let args = self.args().iter().map(Word::text);
        name.into_iter().chain(args).collect::<Vec<_>>().join(" ")
    }
}

pub(super) fn bare_name(word: &str) -> &str {
    match word.rsplit_once('/') {
        Some((directory, name)) if PROGRAM_DIRECTORIES.contains(&directory) && !name.is_empty() => name,
        Some(_) | None => word,
    }
}
