//! The section `permissions` of a settings file, and the key of the same name in an agent's file.

use rawko_chart::{DocumentEntry, SpannedValue};
use rawko_settings::SettingsReader;

use super::rule::PermissionRule;
use super::{AskMode, Party, PermissionEffect, Permissions};

const KEYS: [&str; 7] = ["allow", "ask", "deny", "default", "ask_after_untrusted", "ask_expires", "mode"];
const AGENT_KEYS: [&str; 5] = ["allow", "ask", "deny", "default", "ask_after_untrusted"];

/// Reads a section. An invalid rule is reported, and makes every call of this set ask until it is fixed.
pub fn read_section(
    reader: &mut SettingsReader<'_>,
    at: &SpannedValue,
    party: Party,
    file: &str,
) -> Permissions {
    read(reader, at, &KEYS, Permissions { party, file: file.to_owned(), ..Permissions::default() })
}

/// Reads the rules of an agent's file.
pub fn read_agent(reader: &mut SettingsReader<'_>, at: &SpannedValue, file: &str) -> Permissions {
    let own = Permissions { party: Party::Agent, file: file.to_owned(), ..Permissions::default() };
    read(reader, at, &AGENT_KEYS, own)
}

fn read(
    reader: &mut SettingsReader<'_>,
    at: &SpannedValue,
    keys: &[&str],
    mut own: Permissions,
) -> Permissions {
    let before = reader.findings.len();
    for entry in reader.record(at, "`permissions`", keys) {
        let what = format!("`{}` of `permissions`", entry.key);
        match entry.key.as_str() {
            "allow" => own.allow = rules(reader, entry, &what),
            "ask" => own.ask = rules(reader, entry, &what),
            "deny" => own.deny = rules(reader, entry, &what),
            "ask_after_untrusted" => own.ask_after_untrusted = rules(reader, entry, &what),
            "default" => own.default = default(reader, &entry.value, &what),
            "ask_expires" => {
                let time = reader.duration(&entry.value, &what);
                own.expires_ms = time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            }
            _ => own.mode = mode(reader, &entry.value, &what),
        }
    }
    own.is_broken = reader.findings.len() > before;
    own
}

fn rules(reader: &mut SettingsReader<'_>, entry: &DocumentEntry, what: &str) -> Vec<String> {
    let mut rules = Vec::new();
    for (text, span) in reader.texts(&entry.value, what) {
        let parsed = match entry.key == "allow" {
            true => PermissionRule::parse(text),
            false => PermissionRule::parse_restricting(text),
        };
        match parsed {
            Ok(_) => rules.push(text.trim().to_owned()),
            Err(problem) => reader.invalid(span, problem.message, problem.help),
        }
    }
    rules
}

fn default(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Option<PermissionEffect> {
    match reader.text(at, what)? {
        "allow" => Some(PermissionEffect::Allow),
        "ask" => Some(PermissionEffect::Ask),
        "deny" => Some(PermissionEffect::Deny),
        other => {
            reader.invalid(at.span, format!("{what} cannot be `{other}`"), "write `allow`, `ask` or `deny`");
            None
        }
    }
}

fn mode(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Option<AskMode> {
    let name = reader.text(at, what)?;
    let mode = AskMode::named(name);
    if mode.is_none() {
        reader.invalid(at.span, format!("{what} cannot be `{name}`"), "write `wait` or `deny`");
    }
    mode
}
