//! The secrets that a call used, so that they can be removed from its output. A failing service often repeats its
//! input: its stderr and its response go into the journal, a token must not.

use rawko_core::Value;

use super::{ServiceError, template::Template};
use rawko_settings::Environment;

/// Shorter values are not hidden: `1` or `eu` is hardly a secret and occurs everywhere.
const LENGTH_MIN: usize = 4;

/// Values from the environment, each with its variable name.
pub(crate) struct Secrets(Vec<(String, String)>);

impl Secrets {
    pub(crate) fn of<'n>(names: impl IntoIterator<Item = &'n str>, environment: &Environment) -> Self {
        let secret = |name: &str| Some((environment.get(name)?.to_owned(), format!("${{{name}}}")));
        let mut all: Vec<_> = names.into_iter().filter_map(secret).collect();
        all.retain(|(value, _)| value.len() >= LENGTH_MIN);
        // Longest first, because one may be part of another.
        all.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Self(all)
    }

    pub(crate) fn of_templates<'t>(
        templates: impl IntoIterator<Item = &'t Template>,
        environment: &Environment,
    ) -> Self {
        Self::of(templates.into_iter().flat_map(Template::variables), environment)
    }

    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (value, shown)| text.replace(value, shown))
    }

    pub(crate) fn hide_in(&self, mut error: ServiceError) -> ServiceError {
        error.message = self.hide(&error.message);
        error.details = self.hide_in_value(&error.details);
        error
    }

    /// Recursion is bounded by the depth limit of the JSON reader.
    fn hide_in_value(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => value.clone(),
            Value::Str(text) => Value::from(self.hide(text)),
            Value::List(items) => Value::list(items.iter().map(|item| self.hide_in_value(item)).collect()),
            Value::Map(map) => {
                Value::map(map.iter().map(|(key, value)| (self.hide(key), self.hide_in_value(value))))
            }
        }
    }
}
