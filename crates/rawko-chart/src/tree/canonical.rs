//! What a tree means apart from how it was written: its hash, and its data as a `Value`.

use std::sync::Arc;

use rawko_core::{Map, Value};

use super::{Data, View};

/// How much is gathered before it is hashed: enough for the hash to work on several pieces at once.
const BATCH_BYTES: usize = 16 * 1024;

/// A hash of the content: the same for YAML and JSON, whatever the white space and comments. Order counts, because
/// document order has a meaning.
pub(crate) fn content_hash(view: View<'_>) -> [u8; 16] {
    let mut out =
        Hashing { hasher: blake3::Hasher::new(), batch: Vec::with_capacity(BATCH_BYTES) };
    write(view, &mut out);
    let mut hash = [0; 16];
    hash.copy_from_slice(&out.finish().as_bytes()[..16]);
    hash
}

/// A hash being made, batch by batch: a copy of the whole text would be the largest piece of memory in loading it.
struct Hashing {
    hasher: blake3::Hasher,
    batch: Vec<u8>,
}

impl Hashing {
    fn push(&mut self, byte: u8) {
        self.extend_from_slice(&[byte]);
    }

    #[inline]
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.batch.len() + bytes.len() > BATCH_BYTES {
            self.flush(bytes);
        } else {
            self.batch.extend_from_slice(bytes);
        }
    }

    /// Fills the batch to the brim, so that every batch but the last is a whole number of the hash's own pieces.
    fn flush(&mut self, mut bytes: &[u8]) {
        while self.batch.len() + bytes.len() > BATCH_BYTES {
            let (now, later) = bytes.split_at(BATCH_BYTES - self.batch.len());
            self.batch.extend_from_slice(now);
            self.hasher.update(&self.batch);
            self.batch.clear();
            bytes = later;
        }
        self.batch.extend_from_slice(bytes);
    }

    fn finish(mut self) -> blake3::Hash {
        self.hasher.update(&self.batch).finalize()
    }
}

/// Every part is preceded by its kind and length, so that no two trees give the same bytes.
fn write(view: View<'_>, out: &mut Hashing) {
    match view.data() {
        Data::Null => out.push(b'n'),
        Data::Bool(value) => out.push(if value { b't' } else { b'f' }),
        Data::Int(value) => {
            out.push(b'i');
            out.extend_from_slice(&value.to_le_bytes());
        }
        Data::Float(value) => {
            out.push(b'd');
            out.extend_from_slice(&value.to_le_bytes());
        }
        Data::Str(text) => write_text(text, out),
        Data::List { len } => {
            out.push(b'[');
            out.extend_from_slice(&len.to_le_bytes());
            view.items().into_iter().flatten().for_each(|item| write(item, out));
        }
        Data::Map { len } => {
            out.push(b'{');
            out.extend_from_slice(&len.to_le_bytes());
            for pair in view.pairs().into_iter().flatten() {
                write_text(pair.key, out);
                write(pair.value, out);
            }
        }
    }
}

fn write_text(text: &str, out: &mut Hashing) {
    let [a, b, c, d] = (text.len() as u32).to_le_bytes();
    out.extend_from_slice(&[b's', a, b, c, d]);
    out.extend_from_slice(text.as_bytes());
}

/// The data of a tree.
pub(crate) fn to_value(view: View<'_>) -> Value {
    match view.data() {
        Data::Null => Value::Null,
        Data::Bool(value) => Value::Bool(value),
        Data::Int(value) => Value::Int(value),
        Data::Float(value) => Value::float(value),
        Data::Str(text) => Value::str(text),
        Data::List { .. } => Value::list(view.items().into_iter().flatten().map(to_value).collect()),
        Data::Map { .. } => {
            let pairs = view.pairs().into_iter().flatten();
            let map: Map = pairs.map(|pair| (Arc::from(pair.key), to_value(pair.value))).collect();
            Value::Map(Arc::new(map))
        }
    }
}
