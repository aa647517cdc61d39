//! Secrets that a call used, removed from its result and its errors. A service that fails often repeats its input: its
//! stderr and its response go into the journal, a token must not.

use rawko_core::Value;

use super::{ServiceError, template::TextTemplate};
use rawko_settings::{Environment, Redactor};

/// Values of the environment, each shown by the name of its variable.
pub(crate) struct Secrets(Redactor);

impl Secrets {
    pub(crate) fn of<'n>(names: impl IntoIterator<Item = &'n str>, environment: &Environment) -> Self {
        Self(Redactor::of_variables(names, environment))
    }

    pub(crate) fn of_templates<'t>(
        templates: impl IntoIterator<Item = &'t TextTemplate>,
        environment: &Environment,
    ) -> Self {
        Self::of(templates.into_iter().flat_map(TextTemplate::variables), environment)
    }

    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.hide_values(text).into_owned()
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
