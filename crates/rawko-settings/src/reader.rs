//! Reading values out of a document, each with a complaint of its own when it is not what it should be. Everything is
//! reported; nothing stops at the first problem.

use std::time::Duration;

use rawko_chart::codes::settings::{INVALID_VALUE, UNKNOWN_KEY, WRONG_TYPE};
use rawko_chart::{DocumentData, DocumentEntry, Finding, FindingCode, Span, SpannedValue, nearest};
use rawko_core::duration::parse_ms;

use crate::Environment;
use crate::size::parse_size;

/// Maximum number of findings; further ones are dropped.
const FINDINGS_MAX: usize = 1000;

/// Reads values and reports a finding for each invalid one. Public, so that readers of other sections of a settings file,
/// or of an agent's file, use the same messages.
pub struct SettingsReader<'e> {
    /// Findings in the order in which they were reported, at most 1,000.
    pub findings: Vec<Finding>,
    environment: &'e Environment,
}

impl<'e> SettingsReader<'e> {
    /// Creates a reader without findings.
    pub fn new(environment: &'e Environment) -> Self {
        Self { findings: Vec::new(), environment }
    }

    /// Returns the environment for references such as `${NAME}`; the reader itself does not expand them.
    pub fn environment(&self) -> &Environment {
        self.environment
    }

    /// Adds a finding; drops it once there are 1,000.
    pub fn report(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }

    /// Reports a finding with this code, message and help.
    pub fn say(
        &mut self,
        code: &FindingCode,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(code.at(span, message).help(help));
    }

    /// The entries of a map. Nothing at all is an empty one: a section whose lines are all commented out.
    pub fn entries<'d>(&mut self, at: &'d SpannedValue, what: &str) -> &'d [DocumentEntry] {
        if at.data == DocumentData::Null {
            return &[];
        }
        let entries = at.entries();
        if entries.is_none() {
            self.wrong_type(at, what, "a map");
        }
        entries.unwrap_or_default()
    }

    /// The entries of a map that has only certain keys. Unknown ones are reported and left out.
    pub fn record<'d>(&mut self, at: &'d SpannedValue, what: &str, keys: &[&str]) -> Vec<&'d DocumentEntry> {
        let entries = self.entries(at, what);
        entries.iter().filter(|entry| self.knows(entry, what, keys)).collect()
    }

    fn knows(&mut self, entry: &DocumentEntry, what: &str, keys: &[&str]) -> bool {
        let key = entry.key.as_str();
        let is_known = keys.contains(&key);
        if !is_known {
            let near = nearest(key, keys.iter().copied());
            let help = near.map_or_else(
                || format!("the keys here are {}", quoted(keys)),
                |near| format!("did you mean `{near}`?"),
            );
            self.say(&UNKNOWN_KEY, entry.key_span, format!("{what} has no key `{key}`"), help);
        }
        is_known
    }

    /// Reads a string. Reports anything else, including unquoted numbers, as a wrong type.
    pub fn text<'d>(&mut self, at: &'d SpannedValue, what: &str) -> Option<&'d str> {
        let text = at.text();
        if text.is_none() {
            self.wrong_type(at, what, "text");
        }
        text
    }

    /// Reads text, or an unquoted number or boolean.
    pub fn scalar(&mut self, at: &SpannedValue, what: &str) -> Option<String> {
        match &at.data {
            DocumentData::Str(text) => Some(text.clone()),
            DocumentData::Int(number) => Some(number.to_string()),
            DocumentData::Float(number) => Some(number.to_string()),
            DocumentData::Bool(value) => Some(value.to_string()),
            DocumentData::Null | DocumentData::List(_) | DocumentData::Map(_) => {
                self.wrong_type(at, what, "text");
                None
            }
        }
    }

    /// Reads a model, or a list of models of which later ones are used if earlier ones are unavailable: `a, b`.
    pub fn models(&mut self, at: &SpannedValue, what: &str) -> Option<String> {
        if at.items().is_none() {
            return self.text(at, what).map(str::to_owned);
        }
        let models: Vec<&str> = self.texts(at, what).into_iter().map(|(model, _)| model).collect();
        if models.is_empty() {
            self.invalid(at.span, format!("{what} is empty"), "write at least one model");
            return None;
        }
        Some(models.join(", "))
    }

    /// Reads a list of strings with their spans; null is an empty list. Reports and skips other items.
    pub fn texts<'d>(&mut self, at: &'d SpannedValue, what: &str) -> Vec<(&'d str, Span)> {
        if at.data == DocumentData::Null {
            return Vec::new();
        }
        let items = at.items();
        if items.is_none() {
            self.wrong_type(at, what, "a list");
        }
        let item =
            |item: &'d SpannedValue| Some((self.text(item, &format!("an item of {what}"))?, item.span));
        items.unwrap_or_default().iter().filter_map(item).collect()
    }

    /// Reads `true` or `false`.
    pub fn flag(&mut self, at: &SpannedValue, what: &str) -> Option<bool> {
        let DocumentData::Bool(flag) = at.data else {
            self.wrong_type(at, what, "true or false");
            return None;
        };
        Some(flag)
    }

    /// Reads an integer of at least `least`; reports a smaller one as invalid.
    pub fn whole(&mut self, at: &SpannedValue, what: &str, least: u64) -> Option<u64> {
        let DocumentData::Int(number) = at.data else {
            self.wrong_type(at, what, "a whole number");
            return None;
        };
        let number = u64::try_from(number).ok().filter(|number| *number >= least);
        if number.is_none() {
            self.invalid(at.span, format!("{what} must be at least {least}"), "write a larger number");
        }
        number
    }

    /// Reads a duration such as `30s`, or a number of milliseconds; 0 is invalid.
    pub fn duration(&mut self, at: &SpannedValue, what: &str) -> Option<Duration> {
        let text = self.scalar(at, what)?;
        match parse_ms(&text) {
            Ok(0) => {
                self.invalid(at.span, format!("{what} must be longer than 0"), "write for example `30s`")
            }
            Ok(ms) => return Some(Duration::from_millis(ms)),
            Err(error) => self.invalid(at.span, error.to_string(), format!("{what} is a duration")),
        }
        None
    }

    /// Reads a size such as `500MB` as a number of bytes; 0 is invalid.
    pub fn size(&mut self, at: &SpannedValue, what: &str) -> Option<u64> {
        let text = self.scalar(at, what)?;
        let size = parse_size(&text).filter(|bytes| *bytes > 0);
        if size.is_none() {
            self.invalid(at.span, format!("`{text}` is not a size"), SIZE_HELP);
        }
        size
    }

    /// Reports that `what` must be `expected`, with the actual type of the value.
    pub fn wrong_type(&mut self, at: &SpannedValue, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}");
        self.report(WRONG_TYPE.at(at.span, message).label(format!("found {}", at.kind_words())));
    }

    /// Reports a value of the right type that is not allowed.
    pub fn invalid(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.say(&INVALID_VALUE, span, message, help);
    }
}

/// Help for a value that is not a size.
pub const SIZE_HELP: &str = "write for example `500MB`, `2GiB` or a number of bytes";

/// `` `a`, `b` and `c` ``
pub fn quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}
