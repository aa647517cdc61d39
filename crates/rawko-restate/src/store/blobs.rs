//! A cache of blobs, and of references to blobs that will be needed next: they are fetched together, from the instance
//! that refers to them.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_store::Blob;

use crate::layout::from_hex;

/// Approximate size limit; when it is exceeded, the whole cache is cleared.
const BYTES_MAX: usize = 64 << 20;
/// Maximum number of blobs per fetch.
const BATCH_MAX: usize = 200;
/// The syntax of references to blobs in packed text.
const MENTIONS: [&str; 2] = [r#"{"$ref":""#, r#"{"$chunk":""#];
const NAME_LEN: usize = 32;

#[derive(Default)]
pub(super) struct Blobs {
    known: HashMap<[u8; 16], Arc<[u8]>>,
    bytes: usize,
    /// Blobs that were not read yet, and the instance that refers to each.
    wanted: HashMap<[u8; 16], Arc<str>>,
}

impl Blobs {
    pub(super) fn get(&self, name: &[u8; 16]) -> Option<Blob> {
        self.known.get(name).map(|body| Blob { hash: *name, body: body.to_vec() })
    }

    /// Records the blobs that packed texts of an instance refer to.
    pub(super) fn mentioned(&mut self, texts: &[&str], id: &Arc<str>) {
        for name in texts.iter().flat_map(|text| names(text)) {
            if !self.known.contains_key(&name) {
                self.wanted.entry(name).or_insert_with(|| Arc::clone(id));
            }
        }
    }

    /// Returns the instance with a blob, and the other blobs to fetch from there.
    pub(super) fn wanted_with(&self, name: &[u8; 16]) -> Option<(Arc<str>, Vec<[u8; 16]>)> {
        let id = self.wanted.get(name)?;
        let others = self.wanted.iter().filter(|(other, of)| *of == id && *other != name);
        let mut names: Vec<[u8; 16]> = others.map(|(other, _)| *other).take(BATCH_MAX - 1).collect();
        names.push(*name);
        Some((Arc::clone(id), names))
    }

    pub(super) fn keep(&mut self, blob: Blob, id: Option<&Arc<str>>) {
        if self.bytes > BYTES_MAX {
            *self = Self::default();
        }
        if let (Some(id), Ok(text)) = (id, std::str::from_utf8(&blob.body)) {
            self.mentioned(&[text], id);
        }
        self.wanted.remove(&blob.hash);
        self.bytes += blob.body.len();
        self.known.insert(blob.hash, blob.body.into());
    }
}

/// Returns the blob names in a packed text. A string that looks like a reference may yield a false one.
fn names(text: &str) -> Vec<[u8; 16]> {
    let mut found = Vec::new();
    for mention in MENTIONS {
        let parts = text.split(mention).skip(1);
        found.extend(parts.filter_map(|rest| from_hex(rest.get(..NAME_LEN)?)));
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rawko_store::content;

    use super::*;

    /// The names found in a packed text are those that unpacking needs, including those behind a list's groups.
    #[test]
    fn everything_that_unpacking_needs_is_mentioned() {
        let long = "x".repeat(400);
        let list: Vec<String> = (0..40).map(|at| format!("{at}{}", "y".repeat(80))).collect();
        let json = serde_json::json!({ "text": long, "list": list }).to_string();
        let packed = content::pack(&json);
        let id: Arc<str> = "one".into();
        let mut blobs = Blobs::default();
        blobs.mentioned(&[&packed.text], &id);
        let mut fetches = 0;
        let unpacked = content::unpack(&packed.text, &mut |name| {
            if blobs.get(name).is_none() {
                let (from, names) = blobs.wanted_with(name).unwrap();
                assert_eq!(from, id);
                let batch = packed.blobs.iter().filter(|blob| names.contains(&blob.hash)).cloned();
                batch.for_each(|blob| blobs.keep(blob, Some(&id)));
                fetches += 1;
            }
            Ok(blobs.get(name))
        });
        assert_eq!(unpacked.unwrap(), json);
        assert!(fetches <= 3, "{fetches} fetches for {} blobs", packed.blobs.len());
    }
}
