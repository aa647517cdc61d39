//! Reads YAML and JSON that may be half typed: all keys with their paths, and the kind of a place. Separate from the reader of
//! `rawko-chart`, which checks the format and stops at the first text that is not readable.

mod flow;
mod line;
#[cfg(test)]
mod tests;

use std::ops::Range;

use line::ScannedLine;

use crate::schema::ITEM;

/// A key of a map with the path to it, itself included; `[]` is an item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScannedKey {
    pub(crate) path: Vec<String>,
    /// Without quotes.
    pub(crate) span: Range<usize>,
}

/// The kind of text at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    Key,
    Value,
    /// A comment, a block of text, or the end of a value.
    Text,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CursorPlace {
    pub(crate) kind: PlaceKind,
    /// Path of the map that a key is in, or of the value.
    pub(crate) path: Vec<String>,
    /// The word before the place, and its offset.
    pub(crate) word: String,
    pub(crate) from: usize,
    pub(crate) is_quoted: bool,
    /// True in a text that is JSON as a whole.
    pub(crate) is_json: bool,
}

/// All keys of a text, in order.
#[derive(Debug, Default)]
pub(crate) struct TextScan {
    pub(crate) keys: Vec<ScannedKey>,
}

impl TextScan {
    /// Reads a text, and the place at a byte offset.
    pub(crate) fn at(text: &str, offset: usize) -> (TextScan, CursorPlace) {
        let mut scanner = Scanner {
            text,
            cursor: offset.min(text.len()),
            is_json: text.trim_start_matches('\u{feff}').trim_start().starts_with('{'),
            stack: Vec::new(),
            keys: Vec::new(),
            place: None,
        };
        scanner.run();
        let nothing = scanner.place_of(PlaceKind::Text, Vec::new(), offset, false);
        let place = scanner.place.take().unwrap_or(nothing);
        (TextScan { keys: scanner.keys }, place)
    }
}

/// True for characters of names, references and expressions.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_$*.@/#:-".contains(c)
}

struct Scanner<'t> {
    text: &'t str,
    cursor: usize,
    is_json: bool,
    /// Keys and lists that are open, with their columns.
    stack: Vec<(String, usize)>,
    keys: Vec<ScannedKey>,
    place: Option<CursorPlace>,
}

impl Scanner<'_> {
    fn run(&mut self) {
        let mut at = 0;
        // Column of the key whose text block is open.
        let mut block: Option<usize> = None;
        while at <= self.text.len() {
            let end = self.text[at..].find('\n').map_or(self.text.len(), |found| at + found);
            let line = ScannedLine::read(&self.text[at..end]);
            let is_here = at <= self.cursor && self.cursor <= end;
            let is_text = block.is_some_and(|column| line.is_blank || line.indent > column);
            // A new line below a block may be the next key: only its indentation decides.
            let column = self.cursor.saturating_sub(at);
            if is_text && !(is_here && line.is_blank && block.is_some_and(|block| column <= block)) {
                if is_here {
                    self.place = Some(self.place_of(PlaceKind::Text, Vec::new(), self.cursor, false));
                }
                at = end + 1;
                continue;
            }
            if !line.is_blank {
                block = line.opens_block.then_some(line.column);
            }
            if is_here {
                self.place = Some(self.place_in(&line, at));
            }
            at = self.enter(&line, at).map_or(end, |after| self.line_end(after)) + 1;
        }
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |found| at + found)
    }

    /// Adds the key of a line, and everything in its braces. Returns the offset after the braces, or where they are
    /// given up because the next line cannot belong to them.
    fn enter(&mut self, line: &ScannedLine, start: usize) -> Option<usize> {
        if line.key.is_none() && line.dashes.is_empty() && !line.opens_flow {
            return None;
        }
        if line.key.is_some() || !line.dashes.is_empty() {
            self.open(line, line.key.clone());
        }
        if let Some(span) = line.key_span.clone() {
            self.keys.push(ScannedKey { path: self.path(), span: start + span.start..start + span.end });
        }
        line.opens_flow.then(|| {
            let least = self.stack.last().map(|(_, column)| *column);
            self.flow(start + line.value_at, least)
        })
    }

    /// Opens the lists and the key of a line, and closes those that end before it.
    fn open(&mut self, line: &ScannedLine, key: Option<String>) {
        let first = line.dashes.first().copied().unwrap_or(line.column);
        // A list may be as far out as the key that it belongs to.
        while let Some((name, at)) = self.stack.last() {
            let is_list_of_key = !line.dashes.is_empty() && name != ITEM;
            if *at > first || (*at == first && !is_list_of_key) {
                self.stack.pop();
            } else {
                break;
            }
        }
        self.stack.extend(line.dashes.iter().map(|at| (ITEM.to_owned(), *at)));
        self.stack.extend(key.map(|key| (key, line.column)));
    }

    fn path(&self) -> Vec<String> {
        self.stack.iter().map(|(key, _)| key.clone()).collect()
    }

    /// Returns the place of the cursor, which is in a line. Places in braces are set by `flow` afterwards.
    fn place_in(&mut self, line: &ScannedLine, start: usize) -> CursorPlace {
        let column = self.cursor - start;
        if line.comment_at.is_some_and(|comment| column > comment) {
            return self.place_of(PlaceKind::Text, Vec::new(), self.cursor, false);
        }
        let is_value = line.key.is_some() && column >= line.value_at;
        let kept = self.stack.clone();
        if line.dashes.is_empty() && !is_value {
            let own = if line.is_blank { column } else { line.column };
            while self.stack.last().is_some_and(|(_, at)| *at >= own) {
                self.stack.pop();
            }
        } else {
            self.open(line, line.key.clone().filter(|_| is_value));
        }
        let path = self.path();
        self.stack = kept;
        let least = start + if is_value { line.value_at } else { line.column.min(column) };
        let from = self.word_start(least);
        let is_quoted = self.text[..from].ends_with(['"', '\'']);
        self.place_of(if is_value { PlaceKind::Value } else { PlaceKind::Key }, path, from, is_quoted)
    }

    /// Returns the start of the word before the cursor, not before `least`.
    fn word_start(&self, least: usize) -> usize {
        let written = self.text.get(least..self.cursor).unwrap_or_default();
        let word = written.trim_end_matches(is_word);
        let from = least + word.len();
        let dashes =
            self.text[from..self.cursor].len() - self.text[from..self.cursor].trim_start_matches('-').len();
        from + dashes
    }

    fn place_of(&self, kind: PlaceKind, path: Vec<String>, from: usize, is_quoted: bool) -> CursorPlace {
        let word = self.text.get(from..self.cursor).unwrap_or_default().to_owned();
        CursorPlace { kind, path, word, from, is_quoted, is_json: self.is_json }
    }
}
