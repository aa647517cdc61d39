//! The environment of commands: the environment of this process without secrets and without variables that change how
//! bash works.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::Caller;
use crate::settings::BashSettings;

/// Environment variables. Their values are never printed.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Reads the environment of this process. A value that is not UTF-8 is left out.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
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
    /// Returns the environment of a command: the inherited one without secrets unless settings pass them, plus the
    /// variables that settings set.
    pub(super) fn variables(
        &self,
        caller: &Caller<'_>,
        temporary: &Path,
        is_reading_git: bool,
    ) -> Vec<(String, String)> {
        let passed = self.inherited.0.iter().filter(|(name, _)| self.is_passed(name));
        let mut variables: BTreeMap<String, String> =
            passed.map(|(name, value)| (name.clone(), value.clone())).collect();
        let own = [
            ("TMPDIR", temporary.display().to_string()),
            ("RAWKO_INSTANCE", caller.instance.to_owned()),
            ("RAWKO_IDEMPOTENCY_KEY", caller.idempotency.to_owned()),
            // Commands are not interactive.
            ("PAGER", "cat".to_owned()),
            ("GIT_PAGER", "cat".to_owned()),
            ("GIT_TERMINAL_PROMPT", "0".to_owned()),
        ];
        variables.extend(own.map(|(name, value)| (name.to_owned(), value)));
        if is_reading_git {
            variables.extend(quiet_git());
        }
        variables.extend(self.set.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables.into_iter().collect()
    }

    fn is_passed(&self, name: &str) -> bool {
        let is_named = self.passed.iter().any(|passed| passed == name);
        is_named || !(is_secret(name) || changes_bash(name))
    }
}

/// Settings of git for read-only commands, above those of any repository: nothing that a repository names is run.
fn quiet_git() -> Vec<(String, String)> {
    const SETTINGS: [(&str, &str); 8] = [
        ("core.fsmonitor", "false"),
        ("core.hooksPath", "/dev/null"),
        ("core.pager", "cat"),
        ("core.sshCommand", "false"),
        ("diff.external", ""),
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

/// Returns true if a variable name looks like a secret. Prefers false positives: settings can pass a variable by name.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name.split('_').collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    name.contains("SECRET")
        || name.contains("PASSWORD")
        || name.contains("PASSWD")
        || name.contains("CREDENTIAL")
        || name.ends_with("APIKEY")
        || has(&["TOKEN", "KEY", "PASS", "PAT", "AUTH", "COOKIE", "DSN"])
        || name.ends_with("_URL") && has(&["DATABASE", "REDIS", "MONGO", "AMQP"])
        || name == "SSH_AUTH_SOCK"
}

fn changes_bash(name: &str) -> bool {
    name.starts_with("BASH")
        || ["ENV", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "EXECIGNORE"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn secrets_are_known_by_their_names() {
        for (name, expected) in [
            ("OPENAI_API_KEY", true),
            ("ANTHROPIC_API_KEY", true),
            ("GITHUB_TOKEN", true),
            ("GH_PAT", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("MY_SECRETS", true),
            ("db_password", true),
            ("DATABASE_URL", true),
            ("SSH_AUTH_SOCK", true),
            ("npm_config__authToken", false),
            ("PATH", false),
            ("HOME", false),
            ("KEYBOARD", false),
            ("TOKENIZERS_PARALLELISM", false),
            ("HTTP_PROXY", false),
        ] {
            assert_eq!(is_secret(name), expected, "{name}");
        }
    }
}
