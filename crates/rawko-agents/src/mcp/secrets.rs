//! Values that were filled in from the environment and must not be shown: they are taken out of what servers say.

use std::fmt;

use rawko_host::Environment;

/// Shorter values are no secrets, and would be found everywhere.
const BYTES_MIN: usize = 6;
/// Variables that everybody may see.
const PLAIN: [&str; 9] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];

/// Of one server. `{:?}` shows how many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct McpSecrets(Vec<String>);

impl McpSecrets {
    /// The value of a variable that was used.
    pub(super) fn add(&mut self, name: &str, environment: &Environment) {
        let value = environment.get(name).filter(|value| value.len() >= BYTES_MIN && !PLAIN.contains(&name));
        self.0.extend(value.filter(|value| !self.0.iter().any(|known| known == value)).map(str::to_owned));
        // Of two of which one is part of the other, the longer is taken out first.
        self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    #[cfg(feature = "mcp")]
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
