//! Adds rules to `permissions.allow` of the user's settings file, for a person who answered a request with "always".
//! The text is edited in place, so that comments and layout stay; the result is parsed again before it is written.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rawko_chart::{DocumentEntry, Span, SpannedValue};

use super::rule::PermissionRule;

/// A rule could not be added to the settings.
#[derive(Debug, thiserror::Error)]
pub enum AlwaysError {
    /// The rule cannot be parsed.
    #[error("`{0}` is not a rule")]
    Rule(String),
    /// The settings file cannot be read.
    #[error("cannot read `{path}`: {why}")]
    Unreadable {
        /// The settings file.
        path: String,
        /// The reason.
        why: String,
    },
    /// The settings file has a layout that cannot be edited.
    #[error("cannot add a rule to `{path}`; add it to `permissions.allow` there: {rule}")]
    Layout {
        /// The settings file.
        path: String,
        /// The rule to add by hand.
        rule: String,
    },
    /// The settings file cannot be written.
    #[error("cannot write `{path}`: {why}")]
    Unwritable {
        /// The settings file.
        path: String,
        /// The reason.
        why: String,
    },
}

/// Adds rules to the file, which is created if it does not exist. Rules that it already contains are left out.
pub fn add_rules(path: &Path, rules: &[String]) -> Result<(), AlwaysError> {
    let shown = path.display().to_string();
    let mut text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(AlwaysError::Unreadable { path: shown, why: error.to_string() }),
    };
    for rule in rules {
        if PermissionRule::parse(rule).is_err() {
            return Err(AlwaysError::Rule(rule.clone()));
        }
        text = with_rule(&text, rule)
            .ok_or_else(|| AlwaysError::Layout { path: shown.clone(), rule: rule.clone() })?;
    }
    write(path, &text).map_err(|error| AlwaysError::Unwritable { path: shown, why: error.to_string() })
}

fn with_rule(text: &str, rule: &str) -> Option<String> {
    let known = allowed(text)?;
    if known.iter().any(|known| known == rule) {
        return Some(text.to_owned());
    }
    let edited = edited(text, &quoted(rule))?;
    let after = allowed(&edited)?;
    // Everything else must stay as it is.
    let is_right = after.len() == known.len() + 1
        && after.iter().any(|known| known == rule)
        && others(text) == others(&edited);
    is_right.then_some(edited)
}

fn is_blank(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn entry<'d>(at: &'d SpannedValue, key: &str) -> Option<&'d DocumentEntry> {
    at.entries()?.iter().find(|entry| entry.key == key)
}

/// Returns the rules of `permissions.allow`; `None` if the file cannot be parsed.
fn allowed(text: &str) -> Option<Vec<String>> {
    if is_blank(text) {
        return Some(Vec::new());
    }
    let document = SpannedValue::read(text).ok()?;
    document.entries()?;
    let list = entry(&document, "permissions").and_then(|section| entry(&section.value, "allow"));
    let items = list.and_then(|list| list.value.items()).unwrap_or_default();
    Some(items.iter().filter_map(SpannedValue::text).map(str::to_owned).collect())
}

/// Returns the document without `permissions.allow`, for comparison.
fn others(text: &str) -> Option<serde_json::Value> {
    if is_blank(text) {
        return Some(serde_json::json!({"permissions": {}}));
    }
    let mut json = SpannedValue::read(text).ok()?.to_json();
    let map = json.as_object_mut()?;
    let section = map.entry("permissions").or_insert_with(|| serde_json::json!({}));
    if section.is_null() {
        *section = serde_json::json!({});
    }
    section.as_object_mut()?.remove("allow");
    Some(json)
}

fn edited(text: &str, rule: &str) -> Option<String> {
    let ended = if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    if is_blank(&ended) {
        return Some(format!("{ended}permissions:\n  allow:\n    - {rule}\n"));
    }
    let document = SpannedValue::read(&ended).ok()?;
    let Some(section) = entry(&document, "permissions") else {
        return Some(format!("{ended}permissions:\n  allow:\n    - {rule}\n"));
    };
    let of = |span: Span| ended.get(span.range()).unwrap_or_default();
    let at_section = of(section.value.span);
    let Some(list) = entry(&section.value, "allow") else {
        if at_section.starts_with('{') {
            let start = section.value.span.range().start + 1;
            let is_empty = section.value.entries().is_none_or(<[DocumentEntry]>::is_empty);
            let comma = if is_empty { "" } else { ", " };
            return Some(format!("{}allow: [{rule}]{comma}{}", &ended[..start], &ended[start..]));
        }
        let Some(first) = section.value.entries().and_then(<[DocumentEntry]>::first) else {
            // `permissions:` without a value.
            let end = section.key_span.range().end;
            let line = ended[end..].find('\n').map_or(ended.len(), |at| end + at);
            return Some(format!("{}\n  allow:\n    - {rule}{}", &ended[..line], &ended[line..]));
        };
        let start = first.key_span.range().start;
        let indent = " ".repeat(column(&ended, start));
        return Some(format!("{}allow:\n{indent}  - {rule}\n{indent}{}", &ended[..start], &ended[start..]));
    };
    let at_list = of(list.value.span);
    let items = list.value.items().unwrap_or_default();
    if at_list.starts_with('[') {
        let open = list.value.span.range().start + 1;
        let comma = if items.is_empty() { "" } else { ", " };
        return Some(format!("{}{rule}{comma}{}", &ended[..open], &ended[open..]));
    }
    match items.first() {
        Some(first) => {
            let start = first.span.range().start;
            let line = ended[..start].rfind('\n').map_or(0, |at| at + 1);
            let lead = &ended[line..start];
            lead.trim().eq("-").then(|| format!("{}{lead}{rule}\n{}", &ended[..line], &ended[line..]))
        }
        None => {
            let end = list.key_span.range().end;
            let indent = " ".repeat(column(&ended, list.key_span.range().start));
            let line = ended[end..].find('\n').map_or(ended.len(), |at| end + at);
            Some(format!("{}\n{indent}  - {rule}{}", &ended[..line], &ended[line..]))
        }
    }
}

fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |line| line + 1)
}

/// Writes a rule as a YAML string that holds any text.
fn quoted(rule: &str) -> String {
    serde_json::to_string(rule).unwrap_or_default()
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    // A link, for instance into a repository of dotfiles, stays one.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".config.yaml.{}", std::process::id()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, &path)
}

#[cfg(test)]
mod tests {
    use super::with_rule;

    #[test]
    fn a_rule_is_added_and_the_rest_of_the_file_stays() {
        let rule = "Bash(git push)";
        let table = [
            ("", "permissions:\n  allow:\n    - \"Bash(git push)\"\n"),
            ("# mine\n", "# mine\npermissions:\n  allow:\n    - \"Bash(git push)\"\n"),
            (
                "store: {size_max: 1GB} # big\n",
                "store: {size_max: 1GB} # big\npermissions:\n  allow:\n    - \"Bash(git push)\"\n",
            ),
            (
                "permissions:\n  # why\n  deny: [Read(./.env)]\n",
                "permissions:\n  # why\n  allow:\n    - \"Bash(git push)\"\n  deny: [Read(./.env)]\n",
            ),
            (
                "permissions:\n  allow:\n    - Read # all\n  deny: []\n",
                "permissions:\n  allow:\n    - \"Bash(git push)\"\n    - Read # all\n  deny: []\n",
            ),
            ("permissions: {allow: [Read]}\n", "permissions: {allow: [\"Bash(git push)\", Read]}\n"),
            ("permissions: {deny: [Read]}\n", "permissions: {allow: [\"Bash(git push)\"], deny: [Read]}\n"),
            ("permissions: {}\n", "permissions: {allow: [\"Bash(git push)\"]}\n"),
            ("permissions:\n  allow: []\n", "permissions:\n  allow: [\"Bash(git push)\"]\n"),
            ("permissions: {allow: [\"Bash(git push)\"]}\n", "permissions: {allow: [\"Bash(git push)\"]}\n"),
        ];
        for (before, after) in table {
            assert_eq!(with_rule(before, rule).as_deref(), Some(after), "{before}");
        }
        assert_eq!(with_rule("a: [", rule), None);
    }
}
