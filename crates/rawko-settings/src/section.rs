//! `Section`: one part of a settings file that another crate interprets.

use std::sync::Arc;

use rawko_chart::SpannedValue;

use crate::Environment;

/// One top-level key of a settings file with its value.
#[derive(Clone, Debug)]
pub struct Section {
    /// The top-level key, such as `providers`.
    pub key: String,
    /// The file that contains it, as messages name it.
    pub file: Arc<str>,
    /// The value below the key, with spans into the file.
    pub document: SpannedValue,
}

/// Settings that contain sections. Implemented by the host's settings.
pub trait SectionSource {
    /// Returns all sections of that name, the project's before the user's.
    fn sections_of(&self, key: &str) -> Vec<&Section>;

    /// Returns the environment that the settings were read in.
    fn environment_of(&self) -> &Environment;
}
