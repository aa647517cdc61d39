//! The environment as it was when settings were read. A value of its own rather than `std::env`, so that what a
//! service sees is decided in one place, tests need not change the process, and `{:?}` can never show a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What programs that stay for a while see without being given it: where things are and how people write, never a key.
const ORDINARY: [&str; 9] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];

/// Variables by name. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// What this process was started with. A value that is not UTF-8 is left out.
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

    /// The variables that a program may see although nobody gave them to it.
    pub fn ordinary(&self) -> impl Iterator<Item = (&str, &str)> {
        ORDINARY.into_iter().filter_map(|name| Some((name, self.get(name)?)))
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

/// Whether something can be the name of a variable.
pub fn is_variable_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
