//! The section `queue` of the settings: how many queued tasks run at the same time.

use rawko_chart::Finding;
use rawko_host::{Settings, SettingsReader};

use crate::failure::CommandFailure;

/// Tasks of one project share its files, so one runs at a time unless the settings allow more.
const AT_ONCE: u32 = 1;
const AT_ONCE_MAX: u64 = 1_000;

/// Returns the number of tasks that run at the same time; `given` is the command's option.
pub(crate) fn at_once(settings: &Settings, given: Option<u32>) -> Result<u32, CommandFailure> {
    let (found, problems) = look(settings);
    match problems.first() {
        Some((file, finding)) => Err(CommandFailure::Invalid(format!("{file}: {}", finding.message))),
        None => Ok(given.or(found).unwrap_or(AT_ONCE)),
    }
}

/// Reads the section, with all problems by file.
pub(crate) fn look(settings: &Settings) -> (Option<u32>, Vec<(String, Finding)>) {
    let (mut found, mut problems) = (None, Vec::new());
    for section in settings.sections("queue") {
        let mut reader = SettingsReader::new(settings.environment());
        for entry in reader.record(&section.document, "`queue`", &["at_once"]) {
            let number = reader.whole(&entry.value, "`at_once` of `queue`", 1);
            found = found.or(number.and_then(|number| u32::try_from(number.min(AT_ONCE_MAX)).ok()));
        }
        let file = section.file.to_string();
        problems.extend(reader.findings.into_iter().map(|finding| (file.clone(), finding)));
    }
    (found, problems)
}
