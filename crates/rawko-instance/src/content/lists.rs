//! Reading packed texts without their long lists. A conversation of a thousand messages is a part of most records of an
//! agent, as a few references; a reader of many records parses only the new messages, and shares the rest.

use std::cell::Cell;
use std::sync::Arc;

use rawko_core::Value;
use rustc_hash::FxHashMap;

use super::scan::Cursor;
use super::unpack::{Unpacker, malformed, reference};
use super::{Lookup, unpack};
use crate::error::StoreError;

/// Forms of marks. Data that looks like a mark of one form makes the reader use the next.
const FORMS: u8 = 4;
/// Lists that are remembered whole; the records of one step have the same ones.
const LISTS_MAX: usize = 4;
/// Items of remembered groups. Beyond that all groups are dropped, and read again when they occur again.
const ITEMS_MAX: usize = 65_536;

/// Reads packed texts one after another, and remembers the groups of their long lists.
#[derive(Debug, Default)]
pub struct ListReader {
    /// Items by name of the group.
    groups: FxHashMap<[u8; 16], Arc<Vec<Value>>>,
    /// Number of items in these groups.
    items: usize,
    /// The last lists, by their packed text.
    lists: Vec<(String, Arc<Vec<Value>>)>,
}

/// An unpacked text in which marks stand for its long lists.
#[derive(Debug)]
pub struct ShortText {
    text: String,
    form: u8,
    lists: Vec<Value>,
    /// Number of marks that were replaced by their lists.
    restored: Cell<usize>,
}

impl ShortText {
    /// The text with its marks, as JSON.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if marks stand for lists in this text.
    pub fn has_lists(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Replaces all marks in a value that was parsed from this text by their lists.
    pub fn restore(&self, value: &mut Value) {
        if self.lists.is_empty() {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
            Value::Str(text) => {
                if let Some(list) = self.list(text) {
                    self.restored.set(self.restored.get() + 1);
                    *value = list.clone();
                }
            }
            Value::List(items) => Arc::make_mut(items).iter_mut().for_each(|item| self.restore(item)),
            Value::Map(map) => Arc::make_mut(map).values_mut().for_each(|value| self.restore(value)),
        }
    }

    /// Returns true if every list is in its place. If not, one is in a place that holds no [`Value`], and the text has to
    /// be unpacked whole.
    pub fn is_restored(&self) -> bool {
        self.restored.get() == self.lists.len()
    }

    fn list(&self, text: &str) -> Option<&Value> {
        let number = text.strip_prefix(&mark_start(self.form))?.parse::<usize>().ok()?;
        self.lists.get(number)
    }
}

/// Returns the beginning of a mark: a text that no data of a chart is likely to have.
pub(crate) fn mark_start(form: u8) -> String {
    format!("\u{1}{form}:")
}

/// Returns the beginning of a mark as JSON.
pub(crate) fn mark_token_start(form: u8) -> String {
    format!("\"\\u0001{form}:")
}

/// The lists of one text, taken out of it.
struct TakenLists<'l> {
    reader: &'l mut ListReader,
    form: u8,
    lists: Vec<Value>,
}

impl ListReader {
    /// Unpacks a text, with marks in place of its long lists.
    pub fn shorten(&mut self, packed: &str, blob: &mut Lookup<'_>) -> Result<ShortText, StoreError> {
        if packed.contains("\"$chunk\"") {
            for form in 0..FORMS {
                let mut taken = TakenLists { reader: self, form, lists: Vec::new() };
                let text = taken.unpack(packed, blob)?;
                let lists = taken.lists;
                if text.matches(&mark_token_start(form)).count() == lists.len() {
                    return Ok(ShortText { text, form, lists, restored: Cell::new(0) });
                }
            }
        }
        let text = unpack(packed, blob)?;
        Ok(ShortText { text, form: 0, lists: Vec::new(), restored: Cell::new(0) })
    }

    /// Returns a list by its packed text.
    fn list(&mut self, packed: &str, blob: &mut Lookup<'_>) -> Result<Arc<Vec<Value>>, StoreError> {
        if let Some((_, items)) = self.lists.iter().find(|(known, _)| known == packed) {
            return Ok(Arc::clone(items));
        }
        let mut items = Vec::new();
        self.add_elements(packed, &mut items, blob)?;
        let items = Arc::new(items);
        if self.lists.len() == LISTS_MAX {
            self.lists.remove(0);
        }
        self.lists.push((packed.to_owned(), Arc::clone(&items)));
        Ok(items)
    }

    fn add_elements(
        &mut self,
        packed: &str,
        items: &mut Vec<Value>,
        blob: &mut Lookup<'_>,
    ) -> Result<(), StoreError> {
        let mut cursor = Cursor::new(packed);
        cursor.expect(b'[').ok_or_else(malformed)?;
        if cursor.eat(b']') {
            return Ok(());
        }
        loop {
            if cursor.first_key() == Some(r#""$chunk""#) {
                let name = reference(&mut cursor).ok_or_else(malformed)?;
                items.extend_from_slice(&self.group(name, blob)?);
            } else {
                let mut text = String::new();
                Unpacker::new(blob).value(&mut cursor, 0, &mut text)?;
                items.push(serde_json::from_str(&text).map_err(|_| malformed())?);
            }
            if !cursor.eat(b',') {
                break;
            }
        }
        cursor.expect(b']').ok_or_else(malformed)
    }

    fn group(&mut self, name: [u8; 16], blob: &mut Lookup<'_>) -> Result<Arc<Vec<Value>>, StoreError> {
        if let Some(items) = self.groups.get(&name) {
            return Ok(Arc::clone(items));
        }
        let packed = Unpacker::new(blob).group(&name)?;
        let mut items = Vec::new();
        self.add_elements(&packed, &mut items, blob)?;
        if self.items > ITEMS_MAX {
            self.groups.clear();
            self.items = 0;
        }
        self.items += items.len();
        let items = Arc::new(items);
        self.groups.insert(name, Arc::clone(&items));
        Ok(items)
    }
}

impl TakenLists<'_> {
    fn unpack(&mut self, packed: &str, blob: &mut Lookup<'_>) -> Result<String, StoreError> {
        let mut out = String::with_capacity(2 * packed.len());
        let mut cursor = Cursor::new(packed);
        let mut take = |list: &str, blob: &mut Lookup<'_>| self.take(list, blob);
        Unpacker::taking(blob, &mut take).value(&mut cursor, 0, &mut out)?;
        if cursor.is_at_end() { Ok(out) } else { Err(malformed()) }
    }

    /// Takes a list out and returns the mark in its place, as JSON.
    fn take(&mut self, packed: &str, blob: &mut Lookup<'_>) -> Result<String, StoreError> {
        let items = self.reader.list(packed, blob)?;
        self.lists.push(Value::List(items));
        Ok(format!("{}{}\"", mark_token_start(self.form), self.lists.len() - 1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::content;
    use crate::records::Blob;

    #[derive(Default)]
    struct Stored {
        blobs: BTreeMap<[u8; 16], Blob>,
        reads: usize,
    }

    impl Stored {
        fn pack(&mut self, value: &Value) -> String {
            let text = serde_json::to_string(value).unwrap();
            let packed = content::pack(&text);
            self.blobs.extend(packed.blobs.into_iter().map(|blob| (blob.hash, blob)));
            packed.text.into_owned()
        }

        /// Reads a text with the reader, and checks that it is the value.
        fn check(&mut self, reader: &mut ListReader, value: &Value) -> ShortText {
            let packed = self.pack(value);
            let mut look_up = |name: &[u8; 16]| {
                self.reads += 1;
                Ok(self.blobs.get(name).cloned())
            };
            let short = reader.shorten(&packed, &mut look_up).unwrap();
            let mut read: Value = serde_json::from_str(short.text()).unwrap();
            short.restore(&mut read);
            assert!(short.is_restored());
            assert!(read.is_identical(value), "{read} instead of {value}");
            short
        }
    }

    fn item(number: usize) -> Value {
        let text = "a \"quoted\" line\n".repeat(number % 40);
        let parts = Value::list(vec![Value::from(text), Value::Int(7), Value::Null]);
        match number % 4 {
            0 => Value::map([("role", Value::str("user")), ("parts", parts)]),
            1 => Value::map([("$odd", Value::Bool(true)), ("x", Value::Float(0.5))]),
            2 => Value::list((0..20).take(number % 20).map(Value::Int).collect()),
            _ => Value::str(&"\u{1}".repeat(number % 60)),
        }
    }

    fn request(length: usize) -> Value {
        let messages = Value::list((0..length).map(item).collect());
        Value::map([
            ("messages", messages.clone()),
            ("session", item(39)),
            ("more", Value::list(vec![messages])),
        ])
    }

    #[test]
    fn texts_are_read_whole() {
        let (mut stored, mut reader) = (Stored::default(), ListReader::default());
        for length in [0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 700, 3] {
            stored.check(&mut reader, &request(length));
        }
        assert!(stored.check(&mut reader, &Value::list((0..100).map(item).collect())).text().len() < 20);
    }

    #[test]
    fn a_list_that_grew_is_read_where_it_grew() {
        let (mut stored, mut reader) = (Stored::default(), ListReader::default());
        stored.check(&mut reader, &request(2_000));
        let before = stored.reads;
        let short = stored.check(&mut reader, &request(2_001));
        // The text of `session`, and those of the elements that are in no group yet.
        assert!(stored.reads - before < 30, "{} blobs", stored.reads - before);
        assert!(short.text().len() < 2_000, "{}", short.text());
    }

    #[test]
    fn data_that_looks_like_a_mark_is_kept() {
        let (mut stored, mut reader) = (Stored::default(), ListReader::default());
        let list = Value::list((0..100).map(item).collect());
        let marks = |forms: std::ops::Range<u8>| {
            Value::list(forms.map(|form| Value::from(format!("{}0", mark_start(form)))).collect())
        };
        let looks = |forms| Value::map([("marks", marks(forms)), ("list", list.clone())]);
        assert_eq!(stored.check(&mut reader, &looks(0..1)).form, 1);
        assert!(stored.check(&mut reader, &looks(0..FORMS)).lists.is_empty(), "every form occurs");
    }

    #[test]
    fn groups_are_dropped_before_they_are_too_many() {
        let (mut stored, mut reader) = (Stored::default(), ListReader::default());
        for first in 0..6 {
            let items = (0..20_000).map(|number| Value::from(format!("{first} {number} {}", "x".repeat(40))));
            stored.check(&mut reader, &Value::list(items.collect()));
            assert!(reader.items < 2 * ITEMS_MAX, "{}", reader.items);
            assert!(reader.lists.len() <= LISTS_MAX);
        }
    }

    #[test]
    fn a_list_in_another_place_is_noticed() {
        let (mut stored, mut reader) = (Stored::default(), ListReader::default());
        let short = stored.check(&mut reader, &Value::list((0..100).map(item).collect()));
        short.restored.set(0);
        assert!(serde_json::from_str::<Vec<Value>>(short.text()).is_err() && !short.is_restored());
    }

    #[test]
    fn a_missing_group_is_an_error() {
        let packed = Stored::default().pack(&request(100));
        assert!(ListReader::default().shorten(&packed, &mut |_| Ok(None)).is_err());
    }
}
