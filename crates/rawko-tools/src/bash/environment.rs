//! The environment of commands: what every program inherits, and what settings give to commands.

use std::collections::BTreeMap;
use std::fmt;

use rawko_settings::TOKEN_VARIABLE;

use super::CommandCaller;
use crate::settings::BashSettings;

/// Environment variables. Their values are never printed.
#[derive(Clone, Default)]
pub struct CommandVariables(BTreeMap<String, String>);

impl CommandVariables {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
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

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for CommandVariables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Prints names only.
impl fmt::Debug for CommandVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl BashSettings {
    /// Returns the variables that settings and rawko give to a command, besides those that every program inherits.
    pub(super) fn variables(
        &self,
        caller: &CommandCaller<'_>,
        is_reading_git: bool,
    ) -> Vec<(String, String)> {
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
        let git = if is_reading_git { quiet_git() } else { Vec::new() };
        passed.chain(own).chain(git).chain(self.set.iter().cloned()).collect()
    }
}

/// Settings of git for read-only commands, above those of any repository: nothing that a repository names is run.
fn quiet_git() -> Vec<(String, String)> {
    const SETTINGS: [(&str, &str); 7] = [
        ("core.fsmonitor", "false"),
        ("core.hooksPath", "/dev/null"),
        ("core.pager", "cat"),
        ("core.sshCommand", "false"),
        ("credential.helper", ""),
        ("protocol.allow", "never"),
        ("safe.bareRepository", "explicit"),
    ];
    let mut variables = vec![
        ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
        ("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned()),
        ("GIT_NO_LAZY_FETCH".to_owned(), "1".to_owned()),
    ];
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()));
    }
    variables
}
