//! Unpacking: the inverse of packing. Verifies every blob against its hash.

use super::scan::Cursor;
use super::{DEPTH_MAX, LIST, Lookup, STRING, from_hex, hash, hex};
use crate::error::StoreError;

pub(super) fn unpack<'b>(text: &str, blob: &'b mut Lookup<'b>) -> Result<String, StoreError> {
    let mut out = String::with_capacity(2 * text.len());
    let mut cursor = Cursor::new(text);
    Unpacker::new(blob).value(&mut cursor, 0, &mut out)?;
    if cursor.is_at_end() { Ok(out) } else { Err(malformed()) }
}

pub(super) fn malformed() -> StoreError {
    StoreError::Damaged("a packed text is malformed".to_owned())
}

/// Takes the packed text of a long list and returns the JSON text in its place.
pub(super) type TakeList<'t> = dyn FnMut(&str, &mut Lookup<'_>) -> Result<String, StoreError> + 't;

pub(super) struct Unpacker<'u, 'b, 't> {
    blob: &'u mut Lookup<'b>,
    take: Option<&'u mut TakeList<'t>>,
}

impl<'u, 'b, 't> Unpacker<'u, 'b, 't> {
    pub(super) fn new(blob: &'u mut Lookup<'b>) -> Self {
        Self { blob, take: None }
    }

    /// Unpacks with other texts in place of the lists that have groups.
    pub(super) fn taking(blob: &'u mut Lookup<'b>, take: &'u mut TakeList<'t>) -> Self {
        Self { blob, take: Some(take) }
    }
}

impl Unpacker<'_, '_, '_> {
    pub(super) fn value(
        &mut self,
        cursor: &mut Cursor<'_>,
        depth: usize,
        out: &mut String,
    ) -> Result<(), StoreError> {
        if depth > DEPTH_MAX {
            return Err(malformed());
        }
        match cursor.peek() {
            Some(b'{') => self.map(cursor, depth, out),
            Some(b'[') => {
                if let Some(take) = &mut self.take
                    && let Some(list) = cursor.list_of_groups()
                {
                    out.push_str(&take(list, self.blob)?);
                    return Ok(());
                }
                out.push('[');
                let mut is_first = true;
                self.elements(cursor, depth, &mut is_first, out)?;
                out.push(']');
                Ok(())
            }
            Some(b'"') => {
                out.push_str(cursor.string().ok_or_else(malformed)?);
                Ok(())
            }
            Some(_) => {
                out.push_str(cursor.scalar().ok_or_else(malformed)?);
                Ok(())
            }
            None => Err(malformed()),
        }
    }

    fn map(&mut self, cursor: &mut Cursor<'_>, depth: usize, out: &mut String) -> Result<(), StoreError> {
        match cursor.first_key() {
            Some(r#""$ref""#) => {
                let text = self.string(&reference(cursor).ok_or_else(malformed)?)?;
                out.push_str(&serde_json::to_string(&text).map_err(|_| malformed())?);
                Ok(())
            }
            Some(r#""$map""#) => {
                wrapped(cursor).ok_or_else(malformed)?;
                self.entries(cursor, depth, out)?;
                cursor.expect(b'}').ok_or_else(malformed)
            }
            Some(key) if key.starts_with("\"$") => Err(malformed()),
            Some(_) | None => self.entries(cursor, depth, out),
        }
    }

    fn entries(&mut self, cursor: &mut Cursor<'_>, depth: usize, out: &mut String) -> Result<(), StoreError> {
        cursor.expect(b'{').ok_or_else(malformed)?;
        out.push('{');
        if !cursor.eat(b'}') {
            loop {
                out.push_str(cursor.string().ok_or_else(malformed)?);
                cursor.expect(b':').ok_or_else(malformed)?;
                out.push(':');
                self.value(cursor, depth + 1, out)?;
                if !cursor.eat(b',') {
                    break;
                }
                out.push(',');
            }
            cursor.expect(b'}').ok_or_else(malformed)?;
        }
        out.push('}');
        Ok(())
    }

    /// Expands the elements of a list, including those of its groups.
    fn elements(
        &mut self,
        cursor: &mut Cursor<'_>,
        depth: usize,
        is_first: &mut bool,
        out: &mut String,
    ) -> Result<(), StoreError> {
        cursor.expect(b'[').ok_or_else(malformed)?;
        if cursor.eat(b']') {
            return Ok(());
        }
        loop {
            if cursor.first_key() == Some(r#""$chunk""#) {
                let group = self.group(&reference(cursor).ok_or_else(malformed)?)?;
                self.elements(&mut Cursor::new(&group), depth, is_first, out)?;
            } else {
                if !std::mem::take(is_first) {
                    out.push(',');
                }
                self.value(cursor, depth + 1, out)?;
            }
            if !cursor.eat(b',') {
                break;
            }
        }
        cursor.expect(b']').ok_or_else(malformed)
    }

    fn string(&mut self, name: &[u8; 16]) -> Result<String, StoreError> {
        self.body(name, STRING)
    }

    pub(super) fn group(&mut self, name: &[u8; 16]) -> Result<String, StoreError> {
        self.body(name, LIST)
    }

    /// Returns a blob's text, without its type byte.
    fn body(&mut self, name: &[u8; 16], kind: u8) -> Result<String, StoreError> {
        let Some(blob) = (self.blob)(name)? else {
            return Err(StoreError::Damaged(format!("the blob {} is missing", hex(name))));
        };
        let changed = || StoreError::Damaged(format!("the blob {} does not match its hash", hex(name)));
        if hash(&blob.body) != *name || blob.body.first() != Some(&kind) {
            return Err(changed());
        }
        let mut body = blob.body;
        body.remove(0);
        String::from_utf8(body).map_err(|_| changed())
    }
}

/// Consumes `{"$…":"<hash>"}`.
pub(super) fn reference(cursor: &mut Cursor<'_>) -> Option<[u8; 16]> {
    cursor.expect(b'{')?;
    cursor.string()?;
    cursor.expect(b':')?;
    let name = from_hex(cursor.string()?.trim_matches('"'))?;
    cursor.expect(b'}')?;
    Some(name)
}

/// Consumes `{"$map":`.
fn wrapped(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.expect(b'{')?;
    cursor.string()?;
    cursor.expect(b':')
}
