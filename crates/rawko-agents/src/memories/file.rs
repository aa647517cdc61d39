//! One memory as a file: frontmatter with metadata, and a plain text body. A person's text is kept unchanged, and
//! unusable parts are reported rather than ignored.

use rawko_chart::{DocumentData, SpannedValue};
use serde::Serialize;

const MARK: &str = "---";
const KEYS: [&str; 5] = ["title", "tags", "agents", "created", "uses"];

/// A lesson for later work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The file name without its extension.
    pub name: String,
    /// Title in one line.
    pub title: String,
    /// Words that a task is matched by, with double weight.
    pub tags: Vec<String>,
    /// The agents it is for; empty means all.
    pub agents: Vec<String>,
    /// An ISO date or timestamp.
    pub created: Option<String>,
    /// Number of times it was given to an agent.
    pub uses: u64,
    /// The lesson, as written.
    pub body: String,
}

/// A file, or a part of it, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct MemoryProblem {
    /// Path of the file.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Problem in one sentence.
    pub message: String,
}

/// Parses a memory and collects all its problems. Without frontmatter the text is the body and its first line the
/// title; only a text without any words is rejected.
pub fn parse_memory(name: &str, text: &str) -> (Option<Memory>, Vec<MemoryProblem>) {
    let mut reader = MemoryReader { file: format!("{name}.md"), problems: Vec::new() };
    let text = text.trim_start_matches('\u{feff}');
    let Some((yaml, body)) = split(text) else {
        if text.lines().next().is_some_and(|line| line.trim_end() == MARK) {
            reader.complain(1, "the frontmatter that begins here is not closed");
        }
        return reader.memory(name, Memory { body: text.trim().to_owned(), ..Memory::default() });
    };
    let head = reader.head(yaml);
    reader.memory(name, Memory { body: body.trim().to_owned(), ..head })
}

/// Returns the YAML between the markers, and the rest.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == MARK)?;
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == MARK {
            return Some((&text[first.len()..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

struct MemoryReader {
    file: String,
    problems: Vec<MemoryProblem>,
}

impl MemoryReader {
    fn head(&mut self, yaml: &str) -> Memory {
        let document = match SpannedValue::read(yaml) {
            Ok(document) => document,
            Err(findings) => {
                for finding in findings {
                    self.complain(line_of(yaml, finding.span.start), &finding.message);
                }
                return Memory::default();
            }
        };
        let entries = document.entries().unwrap_or_default();
        for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            let message = format!("a memory has no key `{}`; it has {}", entry.key, KEYS.join(", "));
            self.complain(line_of(yaml, entry.key_span.start), &message);
        }
        Memory {
            title: self.text(yaml, &document, "title").unwrap_or_default(),
            tags: self.texts(yaml, &document, "tags"),
            agents: self.texts(yaml, &document, "agents"),
            created: self.text(yaml, &document, "created"),
            uses: self.count(yaml, &document),
            ..Memory::default()
        }
    }

    fn text(&mut self, yaml: &str, document: &SpannedValue, key: &str) -> Option<String> {
        let found = document.get(key)?;
        if found.text().is_none() {
            let message = format!("`{key}` must be text, not {}", found.kind_words());
            self.complain(line_of(yaml, found.span.start), &message);
        }
        found.text().map(str::to_owned)
    }

    /// Reads one word or a list.
    fn texts(&mut self, yaml: &str, document: &SpannedValue, key: &str) -> Vec<String> {
        let Some(found) = document.get(key) else { return Vec::new() };
        if let Some(one) = found.text() {
            return vec![one.to_owned()];
        }
        let items = found.items().unwrap_or_default();
        if found.items().is_none() || items.iter().any(|item| item.text().is_none()) {
            self.complain(line_of(yaml, found.span.start), &format!("`{key}` must be a list of words"));
        }
        items.iter().filter_map(SpannedValue::text).map(str::to_owned).collect()
    }

    fn count(&mut self, yaml: &str, document: &SpannedValue) -> u64 {
        let Some(found) = document.get("uses") else { return 0 };
        let count =
            if let DocumentData::Int(count) = &found.data { u64::try_from(*count).ok() } else { None };
        if count.is_none() {
            self.complain(line_of(yaml, found.span.start), "`uses` must be a whole number of at least 0");
        }
        count.unwrap_or(0)
    }

    fn memory(mut self, name: &str, memory: Memory) -> (Option<Memory>, Vec<MemoryProblem>) {
        if memory.title.trim().is_empty() && memory.body.is_empty() {
            self.complain(1, "this memory has no text");
            return (None, self.problems);
        }
        let first = memory.body.lines().next().unwrap_or_default();
        let title =
            if memory.title.trim().is_empty() { first.trim_start_matches('#').trim() } else { &memory.title };
        (Some(Memory { name: name.to_owned(), title: title.to_owned(), ..memory }), self.problems)
    }

    fn complain(&mut self, line: usize, message: &str) {
        self.problems.push(MemoryProblem { file: self.file.clone(), line, message: message.to_owned() });
    }
}

/// Returns the line in the file; the opening marker precedes the YAML.
fn line_of(yaml: &str, at: u32) -> usize {
    let before = yaml.get(..at as usize).unwrap_or(yaml);
    before.bytes().filter(|byte| *byte == b'\n').count() + 2
}

/// Renders the memory as a file. Strings are quoted as JSON, which is valid YAML.
pub fn render_memory(memory: &Memory) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let list = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    let mut text = format!("{MARK}\ntitle: {}\n", quoted(&memory.title));
    text += &format!("tags: [{}]\nagents: [{}]\n", list(&memory.tags), list(&memory.agents));
    if let Some(created) = &memory.created {
        text += &format!("created: {}\n", quoted(created));
    }
    text + &format!("uses: {}\n{MARK}\n\n{}\n", memory.uses, memory.body.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        parse_memory("m", text).1.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_memory_is_read_as_it_is_written() {
        let memory = Memory {
            name: "m".into(),
            title: "Tests: \"run\" with pytest -q".into(),
            tags: vec!["tests".into(), "no: yes".into()],
            agents: vec!["tester".into()],
            created: Some("2026-03-01".into()),
            uses: 3,
            body: "Use `pytest -q`.\n\n---\n\nNot `unittest`.".into(),
        };
        assert_eq!(parse_memory("m", &render_memory(&memory)), (Some(memory), vec![]));
    }

    #[test]
    fn what_a_person_writes_is_read() {
        let table = [
            ("only words", "# Use spaces\n\nNever tabs.", "Use spaces", "# Use spaces\n\nNever tabs."),
            ("a title only", "---\ntitle: Use spaces\n---\n", "Use spaces", ""),
            ("no title", "---\ntags: style\n---\nUse spaces.", "Use spaces.", "Use spaces."),
            ("windows", "\u{feff}---\r\ntitle: Use spaces\r\n---\r\nBody.", "Use spaces", "Body."),
        ];
        for (name, text, title, body) in table {
            let (memory, problems) = parse_memory("m", text);
            let memory = memory.unwrap();
            assert_eq!((memory.title.as_str(), memory.body.as_str()), (title, body), "{name}");
            assert!(problems.is_empty(), "{name}: {problems:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let table: [(&str, &[&str]); 6] = [
            ("", &["m.md:1: this memory has no text"]),
            ("---\ntitle: x\n", &["m.md:1: the frontmatter that begins here is not closed"]),
            ("---\ntitle: [x]\n---\nBody", &["m.md:2: `title` must be text, not a list"]),
            (
                "---\ntitle: x\ntag: y\n---\n",
                &["m.md:3: a memory has no key `tag`; it has title, tags, agents, created, uses"],
            ),
            (
                "---\ntags: 5\nuses: -1\n---\nBody",
                &[
                    "m.md:2: `tags` must be a list of words",
                    "m.md:3: `uses` must be a whole number of at least 0",
                ],
            ),
            ("---\nagents: [a, 1]\n---\nBody", &["m.md:2: `agents` must be a list of words"]),
        ];
        for (text, expected) in table {
            assert_eq!(problems(text), expected, "{text:?}");
        }
    }
}
