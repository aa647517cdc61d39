//! Values expanded from the environment that must not be shown: they are redacted in the output of servers.

use std::fmt;

use rawko_settings::Environment;

/// Shorter values are not secrets, and would match unrelated text.
const BYTES_MIN: usize = 6;
/// Variables without secrets.
const PLAIN: [&str; 9] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];

/// The secrets of one server. `{:?}` shows their number.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct McpSecrets(Vec<String>);

impl McpSecrets {
    /// Adds the value of a used variable.
    pub(super) fn add(&mut self, name: &str, environment: &Environment) {
        let value = environment.get(name).filter(|value| value.len() >= BYTES_MIN && !PLAIN.contains(&name));
        self.0.extend(value.filter(|value| !self.0.iter().any(|known| known == value)).map(str::to_owned));
        // If one contains the other, the longer is redacted first.
        self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    pub(super) fn hide(&self, text: String) -> String {
        self.0.iter().fold(
            text,
            |text, secret| {
                if text.contains(secret) { text.replace(secret, "[hidden]") } else { text }
            },
        )
    }
}

impl fmt::Debug for McpSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hidden", self.0.len())
    }
}
