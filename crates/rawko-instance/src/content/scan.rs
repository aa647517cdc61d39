//! Scans JSON text token by token without building values, and decides if packing is needed. Most texts of a journal
//! are small, so this must be very cheap.

use super::{GROUP_LEN, LARGE_BYTES};

/// Returns true if any string begins with `$`: only such a text can contain references, or maps that look like one.
pub(super) fn mentions_dollar(text: &str) -> bool {
    text.contains("\"$")
}

/// Returns true if packing may change the text. May return a false positive, never a false negative.
pub(super) fn needs_packing(text: &str) -> bool {
    (text.len() > LARGE_BYTES && holds_large(text)) || mentions_dollar(text)
}

/// Returns true if there is a long string, or a long enough list with enough elements.
fn holds_large(text: &str) -> bool {
    let bytes = text.as_bytes();
    // For each open list or map: its start, and the number of commas so far.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(text, at);
                if end - at >= LARGE_BYTES {
                    return true;
                }
                at = end;
                continue;
            }
            b'[' | b'{' => open.push((at, 0)),
            b',' => {
                if let Some((_, commas)) = open.last_mut() {
                    *commas += 1;
                }
            }
            b']' => {
                let (from, commas) = open.pop().unwrap_or((at, 0));
                if commas + 1 >= GROUP_LEN && at - from >= LARGE_BYTES {
                    return true;
                }
            }
            b'}' => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    false
}

/// Returns the position after the closing quote of the string that begins at `at`; the end of the text if it is not
/// closed. Jumps from quote to quote, because long strings are the common case.
fn string_end(text: &str, at: usize) -> usize {
    let mut from = at + 1;
    while let Some(quote) = text.get(from..).and_then(|rest| rest.find('"')) {
        let before = text.as_bytes()[from..from + quote].iter().rev();
        from += quote + 1;
        if before.take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return from;
        }
    }
    text.len()
}

/// A position in a JSON text. Methods return `None` on an unexpected token.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    /// Returns the next byte that is not white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Consumes this byte if it comes next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    /// Consumes a string and returns it with its quotes.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let from = self.at;
        self.at = string_end(self.text, from);
        let token = self.text.get(from..self.at)?;
        (token.len() >= 2 && token.ends_with('"')).then_some(token)
    }

    /// Consumes a number, `true`, `false` or `null`.
    pub(super) fn scalar(&mut self) -> Option<&'a str> {
        self.peek()?;
        let rest = &self.text[self.at..];
        let is_end =
            |byte: u8| matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b'[' | b'{') || byte <= b' ';
        let len = rest.bytes().position(is_end).unwrap_or(rest.len());
        self.at += len;
        (len > 0).then_some(&rest[..len])
    }

    /// Returns the key of a map's first entry, if a map comes next; consumes nothing.
    pub(super) fn first_key(&mut self) -> Option<&'a str> {
        if self.peek() != Some(b'{') {
            return None;
        }
        Cursor { text: self.text, at: self.at + 1 }.string()
    }

    /// Consumes a list that begins with a group, and returns its text; any other list is not consumed.
    pub(super) fn list_of_groups(&mut self) -> Option<&'a str> {
        if self.peek() != Some(b'[') {
            return None;
        }
        let from = self.at;
        let first = Cursor { text: self.text, at: from + 1 }.first_key();
        if first != Some(r#""$chunk""#) {
            return None;
        }
        let bytes = self.text.as_bytes();
        let (mut at, mut depth) = (from, 0);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at = string_end(self.text, at);
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                self.at = at;
                return self.text.get(from..at);
            }
        }
        None
    }

    /// Returns true if nothing but white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }
}
