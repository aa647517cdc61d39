//! Values that an MCP server was given from the environment; they are removed from its messages.

use rawko_settings::{Environment, Redactor};

/// The secrets of one server. `{:?}` shows how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpSecrets(Redactor);

impl McpSecrets {
    /// Adds the value of a variable that the server's definition uses.
    pub(super) fn add(&mut self, name: &str, environment: &Environment) {
        self.0.hide_variable(name, environment);
    }

    #[cfg(feature = "mcp")]
    pub(super) fn hide(&self, text: String) -> String {
        match self.0.hide_values(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(hidden) => hidden,
        }
    }
}
