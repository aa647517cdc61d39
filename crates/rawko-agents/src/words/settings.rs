//! The section `instructions:` of the settings.

use rawko_host::{Section, SettingsReader};

const BYTES_MAX: usize = 32 * 1024;

/// The section `instructions` of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordSettings {
    /// Bytes of instructions in one system prompt.
    pub bytes_max: usize,
    /// Read AGENTS.md and CLAUDE.md.
    pub files: bool,
    /// Read Agent Skills.
    pub skills: bool,
}

impl Default for WordSettings {
    fn default() -> Self {
        Self { bytes_max: BYTES_MAX, files: true, skills: true }
    }
}

impl WordSettings {
    /// Sections, the nearest to the project first. A nearer file only lowers the budget, and switches nothing on again.
    pub(crate) fn read(reader: &mut SettingsReader<'_>, sections: &[&Section]) -> Self {
        let mut own = Self::default();
        let mut is_first = true;
        for section in sections.iter().rev() {
            for entry in reader.record(&section.document, "`instructions`", &["bytes_max", "files", "skills"])
            {
                let what = format!("`{}` of `instructions`", entry.key);
                if entry.key == "bytes_max" {
                    let Some(bytes) = reader.size(&entry.value, &what) else { continue };
                    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                    own.bytes_max = if is_first { bytes } else { bytes.min(own.bytes_max) };
                    is_first = false;
                    continue;
                }
                let Some(on) = entry.value.to_json().as_bool() else {
                    reader.wrong_type(&entry.value, &what, "true or false");
                    continue;
                };
                match entry.key.as_str() {
                    "files" => own.files &= on,
                    _ => own.skills &= on,
                }
            }
        }
        own
    }
}
