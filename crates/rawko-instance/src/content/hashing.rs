//! `InputHasher`: the hash of a call's input as JSON. Of an input whose long list grew at its end, only the new items are
//! written and hashed: a conversation would otherwise be hashed whole for every request to the model.

use std::sync::Arc;

use rawko_core::{Map, Value};

use super::values::is_long_list;

/// Remembers the state of the hash at the end of the last long list.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputHasher {
    last: Option<Arc<HashState>>,
}

/// An entry of an input.
type InputEntry = (Arc<str>, Value);

/// The beginning of an input, up to the last item of its long list.
#[derive(Debug)]
struct HashState {
    /// The entries before the list, then its key.
    before: Vec<InputEntry>,
    key: Arc<str>,
    items: Arc<Vec<Value>>,
    hasher: blake3::Hasher,
}

impl HashState {
    fn is_of(&self, map: &Map, at: usize, key: &str, items: &[Value]) -> bool {
        let is_same = |((key, value), (known, before)): ((&Arc<str>, &Value), &InputEntry)| {
            key == known && value.is_identical(before)
        };
        at == self.before.len()
            && *self.key == *key
            && map.iter().zip(&self.before).all(is_same)
            && self.items.len() <= items.len()
            && self.items.iter().zip(items).all(|(known, item)| known.is_identical(item))
    }
}

impl InputHasher {
    /// Returns the content hash of the input's JSON text.
    pub(crate) fn hash(&mut self, input: &Value) -> [u8; 16] {
        match input.as_map().and_then(long_list) {
            Some((map, at, key, items)) => self.hash_grown(map, at, key, items),
            None => super::hash(json(input).as_bytes()),
        }
    }

    fn hash_grown(&mut self, map: &Map, at: usize, key: &Arc<str>, items: &Arc<Vec<Value>>) -> [u8; 16] {
        let known = self.last.take().filter(|known| known.is_of(map, at, key, items));
        let (mut hasher, from) = match &known {
            Some(known) => (known.hasher.clone(), known.items.len()),
            None => (blake3::Hasher::new(), 0),
        };
        if known.is_none() {
            let entries: String = map
                .iter()
                .take(at)
                .map(|(key, value)| format!("{}:{},", json(&**key), json(value)))
                .collect();
            hasher.update(format!("{{{entries}{}:[", json(&**key)).as_bytes());
        }
        for (number, item) in items.iter().enumerate().skip(from) {
            if number > 0 {
                hasher.update(b",");
            }
            hasher.update(json(item).as_bytes());
        }
        let before = match known {
            Some(known) => {
                Arc::try_unwrap(known).map_or_else(|known| known.before.clone(), |known| known.before)
            }
            None => map.iter().take(at).map(|(key, value)| (Arc::clone(key), value.clone())).collect(),
        };
        let (key, items) = (Arc::clone(key), Arc::clone(items));
        self.last = Some(Arc::new(HashState { before, key, items, hasher: hasher.clone() }));
        let after = map.iter().skip(at + 1).map(|(key, value)| format!(",{}:{}", json(&**key), json(value)));
        hasher.update(format!("]{}}}", after.collect::<String>()).as_bytes());
        let mut name = [0; 16];
        name.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        name
    }
}

type LongList<'m> = (&'m Map, usize, &'m Arc<str>, &'m Arc<Vec<Value>>);

/// Returns the first long list of a map, with its position.
fn long_list(map: &Map) -> Option<LongList<'_>> {
    map.iter().enumerate().find_map(|(at, (key, value))| match value {
        Value::List(items) if is_long_list(items) => Some((map, at, key, items)),
        Value::List(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Str(_)
        | Value::Map(_) => None,
    })
}

/// Serialising our own types to a string cannot fail.
fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(session: i64, messages: i64, attempt: Option<i64>) -> Value {
        let message = |number| Value::map([("role", Value::str("us\"er")), ("number", Value::Int(number))]);
        let attempt = attempt.map(|attempt| ("attempt", Value::Int(attempt)));
        let entries = [
            ("session", Value::map([("number", Value::Int(session)), ("nothing", Value::Null)])),
            ("messages", Value::list((0..messages).map(message).collect())),
        ];
        Value::map(entries.into_iter().chain(attempt))
    }

    #[test]
    fn the_hash_is_that_of_the_text() {
        let mut hasher = InputHasher::default();
        let whole = |value: &Value| crate::content::hash(json(value).as_bytes());
        for messages in [0, 1, 63, 64, 65, 65, 70, 1_000, 1_002, 900, 901, 64, 3, 80] {
            for (session, attempt) in [(1, Some(1)), (1, Some(2)), (1, None), (2, None), (2, Some(1))] {
                let input = input(session, messages, attempt);
                assert_eq!(hasher.hash(&input), whole(&input), "{session} {messages} {attempt:?}");
            }
        }
        let first = Value::map([("messages", input(1, 100, None).get("messages").clone())]);
        assert_eq!(hasher.hash(&first), whole(&first));
        let changed = Value::list(first.get("messages").as_list().unwrap()[1..].to_vec());
        let changed = Value::map([("messages", changed)]);
        assert_eq!(hasher.hash(&changed), whole(&changed));
        assert_eq!(hasher.hash(&Value::Null), whole(&Value::Null));
    }

    #[test]
    fn a_list_that_grew_is_hashed_where_it_grew() {
        let mut hasher = InputHasher::default();
        hasher.hash(&input(1, 1_000, Some(1)));
        let first = hasher.last.clone().unwrap();
        hasher.hash(&input(1, 1_001, Some(1)));
        let next = hasher.last.clone().unwrap();
        let grown = next.hasher.count() - first.hasher.count();
        assert!(grown < 100, "{grown} bytes");
    }
}
