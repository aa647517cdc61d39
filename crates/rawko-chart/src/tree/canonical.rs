//! The content of a tree independent of its notation: its hash, and its data as a `Value`.

use std::sync::Arc;

use rawko_core::{Map, Value};

use super::{Data, NodeView};

/// Batch size for hashing: large enough for the hash to process several blocks at once.
const BATCH_BYTES: usize = 16 * 1024;

/// Returns a hash of the content: the same for YAML and JSON, independent of white space and comments. Order counts,
/// because document order is significant.
pub(crate) fn content_hash(view: NodeView<'_>) -> [u8; 16] {
    let mut out = CanonicalHasher::new();
    write(view, &mut out);
    let mut hash = [0; 16];
    hash.copy_from_slice(&out.finish().as_bytes()[..16]);
    hash
}

/// An incremental hash: a copy of the whole content would be the largest allocation of loading it.
struct CanonicalHasher {
    hasher: blake3::Hasher,
    batch: Vec<u8>,
    /// Number of bytes in the batch.
    len: usize,
}

impl CanonicalHasher {
    fn new() -> Self {
        Self { hasher: blake3::Hasher::new(), batch: vec![0; BATCH_BYTES], len: 0 }
    }

    /// Adds a part: its kind and length (or value), then its bytes.
    #[inline]
    fn add<const N: usize>(&mut self, kind: u8, head: [u8; N], bytes: &[u8]) {
        let end = self.len + 1 + N + bytes.len();
        let Some(room) = self.batch.get_mut(self.len..end) else {
            return self.add_beyond(kind, &head, bytes);
        };
        room[0] = kind;
        room[1..=N].copy_from_slice(&head);
        room[1 + N..].copy_from_slice(bytes);
        self.len = end;
    }

    #[cold]
    fn add_beyond(&mut self, kind: u8, head: &[u8], bytes: &[u8]) {
        for mut bytes in [&[kind], head, bytes] {
            while self.len + bytes.len() > BATCH_BYTES {
                let (now, later) = bytes.split_at(BATCH_BYTES - self.len);
                self.batch[self.len..].copy_from_slice(now);
                self.hasher.update(&self.batch);
                self.len = 0;
                bytes = later;
            }
            self.batch[self.len..][..bytes.len()].copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    fn finish(mut self) -> blake3::Hash {
        self.hasher.update(&self.batch[..self.len]).finalize()
    }
}

/// Every part is preceded by its kind and length, so that no two trees give the same bytes.
fn write(view: NodeView<'_>, out: &mut CanonicalHasher) {
    match view.data() {
        Data::Null => out.add(b'n', [], &[]),
        Data::Bool(value) => out.add(if value { b't' } else { b'f' }, [], &[]),
        Data::Int(value) => out.add(b'i', value.to_le_bytes(), &[]),
        Data::Float(value) => out.add(b'd', value.to_le_bytes(), &[]),
        Data::Str(text) => write_text(text, out),
        Data::List { len } => {
            out.add(b'[', len.to_le_bytes(), &[]);
            view.each_item().for_each(|item| write(item, out));
        }
        Data::Map { len } => {
            out.add(b'{', len.to_le_bytes(), &[]);
            for pair in view.each_pair() {
                write_text(pair.key, out);
                write(pair.value, out);
            }
        }
    }
}

fn write_text(text: &str, out: &mut CanonicalHasher) {
    out.add(b's', (text.len() as u32).to_le_bytes(), text.as_bytes());
}

/// Returns the data of a tree.
pub(crate) fn to_value(view: NodeView<'_>) -> Value {
    match view.data() {
        Data::Null => Value::Null,
        Data::Bool(value) => Value::Bool(value),
        Data::Int(value) => Value::Int(value),
        Data::Float(value) => Value::float(value),
        Data::Str(text) => Value::str(text),
        Data::List { .. } => Value::list(view.each_item().map(to_value).collect()),
        Data::Map { .. } => {
            let pairs = view.each_pair();
            let map: Map = pairs.map(|pair| (Arc::from(pair.key), to_value(pair.value))).collect();
            Value::Map(Arc::new(map))
        }
    }
}
