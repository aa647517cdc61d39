//! JSON texts and the line of every value in them. The JSON parser keeps no locations, and a note without a line is hard
//! to follow.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::ImportError;

/// Parses a JSON text; returns it without a byte order mark.
pub(crate) fn parsed(text: &str) -> Result<(&str, Json), ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    let json = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    Ok((text, json))
}

/// Returns the parser's message without its location, which is printed in front.
fn malformed(error: &serde_json::Error) -> ImportError {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    ImportError::Malformed { line: error.line() as u32, message }
}

/// The current position in a document: keys and indexes joined by slashes.
#[derive(Clone, Debug)]
pub(crate) struct JsonPath(String);

impl JsonPath {
    pub(crate) fn root() -> Self {
        JsonPath(String::new())
    }

    pub(crate) fn at(&self, key: impl std::fmt::Display) -> Self {
        JsonPath(format!("{}/{key}", self.0))
    }
}

/// Lines by path: `/states/idle/on` is the line of that key.
#[derive(Debug, Default)]
pub(crate) struct PathLines {
    by_place: HashMap<String, u32>,
}

/// An open object or list.
enum OpenLevel {
    Object { key: Option<String> },
    List { index: usize },
}

impl PathLines {
    /// Scans a text that is known to be valid JSON.
    pub(crate) fn of(text: &str) -> Self {
        let mut lines = PathLines::default();
        let mut levels: Vec<OpenLevel> = Vec::new();
        let mut line = 1;
        let mut at = 0;
        let bytes = text.as_bytes();
        while at < bytes.len() {
            match bytes[at] {
                b'\n' => line += 1,
                b'{' => levels.push(OpenLevel::Object { key: None }),
                b'[' => {
                    levels.push(OpenLevel::List { index: 0 });
                    lines.note(&levels, line);
                }
                b'}' | b']' => {
                    levels.pop();
                }
                b',' => match levels.last_mut() {
                    Some(OpenLevel::List { index }) => {
                        *index += 1;
                        lines.note(&levels, line);
                    }
                    Some(OpenLevel::Object { key }) => *key = None,
                    None => {}
                },
                b'"' => {
                    let end = string_end(bytes, at);
                    if let Some(OpenLevel::Object { key: key @ None }) = levels.last_mut() {
                        *key = serde_json::from_str(text.get(at..end).unwrap_or("\"\"")).ok();
                        lines.note(&levels, line);
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        lines
    }

    fn note(&mut self, levels: &[OpenLevel], line: u32) {
        let mut place = String::new();
        for level in levels {
            place.push('/');
            match level {
                OpenLevel::Object { key } => place.push_str(key.as_deref().unwrap_or_default()),
                OpenLevel::List { index } => place.push_str(&index.to_string()),
            }
        }
        self.by_place.entry(place).or_insert(line);
    }

    /// Returns the line of a path, or of its nearest ancestor.
    pub(crate) fn line(&self, place: &JsonPath) -> u32 {
        let mut place = place.0.as_str();
        loop {
            if let Some(line) = self.by_place.get(place) {
                return *line;
            }
            match place.rfind('/') {
                Some(slash) => place = &place[..slash],
                None => return 1,
            }
        }
    }
}

/// Returns the first byte after the string that starts here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::{JsonPath, PathLines};

    #[test]
    fn every_key_and_item_has_its_line() {
        let text = "{\n \"a\": {\"b\\\"\": 1,\n  \"c\": [1,\n   {\"d\": \"x\\\"y\"}]},\n \"e\": 2}";
        let lines = PathLines::of(text);
        for (place, line) in
            [("/a", 2), ("/a/b\"", 2), ("/a/c", 3), ("/a/c/0", 3), ("/a/c/1/d", 4), ("/e", 5), ("/a/zzz", 2)]
        {
            assert_eq!(lines.line(&JsonPath(place.to_owned())), line, "{place}");
        }
    }
}
