//! The environment of commands: what every program inherits, and what settings give to commands.

use std::collections::BTreeMap;
use std::fmt;

use rawko_settings::TOKEN_VARIABLE;

use super::Caller;
use crate::settings::BashSettings;

/// Environment variables. Their values are never printed.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn all(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Reads the environment of this process. A value that is not UTF-8 is left out.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let name = name.into_string().ok().filter(|name| name != TOKEN_VARIABLE)?;
            Some((name, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Prints names only.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl BashSettings {
    /// Returns the variables that settings and rawko give to a command, besides those that every program inherits.
    pub(super) fn variables(&self, caller: &Caller<'_>) -> Vec<(String, String)> {
        let passed =
            self.passed.iter().filter_map(|name| Some((name.clone(), self.inherited.get(name)?.to_owned())));
        let own = [
            ("RAWKO_INSTANCE", caller.instance),
            ("RAWKO_IDEMPOTENCY_KEY", caller.idempotency),
            // Commands are not interactive.
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        passed.chain(own).chain(self.set.iter().cloned()).collect()
    }
}
