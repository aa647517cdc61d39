//! `Redactor`: removes secrets from text that leaves the process. The one place for it, so that errors of services,
//! models and MCP servers, traces and logs all hide the same values in the same way.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use crate::Environment;

const HIDDEN: &str = "[hidden]";
/// Shorter values are not searched for: they occur everywhere.
const LENGTH_MIN: usize = 4;
/// Values of secret variables that carry no secret.
const PLAIN_VALUES: [&str; 8] = ["true", "false", "none", "null", "auto", "basic", "bearer", "default"];
/// Variables that anyone may see, also where settings use them.
const PLAIN_VARIABLES: [&str; 9] =
    ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];
/// A variable with one of these in its name holds a secret.
const SECRET_WORDS: [&str; 8] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"];
/// The first characters of keys of well-known services.
const KEY_BEGINNINGS: [&str; 12] =
    ["sk-", "sk_", "rk_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza"];
/// Including its first characters; `sk-learn` is not a key.
const KEY_LENGTH_MIN: usize = 16;
/// The length of a word after `Bearer` that is a credential.
const BEARER_LENGTH_MIN: usize = 8;

/// A shorter RAWKO_TOKEN may be a word that occurs in ordinary output.
const CREDENTIAL_LENGTH_MIN: usize = 16;

/// The operator credential, which every redactor hides.
static CREDENTIALS: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Values that must not be shown. `{:?}` shows only how many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    /// Each value with its replacement, longest value first: one may be part of another.
    values: Vec<(String, String)>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.values.len())
    }
}

impl Redactor {
    /// Hides the variables whose names mark them as secret, and those that settings use as secrets.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>, settings: &str) -> Self {
        let named = used_as_secrets(settings);
        let is_secret = |name: &str| {
            let upper = name.to_ascii_uppercase();
            SECRET_WORDS.iter().any(|word| upper.contains(word)) || named.contains(&name)
        };
        let mut values = Vec::new();
        for (name, value) in variables {
            if name.starts_with("OTEL_EXPORTER_OTLP") && name.ends_with("HEADERS") {
                let headers = value.split(',').filter_map(|header| header.split_once('='));
                values.extend(headers.map(|(_, value)| value.trim().to_owned()));
            } else if is_secret(&name) && !value.starts_with('/') {
                // A path leads to a secret and is not one.
                values.push(value.trim().to_owned());
            }
        }
        Self::of_values(values)
    }

    /// The same with the environment of this process.
    pub fn of_process(settings: &str) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::new(std::env::vars_os().filter_map(text), settings)
    }

    /// Hides these values. Skips values shorter than 4 bytes and common words such as `true` or `default`.
    pub fn of_values(values: impl IntoIterator<Item = String>) -> Self {
        let mut redactor = Self::default();
        for value in values {
            redactor.add(value, HIDDEN.to_owned());
        }
        redactor
    }

    /// Hides the values of these variables, each shown as `${NAME}`.
    pub fn of_variables<'n>(names: impl IntoIterator<Item = &'n str>, environment: &Environment) -> Self {
        let mut redactor = Self::default();
        for name in names {
            redactor.add_variable(name, environment, format!("${{{name}}}"));
        }
        redactor
    }

    /// Hides a credential of this process in every text of every redactor.
    pub fn hide_everywhere(credential: &str) {
        let mut known = CREDENTIALS.write().unwrap_or_else(PoisonError::into_inner);
        if credential.len() >= CREDENTIAL_LENGTH_MIN && !known.iter().any(|it| it == credential) {
            known.push(credential.to_owned());
        }
    }

    /// Returns the text without the credentials of this process.
    pub fn hide_credentials(text: &str) -> Cow<'_, str> {
        let mut shown = Cow::Borrowed(text);
        for credential in CREDENTIALS.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if shown.contains(credential.as_str()) {
                shown = Cow::Owned(shown.replace(credential.as_str(), HIDDEN));
            }
        }
        shown
    }

    /// Hides the value of one more variable.
    pub fn hide_variable(&mut self, name: &str, environment: &Environment) {
        self.add_variable(name, environment, HIDDEN.to_owned());
    }

    fn add_variable(&mut self, name: &str, environment: &Environment, shown: String) {
        if let Some(value) = environment.get(name).filter(|_| !PLAIN_VARIABLES.contains(&name)) {
            self.add(value.to_owned(), shown);
        }
    }

    fn add(&mut self, value: String, shown: String) {
        let is_plain = PLAIN_VALUES.iter().any(|plain| value.eq_ignore_ascii_case(plain));
        if value.len() < LENGTH_MIN || is_plain || self.values.iter().any(|(known, _)| *known == value) {
            return;
        }
        // A line of JSON contains it escaped.
        let escaped = serde_json::to_string(&value).unwrap_or_default();
        let escaped = escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default().to_owned();
        if escaped != value && !escaped.is_empty() {
            self.values.push((escaped, shown.clone()));
        }
        self.values.push((value, shown));
        self.values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    }

    /// Returns the text without the known values.
    pub fn hide_values<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = Cow::Borrowed(text);
        for (value, replacement) in &self.values {
            if shown.contains(value.as_str()) {
                shown = Cow::Owned(shown.replace(value.as_str(), replacement));
            }
        }
        match Self::hide_credentials(&shown) {
            Cow::Owned(hidden) => Cow::Owned(hidden),
            Cow::Borrowed(_) => shown,
        }
    }

    /// Returns the text without the known values and without words that look like a key.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let shown = self.hide_values(text);
        match hide_keys(&shown) {
            Some(hidden) => Cow::Owned(hidden),
            None => shown,
        }
    }
}

/// Variables that stand as `${NAME}` in a line about keys or headers.
fn used_as_secrets(settings: &str) -> Vec<&str> {
    let is_about_secrets = |line: &&str| {
        let upper = line.to_ascii_uppercase();
        upper.contains("HEADER") || SECRET_WORDS.iter().any(|word| upper.contains(word))
    };
    settings.lines().filter(is_about_secrets).flat_map(variables_in).collect()
}

fn variables_in(line: &str) -> impl Iterator<Item = &str> {
    line.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

/// Words that have the shape of a key or stand after `Bearer`, and the name and password in an address. `None`: there
/// are none.
fn hide_keys(text: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.=+/~".contains(&byte);
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied, mut after_bearer) = (0, 0, false);
    while at < bytes.len() {
        if !is_part(bytes[at]) {
            after_bearer &= bytes[at] == b' ';
            at += 1;
            continue;
        }
        let end = (at..bytes.len()).find(|end| !is_part(bytes[*end])).unwrap_or(bytes.len());
        let word = &text[at..end];
        if let Some(to) = credentials_end(text, at) {
            out.push_str(&text[copied..at]);
            out.push_str("//");
            out.push_str(HIDDEN);
            (copied, at) = (to, to);
            continue;
        }
        if is_key(word) || (after_bearer && word.len() >= BEARER_LENGTH_MIN) {
            out.push_str(&text[copied..at]);
            out.push_str(HIDDEN);
            copied = end;
        }
        after_bearer = word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic");
        at = end;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

fn is_key(word: &str) -> bool {
    word.len() >= KEY_LENGTH_MIN && KEY_BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
}

/// Returns the end of the `//name:password` of an address that starts at `at`.
fn credentials_end(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix("//")?;
    let authority = rest.split(['/', ' ', '"', '?', '#']).next().unwrap_or(rest);
    let name = authority.rfind('@')?;
    Some(at + 2 + name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let variables = [
            ("ANTHROPIC_API_KEY", "planted-key-0123456789"),
            ("CARD_PIN", "pin-of-the-card-77"),
            ("REGION", "europe-west-1"),
            ("SSH_AUTH_SOCK", "/run/user/1000/agent"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=planted header,x-team=research-team"),
            ("ODD_SECRET", "with \"quotes\" in it"),
            ("SHORT_KEY", "abc"),
        ];
        let settings = "services:\n  pay: {http: {headers: {X-Pin: \"${CARD_PIN}\"}}}\n  ship: {env: {R: \"${REGION}\"}}\n";
        Redactor::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())), settings)
    }

    #[test]
    fn secrets_are_taken_out_and_nothing_else() {
        let table = [
            ("a key of the environment", "401 for planted-key-0123456789!", "401 for [hidden]!"),
            ("a variable that a header uses", "pin pin-of-the-card-77", "pin [hidden]"),
            ("a variable that is no secret", "in europe-west-1", "in europe-west-1"),
            ("a path is not a secret", "/run/user/1000/agent", "/run/user/1000/agent"),
            ("a header of the exporter", "got `planted header`", "got `[hidden]`"),
            ("as JSON has it", r#"{"m":"with \"quotes\" in it"}"#, r#"{"m":"[hidden]"}"#),
            ("too short to look for", "abc", "abc"),
            ("after Bearer", "Authorization: Bearer abcdefgh.ijkl-mn", "Authorization: Bearer [hidden]"),
            ("the shape of a key", "key sk-ant-api03-AbCdEfGh, next", "key [hidden], next"),
            ("no key, but begins like one", "uses sk-learn", "uses sk-learn"),
            ("in an address", "to https://ada:love@host.test/x", "to https://[hidden]@host.test/x"),
            ("an address without", "to https://host.test/x?at=a@b", "to https://host.test/x?at=a@b"),
            ("nothing", "plan_build/implement#2 ✓", "plan_build/implement#2 ✓"),
        ];
        for (name, text, shown) in table {
            assert_eq!(redactor().hide(text), shown, "{name}");
        }
    }

    #[test]
    fn it_does_not_show_what_it_knows() {
        assert!(!format!("{:?}", redactor()).contains("planted"));
    }
}
