//! Keys: bytes of a terminal become keys. Only what the session uses; other sequences are recognised and dropped, so
//! that they are not typed as text.

use std::time::Instant;

/// One key, or a pasted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TerminalKey {
    Char(char),
    Paste(String),
    Enter,
    /// A line end within the text: Ctrl-J, Alt-Enter, or Shift-Enter where the terminal reports it.
    Newline,
    Tab,
    Backspace,
    Delete,
    /// Ctrl-W, or Backspace with Alt or Ctrl.
    DeleteWord,
    Escape,
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
}

/// A key, and when it arrived: a request that appeared later was not meant.
#[derive(Clone, Debug)]
pub(crate) struct KeyPress {
    pub(crate) key: TerminalKey,
    pub(crate) at: Instant,
}

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Collects bytes until they make keys.
#[derive(Debug, Default)]
pub(crate) struct KeyReader {
    bytes: Vec<u8>,
}

impl KeyReader {
    /// Adds bytes and returns the complete keys.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Vec<TerminalKey> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = next(&self.bytes) {
            self.bytes.drain(..length);
            keys.extend(key);
        }
        keys
    }

    /// Returns true if bytes are left that may be the beginning of a key, or the key Escape.
    pub(crate) fn is_pending(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Nothing follows in time: a lone escape byte is the key.
    pub(crate) fn settle(&mut self) -> Option<TerminalKey> {
        let is_escape = self.bytes == [0x1b];
        if !self.bytes.starts_with(PASTE_BEGIN) {
            self.bytes.clear();
        }
        is_escape.then_some(TerminalKey::Escape)
    }
}

/// Returns the first key and its length; `None` if it is incomplete.
fn next(bytes: &[u8]) -> Option<(Option<TerminalKey>, usize)> {
    let first = *bytes.first()?;
    let one = |key: TerminalKey| Some((Some(key), 1));
    match first {
        0x1b => escape(bytes),
        b'\r' => one(TerminalKey::Enter),
        b'\n' => one(TerminalKey::Newline),
        b'\t' => one(TerminalKey::Tab),
        0x7f | 0x08 => one(TerminalKey::Backspace),
        0x17 => one(TerminalKey::DeleteWord),
        0x01..=0x1a => one(TerminalKey::Ctrl(char::from(first - 1 + b'a'))),
        0x00 | 0x1c..=0x1f => Some((None, 1)),
        0x20..=0x7e => one(TerminalKey::Char(char::from(first))),
        _ => character(bytes),
    }
}

/// Reads one character of UTF-8.
fn character(bytes: &[u8]) -> Option<(Option<TerminalKey>, usize)> {
    let length = match bytes[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return Some((None, 1)),
    };
    let bytes = bytes.get(..length)?;
    let letter = std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next());
    Some(match letter {
        Some(letter) if !letter.is_control() => (Some(TerminalKey::Char(letter)), length),
        Some(_) => (None, length),
        None => (None, 1),
    })
}

fn escape(bytes: &[u8]) -> Option<(Option<TerminalKey>, usize)> {
    if bytes.starts_with(PASTE_BEGIN) {
        let rest = &bytes[PASTE_BEGIN.len()..];
        let end = rest.windows(PASTE_END.len()).position(|part| part == PASTE_END)?;
        let text = String::from_utf8_lossy(&rest[..end]).replace("\r\n", "\n").replace('\r', "\n");
        return Some((Some(TerminalKey::Paste(text)), PASTE_BEGIN.len() + end + PASTE_END.len()));
    }
    match bytes.get(1)? {
        b'[' => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))? + 2;
            Some((named(&bytes[2..=end]), end + 1))
        }
        b'O' => Some((named(bytes.get(2..3)?), 3)),
        0x1b => Some((Some(TerminalKey::Escape), 1)),
        b'\r' | b'\n' => Some((Some(TerminalKey::Newline), 2)),
        b'b' => Some((Some(TerminalKey::WordLeft), 2)),
        b'f' => Some((Some(TerminalKey::WordRight), 2)),
        0x7f | 0x08 => Some((Some(TerminalKey::DeleteWord), 2)),
        // Another letter with Alt.
        _ => Some((None, 2)),
    }
}

fn named(sequence: &[u8]) -> Option<TerminalKey> {
    Some(match sequence {
        b"A" => TerminalKey::Up,
        b"B" => TerminalKey::Down,
        b"C" => TerminalKey::Right,
        b"D" => TerminalKey::Left,
        b"H" | b"1~" | b"7~" => TerminalKey::Home,
        b"F" | b"4~" | b"8~" => TerminalKey::End,
        b"3~" => TerminalKey::Delete,
        b"1;5D" | b"1;3D" => TerminalKey::WordLeft,
        b"1;5C" | b"1;3C" => TerminalKey::WordRight,
        b"13;2u" | b"27;2;13~" => TerminalKey::Newline,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        let table: [(&[u8], &[TerminalKey]); 10] = [
            (b"a\r", &[TerminalKey::Char('a'), TerminalKey::Enter]),
            ("é".as_bytes(), &[TerminalKey::Char('é')]),
            (b"\x1b[A\x1bOB", &[TerminalKey::Up, TerminalKey::Down]),
            (b"\x1b[3~\x7f", &[TerminalKey::Delete, TerminalKey::Backspace]),
            (b"\x03\x15\t", &[TerminalKey::Ctrl('c'), TerminalKey::Ctrl('u'), TerminalKey::Tab]),
            (b"\x1b[1;2Cx", &[TerminalKey::Char('x')]),
            (b"\x1b[1;5C\x1bb", &[TerminalKey::WordRight, TerminalKey::WordLeft]),
            (b"\n\x1b\r\x17", &[TerminalKey::Newline, TerminalKey::Newline, TerminalKey::DeleteWord]),
            (b"\x1b[200~one\rtwo\x1b[201~", &[TerminalKey::Paste("one\ntwo".to_owned())]),
            (b"\xff\x00z", &[TerminalKey::Char('z')]),
        ];
        for (bytes, expected) in table {
            // In one piece, and byte by byte.
            assert_eq!(KeyReader::default().add(bytes), expected, "{bytes:?}");
            let mut reader = KeyReader::default();
            let keys: Vec<TerminalKey> = bytes.iter().flat_map(|byte| reader.add(&[*byte])).collect();
            assert_eq!(keys, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_lone_escape_is_a_key_once_nothing_follows() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.add(b"\x1b"), []);
        assert!(reader.is_pending());
        assert_eq!(reader.settle(), Some(TerminalKey::Escape));
        assert!(!reader.is_pending());
        assert_eq!(reader.add(b"\x1b\x1b[A"), [TerminalKey::Escape, TerminalKey::Up]);
    }
}
