//! The section `terminal` of the settings: how a session behaves on the person's terminal.

use rawko_chart::Finding;
use rawko_host::{Settings, SettingsReader};

/// The settings of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSettings {
    /// Rings the bell of the terminal when the task waits for the person, or has ended, and the person has not typed lately.
    pub(crate) bell: bool,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        TerminalSettings { bell: true }
    }
}

impl TerminalSettings {
    pub(crate) fn read(settings: &Settings) -> TerminalSettings {
        look(settings).0
    }
}

/// Reads the section, with all problems by file.
pub(crate) fn look(settings: &Settings) -> (TerminalSettings, Vec<(String, Finding)>) {
    let (mut bell, mut problems) = (None, Vec::new());
    for section in settings.sections("terminal") {
        let mut reader = SettingsReader::new(settings.environment());
        for entry in reader.record(&section.document, "`terminal`", &["bell"]) {
            bell = bell.or(reader.flag(&entry.value, "`bell` of `terminal`"));
        }
        let file = section.file.to_string();
        problems.extend(reader.findings.into_iter().map(|finding| (file.clone(), finding)));
    }
    let default = TerminalSettings::default();
    (TerminalSettings { bell: bell.unwrap_or(default.bell) }, problems)
}
