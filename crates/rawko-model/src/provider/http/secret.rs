//! A key that cannot be printed: no `Display`, no serialisation, and `{:?}` is redacted.

use std::fmt;

use rawko_settings::Redactor;
use reqwest::header::HeaderValue;

/// An API key.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Creates a secret; surrounding whitespace is removed.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().trim().to_owned())
    }

    /// Redacts the secret in a text.
    pub fn hide(&self, text: &str) -> String {
        Redactor::of_values([self.0.clone()]).hide_values(text).into_owned()
    }

    /// Returns `None` if the secret is not a valid header value.
    pub fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}
