//! Keys: bytes of a terminal become keys. Only what the session uses; other sequences are recognised and dropped, so
//! that they are not typed as text.

use std::time::Instant;

/// One key, or a pasted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Paste(String),
    Enter,
    Tab,
    Backspace,
    Delete,
    Escape,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
}

/// A key, and when it arrived: a request that appeared later was not meant.
#[derive(Clone, Debug)]
pub(crate) struct KeyPress {
    pub(crate) key: Key,
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
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Vec<Key> {
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
    pub(crate) fn settle(&mut self) -> Option<Key> {
        let is_escape = self.bytes == [0x1b];
        if !self.bytes.starts_with(PASTE_BEGIN) {
            self.bytes.clear();
        }
        is_escape.then_some(Key::Escape)
    }
}

/// Returns the first key and its length; `None` if it is incomplete.
fn next(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let first = *bytes.first()?;
    let one = |key: Key| Some((Some(key), 1));
    match first {
        0x1b => escape(bytes),
        b'\r' | b'\n' => one(Key::Enter),
        b'\t' => one(Key::Tab),
        0x7f | 0x08 => one(Key::Backspace),
        0x01..=0x1a => one(Key::Ctrl(char::from(first - 1 + b'a'))),
        0x00 | 0x1c..=0x1f => Some((None, 1)),
        0x20..=0x7e => one(Key::Char(char::from(first))),
        _ => character(bytes),
    }
}

/// Reads one character of UTF-8.
fn character(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let length = match bytes[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return Some((None, 1)),
    };
    let bytes = bytes.get(..length)?;
    let letter = std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next());
    Some(match letter {
        Some(letter) if !letter.is_control() => (Some(Key::Char(letter)), length),
        Some(_) => (None, length),
        None => (None, 1),
    })
}

fn escape(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    if bytes.starts_with(PASTE_BEGIN) {
        let rest = &bytes[PASTE_BEGIN.len()..];
        let end = rest.windows(PASTE_END.len()).position(|part| part == PASTE_END)?;
        let text = String::from_utf8_lossy(&rest[..end]).replace("\r\n", "\n").replace('\r', "\n");
        return Some((Some(Key::Paste(text)), PASTE_BEGIN.len() + end + PASTE_END.len()));
    }
    match bytes.get(1)? {
        b'[' => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))? + 2;
            Some((named(&bytes[2..=end]), end + 1))
        }
        b'O' => Some((named(bytes.get(2..3)?), 3)),
        0x1b => Some((Some(Key::Escape), 1)),
        // A letter with Alt.
        _ => Some((None, 2)),
    }
}

fn named(sequence: &[u8]) -> Option<Key> {
    Some(match sequence {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        let table: [(&[u8], &[Key]); 8] = [
            (b"a\r", &[Key::Char('a'), Key::Enter]),
            ("é".as_bytes(), &[Key::Char('é')]),
            (b"\x1b[A\x1bOB", &[Key::Up, Key::Down]),
            (b"\x1b[3~\x7f", &[Key::Delete, Key::Backspace]),
            (b"\x03\x15\t", &[Key::Ctrl('c'), Key::Ctrl('u'), Key::Tab]),
            (b"\x1b[1;5Cx", &[Key::Char('x')]),
            (b"\x1b[200~one\rtwo\x1b[201~", &[Key::Paste("one\ntwo".to_owned())]),
            (b"\xff\x00z", &[Key::Char('z')]),
        ];
        for (bytes, expected) in table {
            // In one piece, and byte by byte.
            assert_eq!(KeyReader::default().add(bytes), expected, "{bytes:?}");
            let mut reader = KeyReader::default();
            let keys: Vec<Key> = bytes.iter().flat_map(|byte| reader.add(&[*byte])).collect();
            assert_eq!(keys, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_lone_escape_is_a_key_once_nothing_follows() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.add(b"\x1b"), []);
        assert!(reader.is_pending());
        assert_eq!(reader.settle(), Some(Key::Escape));
        assert!(!reader.is_pending());
        assert_eq!(reader.add(b"\x1b\x1b[A"), [Key::Escape, Key::Up]);
    }
}
