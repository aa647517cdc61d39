//! The section `retention` of the settings: how long ended instances are kept.

use rawko_chart::{Finding, SpannedValue};
use rawko_host::{Settings, SettingsReader};
use rawko_store::Outcome;

use crate::failure::CommandFailure;

const KEYS: [&str; 4] = ["age", "files", "outcomes", "size"];
/// Checkpoints and worktrees of ended tasks are kept for this time.
const FILES_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// The values of the settings; `None` and empty mean unset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RetentionSettings {
    pub(crate) age_ms: Option<u64>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) size_max_bytes: Option<u64>,
    files_ms: Option<u64>,
}

impl RetentionSettings {
    /// Reads the section; the project's file takes precedence over the user's, key by key.
    pub(crate) fn read(settings: &Settings) -> Result<RetentionSettings, CommandFailure> {
        let (all, problems) = RetentionSettings::look(settings);
        match problems.first() {
            Some((file, finding)) => Err(CommandFailure::Invalid(format!("{file}: {}", finding.message))),
            None => Ok(all),
        }
    }

    /// Like [`RetentionSettings::read`], with all problems by file.
    pub(crate) fn look(settings: &Settings) -> (RetentionSettings, Vec<(String, Finding)>) {
        let mut all = RetentionSettings::default();
        let mut problems = Vec::new();
        for section in settings.sections("retention") {
            let mut reader = SettingsReader::new(settings.environment());
            let own = RetentionSettings::of(&mut reader, &section.document);
            all.age_ms = all.age_ms.or(own.age_ms);
            all.size_max_bytes = all.size_max_bytes.or(own.size_max_bytes);
            // These are removed without a question, so no file shortens the time of another.
            all.files_ms = all.files_ms.max(own.files_ms);
            if all.outcomes.is_empty() {
                all.outcomes = own.outcomes;
            }
            let file = section.file.to_string();
            problems.extend(reader.findings.into_iter().map(|finding| (file.clone(), finding)));
        }
        (all, problems)
    }

    /// Returns the time for which checkpoints and worktrees of ended tasks are kept.
    pub(crate) fn files_ms(&self) -> u64 {
        self.files_ms.unwrap_or(FILES_MS)
    }

    fn of(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> RetentionSettings {
        let mut own = RetentionSettings::default();
        for entry in reader.record(at, "`retention`", &KEYS) {
            match entry.key.as_str() {
                key @ ("age" | "files") => {
                    let what = format!("`{key}` of `retention`");
                    let time = reader.duration(&entry.value, &what);
                    let time = time.and_then(|time| u64::try_from(time.as_millis()).ok());
                    *(if key == "age" { &mut own.age_ms } else { &mut own.files_ms }) = time;
                }
                "size" => own.size_max_bytes = reader.size(&entry.value, "`size` of `retention`"),
                _ => own.outcomes = outcomes(reader, &entry.value),
            }
        }
        own
    }
}

fn outcomes(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Vec<Outcome> {
    let mut found = Vec::new();
    for (word, span) in reader.texts(at, "`outcomes` of `retention`") {
        match Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word) {
            Some(outcome) => found.push(outcome),
            None => {
                let known = Outcome::ALL.map(|outcome| format!("`{}`", outcome.as_str())).join(", ");
                reader.invalid(span, format!("`{word}` is not an outcome"), format!("use one of {known}"));
            }
        }
    }
    found
}
