//! Frontmatter that is no YAML but that Claude reads all the same: `description: Use this when: …`, over several
//! lines, with colons and tags. Only for Claude's files; ours are YAML or a complaint.

use rawko_chart::{Document, DocumentData, DocumentEntry, Span};

/// Anything else at the start of a line goes on with the value before.
const KEYS: [&str; 14] = [
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
];

/// The keys and what stands behind them, as text. `None` when that does not work either.
pub(super) fn read(yaml: &str) -> Option<Document> {
    let mut entries: Vec<DocumentEntry> = Vec::new();
    let mut at = 0;
    for line in yaml.split_inclusive('\n') {
        match key_of(line) {
            Some(key) => entries.push(entry(key, line, at)),
            None if line.trim().is_empty() => {}
            None => go_on(entries.last_mut()?, line, at),
        }
        at += line.len();
    }
    (!entries.is_empty())
        .then(|| Document { span: Span::new(0, yaml.len()), data: DocumentData::Map(entries) })
}

fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    (KEYS.contains(&key) && rest.starts_with(char::is_whitespace)).then_some(key)
}

fn entry(key: &str, line: &str, at: usize) -> DocumentEntry {
    let value = line[key.len() + 1..].trim();
    let start = at + line.len() - line[key.len() + 1..].trim_start().len();
    let data = DocumentData::Str(unquoted(value).to_owned());
    DocumentEntry {
        key: key.to_owned(),
        key_span: Span::new(at, at + key.len()),
        value: Document { span: Span::new(start, start + value.len()), data },
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

fn unquoted(text: &str) -> &str {
    let inside = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}
