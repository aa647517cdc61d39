//! The environment as it was when settings were read. A value of its own rather than `std::env`, so that what a
//! service sees is decided in one place, tests need not change the process, and `{:?}` can never show a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The operator's token. Only the authority of the binary reads it: no setting, chart or program can refer to it.
pub const TOKEN_VARIABLE: &str = "RAWKO_TOKEN";

/// Variables by name. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// Returns the environment of this process, without the operator's token. Skips names and values that are not UTF-8.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let name = name.into_string().ok().filter(|name| name != TOKEN_VARIABLE)?;
            Some((name, value.into_string().ok()?))
        };
        Self(Arc::new(std::env::vars_os().filter_map(text).collect()))
    }

    /// One without any variable, for texts that are not a project's.
    pub fn none() -> &'static Self {
        static NONE: std::sync::LazyLock<Environment> = std::sync::LazyLock::new(Environment::default);
        &NONE
    }

    /// Returns the value of a variable; `None` if it was not set, or was not UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns true for the variable of the operator's token, which no environment holds.
    pub fn is_operators(name: &str) -> bool {
        name == TOKEN_VARIABLE
    }

    /// Returns true for a variable that every program inherits, so that it holds no secret.
    pub fn is_ordinary(name: &str) -> bool {
        rawko_process::is_inherited(name) || matches!(name, "HOME" | "TMPDIR")
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
