//! Packing: one pass over the text that copies small values and extracts large ones.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::scan::Cursor;
use super::{DEPTH_MAX, GROUP_LEN, LARGE_BYTES, LIST, STRING, hash, hex};
use crate::records::Blob;

/// Returns `None` if the text is not JSON or too deep: it is then stored unchanged.
pub(super) fn pack(json: &str, known: &dyn Fn(&[u8; 16]) -> bool) -> Option<(String, Vec<Blob>)> {
    let mut packer = Packer { known, taken: FxHashSet::default(), blobs: Vec::new() };
    let mut cursor = Cursor::new(json);
    let mut out = String::with_capacity(json.len().min(16 * 1024));
    packer.value(&mut cursor, 0, &mut out)?;
    cursor.is_at_end().then_some((out, packer.blobs))
}

struct Packer<'k> {
    known: &'k dyn Fn(&[u8; 16]) -> bool,
    taken: FxHashSet<[u8; 16]>,
    blobs: Vec<Blob>,
}

impl Packer<'_> {
    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize, out: &mut String) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match cursor.peek()? {
            b'{' => self.map(cursor, depth, out),
            b'[' => self.list(cursor, depth, out),
            b'"' => self.string(cursor.string()?, out),
            _ => {
                out.push_str(cursor.scalar()?);
                Some(())
            }
        }
    }

    fn string(&mut self, token: &str, out: &mut String) -> Option<()> {
        // Two bytes are the quotes.
        if token.len() < LARGE_BYTES + 2 {
            out.push_str(token);
            return Some(());
        }
        // Borrowed unless there is something to unescape.
        let inner = &token[1..token.len() - 1];
        let text: Cow<'_, str> = match inner.contains('\\') {
            true => serde_json::from_str::<String>(token).ok()?.into(),
            false => inner.into(),
        };
        let mut body = Vec::with_capacity(text.len() + 1);
        body.push(STRING);
        body.extend_from_slice(text.as_bytes());
        out.push_str(&format!(r#"{{"$ref":"{}"}}"#, self.take(body)));
        Some(())
    }

    fn map(&mut self, cursor: &mut Cursor<'_>, depth: usize, out: &mut String) -> Option<()> {
        let start = out.len();
        let mut looks_like_ours = false;
        cursor.expect(b'{')?;
        out.push('{');
        if !cursor.eat(b'}') {
            loop {
                let key = cursor.string()?;
                looks_like_ours |= key.starts_with("\"$");
                out.push_str(key);
                cursor.expect(b':')?;
                out.push(':');
                self.value(cursor, depth + 1, out)?;
                if !cursor.eat(b',') {
                    break;
                }
                out.push(',');
            }
            cursor.expect(b'}')?;
        }
        out.push('}');
        if looks_like_ours {
            out.insert_str(start, r#"{"$map":"#);
            out.push('}');
        }
        Some(())
    }

    fn list(&mut self, cursor: &mut Cursor<'_>, depth: usize, out: &mut String) -> Option<()> {
        let start = out.len();
        let mut ends = Vec::new();
        cursor.expect(b'[')?;
        out.push('[');
        if !cursor.eat(b']') {
            loop {
                self.value(cursor, depth + 1, out)?;
                ends.push(out.len());
                if !cursor.eat(b',') {
                    break;
                }
                out.push(',');
            }
            cursor.expect(b']')?;
        }
        out.push(']');
        if ends.len() >= GROUP_LEN && out.len() - start >= LARGE_BYTES {
            let grouped = self.groups(out, start, &ends);
            out.truncate(start);
            out.push_str(&grouped);
        }
        Some(())
    }

    /// Returns the list written at `start` of `out`, its elements ending at `ends`, with every large full group
    /// extracted.
    fn groups(&mut self, out: &str, start: usize, ends: &[usize]) -> String {
        let mut from = start + 1;
        let mut units: Vec<Cow<'_, str>> = Vec::with_capacity(ends.len());
        for end in ends {
            units.push(Cow::Borrowed(&out[from..*end]));
            from = end + 1;
        }
        // The remainder at each level, lowest first; written in reverse, which is the order of the elements.
        let mut rests = Vec::new();
        while units.len() >= GROUP_LEN {
            rests.push(units.split_off(units.len() / GROUP_LEN * GROUP_LEN));
            units = units.chunks(GROUP_LEN).map(|group| self.group(group)).collect();
        }
        units.extend(rests.into_iter().rev().flatten());
        format!("[{}]", units.join(","))
    }

    fn group(&mut self, units: &[Cow<'_, str>]) -> Cow<'static, str> {
        let joined = units.join(",");
        if joined.len() < LARGE_BYTES {
            return Cow::Owned(joined);
        }
        let mut body = Vec::with_capacity(joined.len() + 3);
        body.extend_from_slice(&[LIST, b'[']);
        body.extend_from_slice(joined.as_bytes());
        body.push(b']');
        Cow::Owned(format!(r#"{{"$chunk":"{}"}}"#, self.take(body)))
    }

    /// Stores a blob, once, and returns its name.
    fn take(&mut self, body: Vec<u8>) -> String {
        let name = hash(&body);
        if self.taken.insert(name) && !(self.known)(&name) {
            self.blobs.push(Blob { hash: name, body });
        }
        hex(&name)
    }
}
