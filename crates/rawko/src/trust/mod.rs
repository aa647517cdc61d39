//! Trust: files of a project that carry authority are used only after a person trusted their content. Commands that act
//! pass through [`insist`]; the content that they then read must be the hashed one ([`insist_on_same`]).

#[cfg(feature = "cli")]
mod diff;
mod files;
mod git;
mod pinned;
mod record;
#[cfg(feature = "cli")]
mod review;
mod starts;
mod variables;

use std::io;
use std::path::Path;

pub(crate) use files::AuthorityFiles;
pub(crate) use pinned::{pin_all, pinned};
pub(crate) use record::{TrustDifference, TrustRecord};
#[cfg(feature = "cli")]
pub(crate) use review::{ask, ask_for, grants, insist, is_interactive, review};
pub(crate) use starts::starts;

use crate::failure::CommandFailure;

/// Trusts the content with this hash, or any content if it is `all`. For CI and tests: only the person who starts rawko
/// can set it, because nothing of a project is read into the environment.
const VARIABLE: &str = "RAWKO_TRUST";
const ALL: &str = "all";

/// Maximum number of files named in an error.
const NAMED_MAX: usize = 3;

/// The relation of a project's files to the trusted content.
pub(crate) enum TrustStanding {
    /// There is nothing to trust.
    Empty,
    /// Trusted by a record or by the environment.
    Trusted,
    Differs(Vec<(String, TrustDifference)>),
}

/// Reads the files of a project, including the programs that they name.
pub(crate) fn read(root: &Path, has_git: bool) -> io::Result<AuthorityFiles> {
    let mut files = AuthorityFiles::read(root, has_git)?;
    // Instructions of directories below the root, and what they import.
    for words in rawko_agents::words::authority(root) {
        files.add(root, &words)?;
    }
    for program in starts::programs(&starts(&files), root) {
        files.add(root, &program)?;
    }
    Ok(files)
}

pub(crate) fn standing(root: &Path, files: &AuthorityFiles) -> Result<TrustStanding, CommandFailure> {
    if files.is_empty() {
        return Ok(TrustStanding::Empty);
    }
    if is_in_environment(files) {
        return Ok(TrustStanding::Trusted);
    }
    let differences = TrustRecord::load(root)?.differences(files);
    Ok(if differences.is_empty() { TrustStanding::Trusted } else { TrustStanding::Differs(differences) })
}

/// Returns true in a process that a call of rawko started: an agent's command, a service, a check. Agents cannot trust
/// anything for the person. The sandbox enforces it, because a command can remove the mark; this explains it.
pub(crate) fn is_in_call() -> bool {
    std::env::var_os(rawko_process::CALL_VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Returns true if the environment trusts any content, also a later one.
pub(crate) fn is_everything_trusted() -> bool {
    let value = std::env::var(VARIABLE).unwrap_or_default();
    !is_in_call() && value.split([',', ' ']).any(|word| word.trim() == ALL)
}

/// Returns true if the environment trusts this content.
fn is_in_environment(files: &AuthorityFiles) -> bool {
    if is_in_call() {
        return false;
    }
    let Some(value) = std::env::var(VARIABLE).ok().filter(|value| !value.trim().is_empty()) else {
        return false;
    };
    let hash = files.hash();
    value.split([',', ' ']).map(str::trim).any(|word| word == ALL || word.eq_ignore_ascii_case(&hash))
}

/// Fails if a file was touched since it was hashed, so that only trusted content runs.
pub(crate) fn insist_on_same(root: &Path, files: &AuthorityFiles) -> Result<(), CommandFailure> {
    match files.is_untouched(root) {
        Ok(true) => Ok(()),
        Ok(false) => Err(CommandFailure::Invalid(
            "files of this project changed while they were read; nothing was started, try again".to_owned(),
        )),
        Err(error) => Err(unreadable(&error)),
    }
}

/// Records that the person trusts these files.
pub(crate) fn trust(root: &Path, files: &AuthorityFiles) -> Result<(), CommandFailure> {
    let mut record = TrustRecord::load(root)?;
    record.set(files);
    record.save()
}

/// Trusts files that rawko has just written, and leaves the others as they are.
pub(crate) fn trust_written<'p>(
    root: &Path,
    paths: impl IntoIterator<Item = &'p str>,
) -> Result<(), CommandFailure> {
    let files = read(root, true).map_err(|error| unreadable(&error))?;
    let mut record = TrustRecord::load(root)?;
    record.extend(&files, paths);
    record.save()
}

/// Trusts a file that the operator has just saved, registered charts included. A file that carries no authority needs none,
/// and content that another process wrote meanwhile is not trusted.
#[cfg(feature = "server")]
pub(crate) fn trust_saved(root: &Path, path: &Path, text: &str) -> Result<(), CommandFailure> {
    if std::fs::read(root.join(path)).map_err(|error| unreadable(&error))? != text.as_bytes() {
        return Err(CommandFailure::Invalid(format!("`{}` was changed by another process", path.display())));
    }
    let mut files = read(root, true).map_err(|error| unreadable(&error))?;
    for chart in crate::project::LoadedProject::at(root)?.authority() {
        files.add(root, &chart).map_err(|error| unreadable(&error))?;
    }
    let mut record = TrustRecord::load(root)?;
    record.extend(&files, [path.to_string_lossy().as_ref()]);
    record.save()
}

pub(crate) fn unreadable(error: &io::Error) -> CommandFailure {
    CommandFailure::Invalid(format!("the files of this project cannot be checked for trust: {error}"))
}

/// Returns the failure of a command that must not act.
pub(crate) fn untrusted(differences: &[(String, TrustDifference)], files: &AuthorityFiles) -> CommandFailure {
    let named: Vec<String> = differences
        .iter()
        .take(NAMED_MAX)
        .map(|(path, difference)| format!("`{path}` ({})", difference.as_str()))
        .collect();
    let more = match differences.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let help = format!(
        "review them with `rawko trust`, then run `rawko trust --yes`, or set {VARIABLE}={}",
        files.hash()
    );
    CommandFailure::Invalid(format!("this project is not trusted: {}{more}; {help}", named.join(", ")))
}
