//! Braces and brackets, over as many lines as they take: the flow style of YAML, and JSON as a whole.

use super::{PlaceKind, ScannedKey, Scanner};
use crate::schema::ITEM;

/// An open brace or bracket.
struct OpenBracket {
    is_map: bool,
    /// True after a key and its colon.
    has_key: bool,
}

impl Scanner<'_> {
    /// Reads from an opening brace or bracket. Returns the offset after the closing one; or the start of the first line that
    /// is not further in than the key it belongs to, because then the braces were never closed.
    pub(super) fn flow(&mut self, start: usize, least: Option<usize>) -> usize {
        let mut frames: Vec<OpenBracket> = Vec::new();
        let mut path = self.path();
        // The start of the current key or value, and of a quoted text.
        let (mut token, mut quote, mut before) = (start, None::<(char, usize)>, ' ');
        let mut at = start;
        while let Some(c) = self.text[at..].chars().next() {
            if at == self.cursor && !frames.is_empty() {
                self.set_place(&frames, &path, token, quote);
            }
            let next = at + c.len_utf8();
            if let Some((open, _)) = quote {
                let is_escape = open == '"' && c == '\\';
                if is_escape {
                    at = next + self.text[next..].chars().next().map_or(0, char::len_utf8);
                    continue;
                }
                if c == open {
                    quote = None;
                } else if c == '\n' {
                    // A quote that was not closed on its line is still being typed.
                    quote = None;
                    if self.is_outside(next, least) {
                        return at;
                    }
                }
            } else {
                match c {
                    '"' | '\'' if !before.is_alphanumeric() => quote = Some((c, next)),
                    '#' if before.is_whitespace() => {
                        let end = self.line_end(at);
                        if at < self.cursor && self.cursor <= end {
                            self.place = Some(self.place_of(PlaceKind::Text, Vec::new(), self.cursor, false));
                        }
                        at = end;
                        continue;
                    }
                    '\n' if self.is_outside(next, least) => return at,
                    '{' | '[' => {
                        frames.push(OpenBracket { is_map: c == '{', has_key: false });
                        path.extend((c == '[').then(|| ITEM.to_owned()));
                        token = next;
                    }
                    '}' | ']' => {
                        if let Some(frame) = frames.pop()
                            && (frame.has_key || !frame.is_map)
                        {
                            path.pop();
                        }
                        if frames.is_empty() {
                            return next;
                        }
                        token = next;
                    }
                    ',' => {
                        if let Some(frame) = frames.last_mut().filter(|frame| frame.has_key) {
                            frame.has_key = false;
                            path.pop();
                        }
                        token = next;
                    }
                    ':' if self.ends_key(token, at, next) => {
                        if let Some(frame) = frames.last_mut().filter(|frame| frame.is_map && !frame.has_key)
                        {
                            let raw = &self.text[token..at];
                            let begin = token + raw.len() - raw.trim_start().len();
                            let raw = raw.trim();
                            let inner = raw.trim_matches(['"', '\'']);
                            let quoted = usize::from(raw.starts_with(['"', '\'']));
                            frame.has_key = true;
                            path.push(inner.to_owned());
                            let span = begin + quoted..begin + quoted + inner.len();
                            self.keys.push(ScannedKey { path: path.clone(), span });
                            token = next;
                        }
                    }
                    _ => {}
                }
            }
            before = c;
            at = next;
        }
        if self.cursor >= at && !frames.is_empty() {
            self.set_place(&frames, &path, token, quote);
        }
        at
    }

    /// A colon ends a key before a space, or after a quoted key.
    fn ends_key(&self, token: usize, colon: usize, next: usize) -> bool {
        let is_quoted = self.text[token..colon].trim().ends_with(['"', '\'']);
        is_quoted || self.text[next..].chars().next().is_none_or(|c| c.is_whitespace() || ",{}[]".contains(c))
    }

    /// True if the line at an offset cannot belong to braces that a key in this column opened.
    fn is_outside(&self, line: usize, least: Option<usize>) -> bool {
        let Some(least) = least else { return false };
        let text = self.text[line..].lines().next().unwrap_or_default();
        let inner = text.trim_start_matches(' ');
        let is_content = !inner.trim().is_empty() && !inner.starts_with(['#', '}', ']', ',']);
        is_content && text.len() - inner.len() <= least
    }

    fn set_place(
        &mut self,
        frames: &[OpenBracket],
        path: &[String],
        token: usize,
        quote: Option<(char, usize)>,
    ) {
        let from = quote.map_or_else(|| self.word_start(token), |(_, start)| start);
        let is_key = frames.last().is_some_and(|frame| frame.is_map && !frame.has_key);
        let kind = if is_key { PlaceKind::Key } else { PlaceKind::Value };
        self.place = Some(self.place_of(kind, path.to_vec(), from, quote.is_some()));
    }
}
