//! The keys of a map in either spelling (`whenToUse`, `when_to_use`), on top of the settings reader, so that findings
//! have the same wording but the codes of agents.

use super::claude;
use rawko_chart::codes::agents::{ALL, CONFLICTING_KEYS, UNKNOWN_KEY};
use rawko_chart::{DocumentEntry, Finding, SpannedValue, nearest};
pub(super) use rawko_host::SettingsReader as Reader;

/// Keys that describe a file and limit nothing.
const HARMLESS: [&str; 19] = [
    "$schema", "author", "authors", "category", "color", "created", "date", "emoji", "homepage", "icon",
    "id", "keywords", "license", "priority", "tags", "title", "updated", "url", "version",
];

/// The known keys of a map, each once.
pub(super) struct Fields<'d>(Vec<(String, &'d DocumentEntry)>);

impl<'d> Fields<'d> {
    /// Reads the keys. Unknown ones are reported and dropped.
    pub(super) fn read(reader: &mut Reader<'_>, at: &'d SpannedValue, what: &str, keys: &[&str]) -> Self {
        Self::taken(reader, at, what, |key| keys.contains(&key), keys)
    }

    /// Reads the keys of an agent. An unknown one is an error, also in Claude's files: it may be a limit.
    pub(super) fn of_agent(reader: &mut Reader<'_>, at: &'d SpannedValue, keys: &[&str]) -> Self {
        let is_known =
            |key: &str| keys.contains(&key) || claude::KEYS.contains(&key) || HARMLESS.contains(&key);
        Self::taken(reader, at, "an agent", is_known, &[keys, &claude::KEYS].concat())
    }

    fn taken(
        reader: &mut Reader<'_>,
        at: &'d SpannedValue,
        what: &str,
        is_known: impl Fn(&str) -> bool,
        keys: &[&str],
    ) -> Self {
        let mut fields = Self(Vec::new());
        for entry in reader.entries(at, what) {
            let key = camel(&entry.key);
            if let Some(first) = fields.entry(&key) {
                let message = format!("`{}` and `{}` are the same key", entry.key, first.key);
                let finding =
                    CONFLICTING_KEYS.at(entry.key_span, message).related(first.key_span, "first here");
                reader.report(finding.help("keep one of them"));
            } else if is_known(&key) {
                fields.0.push((key, entry));
            } else {
                reader.report(unknown(entry, &key, what, keys));
            }
        }
        fields
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'d DocumentEntry> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, entry)| *entry)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'d SpannedValue> {
        self.entry(key).map(|entry| &entry.value)
    }
}

fn unknown(entry: &DocumentEntry, key: &str, what: &str, keys: &[&str]) -> Finding {
    let help = nearest(key, keys.iter().copied()).map_or_else(
        || {
            format!(
                "the keys here are {}",
                keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
            )
        },
        |near| format!("did you mean `{near}`?"),
    );
    UNKNOWN_KEY.at(entry.key_span, format!("{what} has no key `{}`", entry.key)).help(help)
}

/// Converts `when_to_use` to `whenToUse`.
fn camel(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut is_next_upper = false;
    for character in key.chars() {
        match character {
            '_' if !out.is_empty() => is_next_upper = true,
            other if is_next_upper => {
                out.extend(other.to_uppercase());
                is_next_upper = false;
            }
            other => out.push(other),
        }
    }
    out
}

/// Converts a finding to the codes of agents.
pub(super) fn about_agents(mut finding: Finding) -> Finding {
    let slug = finding.code.strip_prefix("rawko::settings::");
    if let Some(code) = slug.and_then(|slug| ALL.iter().find(|code| code.slug() == slug)) {
        finding.code = code.name;
    }
    finding
}
