//! Packing of values: the same form as that of their text, without writing the text first. A long list that grows at its
//! end is packed where it grew: a conversation of a thousand messages is a part of every request to the model, and would
//! otherwise be written and hashed whole each time.

use std::sync::Arc;

use rawko_core::{Map, Value};
use rustc_hash::FxHashSet;

use super::{GROUP_LEN, LARGE_BYTES, LIST, STRING, hash, hex};
use crate::records::Blob;

/// Lists of at least this length are remembered.
const LONG_LEN: usize = 64;
/// Number of lists that are remembered; an instance rarely has more than one that is long and grows.
const LISTS_MAX: usize = 4;

/// The long lists that an instance packed last. Their groups are stored with its earlier steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedLists {
    lists: Arc<Vec<PackedList>>,
}

#[derive(Clone, Debug)]
struct PackedList {
    items: Arc<Vec<Value>>,
    levels: GroupLevels,
}

/// Groups in progress, from the lowest level up: each has fewer units than a group.
#[derive(Clone, Debug, Default)]
struct GroupLevels(Vec<Vec<String>>);

/// Returns true if a list is worth remembering.
pub(crate) fn is_long_list(items: &[Value]) -> bool {
    items.len() >= LONG_LEN
}

impl PackedLists {
    /// Packs a value. Blobs that an earlier packing of the same list returned are not returned again.
    pub(crate) fn pack(&mut self, value: &Value) -> (String, Vec<Blob>) {
        let mut packer = ValuePacker { lists: self, taken: FxHashSet::default(), blobs: Vec::new() };
        let mut out = String::new();
        packer.value(value, &mut out);
        (out, packer.blobs)
    }

    /// Takes the list out that this one begins with.
    fn take_beginning(&mut self, items: &[Value]) -> Option<PackedList> {
        let begins = |known: &PackedList| {
            known.items.len() <= items.len()
                && known.items.iter().zip(items).all(|(known, item)| known.is_identical(item))
        };
        let at = self.lists.iter().position(begins)?;
        Some(Arc::make_mut(&mut self.lists).remove(at))
    }

    fn remember(&mut self, list: PackedList) {
        let lists = Arc::make_mut(&mut self.lists);
        if lists.len() == LISTS_MAX {
            lists.remove(0);
        }
        lists.push(list);
    }
}

struct ValuePacker<'l> {
    lists: &'l mut PackedLists,
    taken: FxHashSet<[u8; 16]>,
    blobs: Vec<Blob>,
}

impl ValuePacker<'_> {
    fn value(&mut self, value: &Value, out: &mut String) {
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => out.push_str(&json(value)),
            Value::Str(text) => self.string(text, out),
            Value::List(items) => self.list(items, out),
            Value::Map(map) => self.map(map, out),
        }
    }

    fn string(&mut self, text: &str, out: &mut String) {
        if text.len() < LARGE_BYTES {
            let token = json(text);
            // Two bytes are the quotes; escapes may make a short text long.
            if token.len() < LARGE_BYTES + 2 {
                return out.push_str(&token);
            }
        }
        let mut body = Vec::with_capacity(text.len() + 1);
        body.push(STRING);
        body.extend_from_slice(text.as_bytes());
        out.push_str(&format!(r#"{{"$ref":"{}"}}"#, self.take(body)));
    }

    fn map(&mut self, map: &Map, out: &mut String) {
        let looks_like_ours = map.keys().any(|key| key.starts_with('$'));
        if looks_like_ours {
            out.push_str(r#"{"$map":"#);
        }
        out.push('{');
        for (at, (key, value)) in map.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&json(&**key));
            out.push(':');
            self.value(value, out);
        }
        out.push('}');
        if looks_like_ours {
            out.push('}');
        }
    }

    fn list(&mut self, items: &Arc<Vec<Value>>, out: &mut String) {
        let known = if items.len() >= LONG_LEN { self.lists.take_beginning(items) } else { None };
        let (from, mut levels) = known.map_or((0, GroupLevels::default()), |it| (it.items.len(), it.levels));
        for item in &items[from..] {
            let mut unit = String::new();
            self.value(item, &mut unit);
            self.add(&mut levels, unit);
        }
        levels.write(out);
        if items.len() >= LONG_LEN {
            self.lists.remember(PackedList { items: Arc::clone(items), levels });
        }
    }

    /// Adds a unit to the lowest level; a full group becomes a unit of the next one.
    fn add(&mut self, levels: &mut GroupLevels, unit: String) {
        let (mut level, mut unit) = (0, unit);
        loop {
            if levels.0.len() == level {
                levels.0.push(Vec::with_capacity(GROUP_LEN));
            }
            let units = &mut levels.0[level];
            units.push(unit);
            if units.len() < GROUP_LEN {
                return;
            }
            let joined = std::mem::take(units).join(",");
            unit = self.group(joined);
            level += 1;
        }
    }

    fn group(&mut self, joined: String) -> String {
        if joined.len() < LARGE_BYTES {
            return joined;
        }
        let mut body = Vec::with_capacity(joined.len() + 3);
        body.extend_from_slice(&[LIST, b'[']);
        body.extend_from_slice(joined.as_bytes());
        body.push(b']');
        format!(r#"{{"$chunk":"{}"}}"#, self.take(body))
    }

    /// Stores a blob, once, and returns its name.
    fn take(&mut self, body: Vec<u8>) -> String {
        let name = hash(&body);
        if self.taken.insert(name) {
            self.blobs.push(Blob { hash: name, body });
        }
        hex(&name)
    }
}

impl GroupLevels {
    /// Writes the list, the highest level first: its units stand for the first elements.
    fn write(&self, out: &mut String) {
        out.push('[');
        let units = self.0.iter().rev().flatten();
        for (at, unit) in units.enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(unit);
        }
        out.push(']');
    }
}

/// Serialising our own types to a string cannot fail.
fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::content;

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

    fn bodies(blobs: &[Blob]) -> BTreeMap<[u8; 16], &[u8]> {
        blobs.iter().map(|blob| (blob.hash, &*blob.body)).collect()
    }

    #[test]
    fn values_pack_as_their_text_does() {
        for length in [0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 700] {
            let list: Vec<Value> = (0..length).map(item).collect();
            let value = Value::map([("messages", Value::list(list)), ("session", item(39))]);
            let text = json(&value);
            let expected = content::pack(&text);
            let (packed, blobs) = PackedLists::default().pack(&value);
            assert_eq!(packed, expected.text, "{length}");
            assert_eq!(bodies(&blobs), bodies(&expected.blobs), "{length}");
        }
    }

    #[test]
    fn a_list_that_grew_is_packed_where_it_grew() {
        let mut lists = PackedLists::default();
        let mut stored = FxHashSet::default();
        let mut items: Vec<Value> = Vec::new();
        for length in [60, 64, 66, 200, 201, 201, 400, 390, 391] {
            items.truncate(length);
            (items.len()..length).for_each(|number| items.push(item(number)));
            let value = Value::map([("messages", Value::list(items.clone()))]);
            let (packed, blobs) = lists.pack(&value);
            let text = json(&value);
            let expected = content::pack(&text);
            assert_eq!(packed, expected.text, "{length}");
            stored.extend(blobs.iter().map(|blob| blob.hash));
            let missing = expected.blobs.iter().filter(|blob| !stored.contains(&blob.hash)).count();
            assert_eq!(missing, 0, "{length}: all blobs were returned now or before");
            if length == 201 || length == 391 {
                assert!(blobs.len() < 4, "{length}: {} blobs of {}", blobs.len(), expected.blobs.len());
            }
        }
    }
}
