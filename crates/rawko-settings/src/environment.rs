//! The environment as it was when settings were read. A value of its own rather than `std::env`, so that what a
//! service sees is decided in one place, tests need not change the process, and `{:?}` can never show a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Variables by name. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// Returns the environment of this process. Skips names and values that are not UTF-8.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(Arc::new(std::env::vars_os().filter_map(text).collect()))
    }

    /// One without any variable, for texts that are not a project's.
    pub fn none() -> &'static Self {
        static NONE: std::sync::LazyLock<Environment> = std::sync::LazyLock::new(Environment::default);
        &NONE
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns all variables, for the launcher: programs inherit those of its list.
    pub fn all(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns the variables with these names that are set.
    pub fn named<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<(String, String)> {
        let found = |name: &str| Some((name.to_owned(), self.get(name)?.to_owned()));
        names.into_iter().filter_map(found).collect()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(Arc::new(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }
}

/// Names only.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Returns true for a valid variable name.
pub fn is_variable_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
