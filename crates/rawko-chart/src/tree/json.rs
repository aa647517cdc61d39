//! Reads JSON text into the spanned tree. Our own reader, because findings must point into the text and because loading
//! time of large charts is measured: one pass over the bytes, strings borrowed unless they contain an escape.

use std::borrow::Cow;

use super::builder::{Scalar, Stop, TreeBuilder};
use super::{JSON_SYNTAX, TextTree};
use crate::finding::{Finding, Severity};
use crate::source::Span;

pub(super) fn read(text: &str) -> Result<TextTree<'_>, Vec<Finding>> {
    let mut reader = JsonReader { text, bytes: text.as_bytes(), at: 0, builder: TreeBuilder::for_text(text) };
    if text.starts_with('\u{feff}') {
        reader.at = 3;
    }
    // On a stop the builder has the finding.
    let _ = reader.document();
    reader.builder.finish()
}

/// The bytes that end a run of plain text: the quote, the backslash and control characters.
static IS_SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};

struct JsonReader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    builder: TreeBuilder<'t>,
}

impl<'t> JsonReader<'t> {
    fn document(&mut self) -> Result<(), Stop> {
        self.space();
        self.value()?;
        self.space();
        if self.at < self.bytes.len() {
            return self
                .fail("unexpected content after the end of the document", "put each chart in its own file");
        }
        Ok(())
    }

    /// The builder limits the depth, and with it this recursion.
    fn value(&mut self) -> Result<(), Stop> {
        match self.peek() {
            b'{' => self.map(),
            b'[' => self.list(),
            b'"' => {
                let start = self.at;
                let text = self.string()?;
                self.builder.scalar(Span::new(start, self.at), Scalar::Str(text))
            }
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true", Scalar::Bool(true)),
            b'f' => self.word("false", Scalar::Bool(false)),
            b'n' => self.word("null", Scalar::Null),
            0 if self.at >= self.bytes.len() => self.fail("unexpected end of file, expected a value", ""),
            _ => self.fail("this is not a JSON value", "put text in double quotes"),
        }
    }

    fn map(&mut self) -> Result<(), Stop> {
        self.builder.open_map(self.at)?;
        self.at += 1;
        self.space();
        if self.peek() == b'}' {
            return self.close();
        }
        loop {
            if self.peek() != b'"' {
                return self.fail("expected a key in double quotes", "check for an extra comma before this");
            }
            let start = self.at;
            let key = self.string()?;
            self.builder.key(key, Span::new(start, self.at));
            self.space();
            if self.peek() != b':' {
                return self.fail("expected `:` after the key", "");
            }
            self.at += 1;
            self.space();
            self.value()?;
            self.space();
            match self.peek() {
                b',' => self.at += 1,
                b'}' => return self.close(),
                _ => return self.fail("expected `,` or `}`", "check for a missing comma before this"),
            }
            self.space();
        }
    }

    fn list(&mut self) -> Result<(), Stop> {
        self.builder.open_list(self.at)?;
        self.at += 1;
        self.space();
        if self.peek() == b']' {
            return self.close();
        }
        loop {
            self.value()?;
            self.space();
            match self.peek() {
                b',' => self.at += 1,
                b']' => return self.close(),
                _ => return self.fail("expected `,` or `]`", "check for a missing comma before this"),
            }
            self.space();
        }
    }

    fn close(&mut self) -> Result<(), Stop> {
        self.at += 1;
        self.builder.close(self.at).map(|_| ())
    }

    fn word(&mut self, word: &str, data: Scalar<'t>) -> Result<(), Stop> {
        let start = self.at;
        if !self.text[start..].starts_with(word) {
            return self.fail("this is not a JSON value", "put text in double quotes");
        }
        self.at += word.len();
        self.builder.scalar(Span::new(start, self.at), data)
    }

    fn number(&mut self) -> Result<(), Stop> {
        let start = self.at;
        while matches!(self.peek(), b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        let Some(data) = parse_number(text) else {
            self.at = start;
            return self.fail(&format!("`{text}` is not a JSON number"), "");
        };
        self.builder.scalar(Span::new(start, self.at), data)
    }

    /// Reads the string at this quote; borrowed if it contains no escape.
    fn string(&mut self) -> Result<Cow<'t, str>, Stop> {
        let start = self.at + 1;
        self.at = start;
        while self.bytes.get(self.at).is_some_and(|byte| !IS_SPECIAL[usize::from(*byte)]) {
            self.at += 1;
        }
        match self.peek() {
            b'"' => {
                let text = &self.text[start..self.at];
                self.at += 1;
                Ok(Cow::Borrowed(text))
            }
            b'\\' => self.escaped_string(start),
            _ => self.unended_string(start),
        }
    }

    fn escaped_string(&mut self, start: usize) -> Result<Cow<'t, str>, Stop> {
        let mut out = String::with_capacity(self.at - start + 16);
        let mut plain = start;
        loop {
            match self.peek() {
                b'"' => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                b'\\' => {
                    out.push_str(&self.text[plain..self.at]);
                    let character = self.escape()?;
                    out.push(character);
                    plain = self.at;
                }
                0..=0x1f => return self.unended_string(start),
                _ => self.at += 1,
            }
        }
    }

    fn unended_string<T>(&mut self, start: usize) -> Result<T, Stop> {
        if self.at >= self.bytes.len() || matches!(self.peek(), b'\n' | b'\r') {
            self.at = start - 1;
            return self.fail("unterminated string: no closing quote on this line", "");
        }
        self.fail("control character in a string", "write it as an escape, such as `\\t`")
    }

    fn escape(&mut self) -> Result<char, Stop> {
        let code = self.bytes.get(self.at + 1).copied().unwrap_or(0);
        let character = match code {
            b'"' | b'\\' | b'/' => char::from(code),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return self.fail("unknown escape in a string", "write `\\\\` for a backslash"),
        };
        self.at += 2;
        Ok(character)
    }

    /// Reads `\uXXXX`, or a surrogate pair of two of them.
    fn unicode_escape(&mut self) -> Result<char, Stop> {
        let high = self.hex(self.at + 2);
        if let Some(character) = high.and_then(char::from_u32) {
            self.at += 6;
            return Ok(character);
        }
        let low = if self.bytes.get(self.at + 6..self.at + 8) == Some(b"\\u") {
            self.hex(self.at + 8)
        } else {
            None
        };
        if let (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) = (high, low) {
            let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            if let Some(character) = char::from_u32(code) {
                self.at += 12;
                return Ok(character);
            }
        }
        self.fail("invalid `\\u` escape", "")
    }

    fn hex(&self, start: usize) -> Option<u32> {
        let digits = self.bytes.get(start..start + 4)?;
        digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
    }

    /// Returns the current byte; 0 at the end (a control character is an error wherever 0 is checked).
    #[inline]
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn fail<T>(&mut self, message: &str, help: &str) -> Result<T, Stop> {
        let end =
            self.text[self.at..].chars().next().map_or(self.at, |character| self.at + character.len_utf8());
        let mut finding = Finding::new(JSON_SYNTAX, Severity::Fatal, Span::new(self.at, end), message);
        if !help.is_empty() {
            finding = finding.help(help);
        }
        self.builder.findings.push(finding);
        Err(Stop)
    }
}

/// Parses JSON's own number grammar: no leading zeros, no bare point.
fn parse_number(text: &str) -> Option<Scalar<'static>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if whole == 0 || (whole > 1 && digits.starts_with('0')) {
        return None;
    }
    let rest = &digits[whole..];
    if rest.is_empty() {
        return text.parse().map(Scalar::Int).or_else(|_| text.parse().map(Scalar::Float)).ok();
    }
    if rest.starts_with('.') && !rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(Scalar::Float)
}
