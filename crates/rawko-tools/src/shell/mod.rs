//! The shell filter: finds the commands of a line without running it, and checks them against the grant. Every command
//! counts, not only the first word; a line that cannot be parsed is refused.

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

/// Returns the problem of a blocked pattern, if any.
pub(crate) fn pattern_problem(pattern: &str) -> Option<String> {
    let error = regex::Regex::new(pattern).err()?.to_string();
    Some(error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

#[cfg(test)]
mod narrowing;
#[cfg(test)]
mod tests;
