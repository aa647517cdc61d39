//! Removes secrets from all output of the process: known values from the environment, and text in the format of a key.
//! This is the last line of defence: callers of services redact their own credentials.

use std::borrow::Cow;

const HIDDEN: &str = "[hidden]";
/// Shorter values are ignored, because they match ordinary text.
const LENGTH_MIN: usize = 8;
/// A variable with one of these words in its name is treated as a secret.
const SECRET_WORDS: [&str; 8] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"];
/// Key prefixes of well-known services.
const KEY_BEGINNINGS: [&str; 12] =
    ["sk-", "sk_", "rk_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza"];
/// Includes the prefix; `sk-learn` is not a key.
const KEY_LENGTH_MIN: usize = 16;

/// Replaces secrets in text. Its `Debug` output reveals no values.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, because one value may be part of another.
    values: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.values.len())
    }
}

impl Redactor {
    /// Collects the variables with a secret name, and those that settings use as secrets.
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
                // A path locates a secret but is not one itself.
                values.push(value.trim().to_owned());
            }
        }
        Self::of_values(values)
    }

    /// Collects secrets from the environment of the process.
    pub fn of_process(settings: &str) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::new(std::env::vars_os().filter_map(text), settings)
    }

    pub fn of_values(values: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for value in values.into_iter().filter(|value| value.len() >= LENGTH_MIN) {
            // JSON output may contain the value in escaped form.
            let escaped = serde_json::to_string(&value).unwrap_or_default();
            let escaped = escaped.trim_matches('"').to_owned();
            if escaped != value {
                all.push(escaped);
            }
            all.push(value);
        }
        all.sort_by_key(|value| std::cmp::Reverse(value.len()));
        all.dedup();
        Self { values: all }
    }

    /// Returns the text with all secrets replaced.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = Cow::Borrowed(text);
        for value in &self.values {
            if shown.contains(value.as_str()) {
                shown = Cow::Owned(shown.replace(value.as_str(), HIDDEN));
            }
        }
        match hide_keys(&shown) {
            Some(hidden) => Cow::Owned(hidden),
            None => shown,
        }
    }
}

/// Returns variables used as `${NAME}` in a line about keys or headers.
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

/// Replaces words in the format of a key or after `Bearer`, and the user and password of a URL. Returns `None` if there
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
        if is_key(word) || (after_bearer && word.len() >= LENGTH_MIN) {
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

/// Returns the end of `//name:password` in a URL, if one starts at `at`.
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
            ("a path is no secret", "/run/user/1000/agent", "/run/user/1000/agent"),
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
