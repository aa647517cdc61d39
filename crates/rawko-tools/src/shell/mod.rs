//! The shell filter: what a command line would run, found without running it, and whether a grant's rules allow that.
//! Every command in it counts, not the first word; what cannot be read is not run.

mod ansi_c;
mod expansions;
mod git;
mod options;
mod programs;
mod read_only;
mod reading;
mod rules;
mod scripts;
mod targets;
mod variables;
mod verdict;
mod walk;
mod word;
mod wrappers;

pub(crate) use verdict::{Permit, check};

/// What is wrong with a blocked pattern, if anything.
pub(crate) fn pattern_problem(pattern: &str) -> Option<String> {
    let error = regex::Regex::new(pattern).err()?.to_string();
    Some(error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

#[cfg(test)]
mod narrowing;
#[cfg(test)]
mod tests;
