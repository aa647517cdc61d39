//! The shell filter: finds the commands of a line without running it, and checks them against the grant. Every command
//! counts, not only the first word; a line that cannot be parsed is refused.

mod ansi_c;
mod archives;
mod awk;
mod code;
mod expansions;
mod git;
mod options;
mod print;
mod print_words;
mod read_only;
mod reading;
mod rules;
mod runs;
mod runs_git;
mod scripts;
mod sed;
mod tables;
mod targets;
mod variables;
mod verdict;
mod walk;
mod word;
mod wrappers;
mod writers;

pub(crate) use code::{ScriptLanguage, starts_programs};
pub(crate) use reading::{LineReading, Simple};
pub(crate) use targets::is_device;
pub(crate) use variables::is_dangerous as is_dangerous_variable;
pub(crate) use verdict::{Permit, check, is_free, is_read_only as is_read_only_line, read_line};
pub(crate) use word::Word;

/// Returns the commands of a text; none if it cannot be parsed.
pub(crate) fn commands_of(text: &str) -> Vec<Simple> {
    read_line(text)
        .map(|reading| reading.inner.into_iter().chain(reading.wrappers).chain(reading.commands).collect())
        .unwrap_or_default()
}

/// Returns true for programs that read, unless an argument makes them write or run something.
pub(crate) fn is_filter_program(name: &str) -> bool {
    [
        "awk", "date", "fd", "fdfind", "file", "find", "gawk", "mawk", "rg", "sed", "shuf", "sort", "tree",
        "uniq", "xxd", "yq",
    ]
    .contains(&name)
}

/// Returns true if a command is not known to be read-only.
pub(crate) fn has_objection(simple: &Simple) -> bool {
    read_only::objection(simple).is_some()
}

/// Returns true if a command only reads the files that it is given.
pub(crate) fn only_reads(simple: &Simple) -> bool {
    read_only::objection(simple).is_none() && read_only::needs_kernel(simple).is_none()
}

/// Returns true for programs with options that run something.
pub(crate) fn runs_by_option(simple: &Simple) -> bool {
    runs::by_option(simple)
}

/// Returns true for a command of git itself, which no alias can replace.
pub(crate) fn is_git_command(name: &str) -> bool {
    git::is_command(name)
}

/// The options of git before its command that take a value of their own.
pub(crate) fn git_value_options() -> &'static [&'static str] {
    &git::VALUE_OPTIONS
}

/// Returns the problem of a blocked pattern, if any.
pub(crate) fn pattern_problem(pattern: &str) -> Option<String> {
    let error = regex::Regex::new(pattern).err()?.to_string();
    Some(error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

#[cfg(test)]
mod lines;
#[cfg(test)]
mod narrowing;
#[cfg(test)]
mod tests;
