//! Invalid YAML frontmatter that Claude accepts: `description: Use this when: …`, over several lines, with colons and
//! tags. Only for Claude's files; ours must be valid YAML.

use rawko_chart::{DocumentData, DocumentEntry, Span, SpannedValue};

/// Any other text at the start of a line continues the previous value.
const KEYS: [&str; 16] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "color",
    "permissionMode",
    "skills",
    "hooks",
    "mcpServers",
    "memory",
    "background",
    "maxTurns",
    "isolation",
    "effort",
    "initialPrompt",
];
/// Parts of keys that limit an agent. A line that begins with such a key is one, in any spelling, so that it is
/// never taken for a description.
const LIMITS: [&str; 14] = [
    "permission",
    "turns",
    "tools",
    "allow",
    "deny",
    "limit",
    "isolation",
    "sandbox",
    "hooks",
    "mcp",
    "budget",
    "timeout",
    "readonly",
    "skills",
];

/// Parses the keys with their values as text. `None` if that fails too.
pub(super) fn read(yaml: &str) -> Option<SpannedValue> {
    let mut entries: Vec<DocumentEntry> = Vec::new();
    let mut at = 0;
    for line in yaml.split_inclusive('\n') {
        // Only the first occurrence is the key; later ones may be part of an example in a description.
        let key = key_of(line);
        let is_known = |key: &str| entries.iter().any(|entry| entry.key == key);
        // Of two limits with one name, neither may be dropped.
        if key.is_some_and(|key| is_known(key) && is_limit(key)) {
            return None;
        }
        match key.filter(|key| !is_known(key)) {
            Some(key) => entries.push(entry(key, line, at)),
            None if line.trim().is_empty() => {}
            None => go_on(entries.last_mut()?, line, at),
        }
        at += line.len();
    }
    entries.iter_mut().for_each(|entry| as_list(&mut entry.value));
    (!entries.is_empty())
        .then(|| SpannedValue { span: Span::new(0, yaml.len()), data: DocumentData::Map(entries) })
}

fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let is_ended = rest.is_empty() || rest.starts_with(char::is_whitespace);
    ((KEYS.contains(&key) || is_limit(key)) && is_ended).then_some(key)
}

fn is_limit(key: &str) -> bool {
    let is_word = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let folded = key.to_lowercase().replace(['_', '-'], "");
    is_word && LIMITS.iter().any(|part| folded.contains(part))
}

fn entry(key: &str, line: &str, at: usize) -> DocumentEntry {
    let value = line[key.len() + 1..].trim();
    let start = at + line.len() - line[key.len() + 1..].trim_start().len();
    let data = DocumentData::Str(unquoted(value).to_owned());
    DocumentEntry {
        key: key.to_owned(),
        key_span: Span::new(at, at + key.len()),
        value: SpannedValue { span: Span::new(start, start + value.len()), data },
    }
}

fn go_on(entry: &mut DocumentEntry, line: &str, at: usize) {
    if let DocumentData::Str(text) = &mut entry.value.data {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line.trim());
        entry.value.span = Span::new(entry.value.span.start as usize, at + line.trim_end().len());
    }
}

/// Converts lines that all begin with a dash to a list.
fn as_list(value: &mut SpannedValue) {
    let DocumentData::Str(text) = &value.data else { return };
    let items: Option<Vec<&str>> = text.lines().map(|line| line.strip_prefix("- ")).collect();
    if let Some(items) = items.filter(|items| !items.is_empty()) {
        let item = |text: &str| SpannedValue {
            span: value.span,
            data: DocumentData::Str(unquoted(text.trim()).to_owned()),
        };
        value.data = DocumentData::List(items.into_iter().map(item).collect());
    }
}

fn unquoted(text: &str) -> &str {
    let inside = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}
