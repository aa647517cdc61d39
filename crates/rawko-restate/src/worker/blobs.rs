//! Large values by hash. They are read outside of the journal: a blob never changes, so a repeated step finds the same,
//! and a conversation is not sent with each of its steps.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_host::HostError;
use rawko_store::{Blob, StoreError, content};

use super::state::passing;
use crate::client::{HandlerTarget, Ingress};
use crate::layout::{BlobText, BlobsAsk, INSTANCE, from_hex, handler, hex};

/// Maximum size of a worker's cache.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum number of names per request.
const NAMES_MAX: usize = 256;

pub(super) type Name = [u8; 16];
/// Referenced blobs, including nested ones.
pub(super) type BlobsByName = HashMap<Name, Arc<[u8]>>;

pub(super) struct Blobs {
    ingress: Ingress,
    memory: Mutex<BlobCache>,
}

#[derive(Default)]
struct BlobCache {
    bodies: HashMap<Name, Arc<[u8]>>,
    /// Oldest first.
    order: VecDeque<Name>,
    bytes: usize,
}

impl Blobs {
    pub(super) fn new(ingress: Ingress) -> Self {
        Self { ingress, memory: Mutex::default() }
    }

    fn memory(&self) -> MutexGuard<'_, BlobCache> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn remember(&self, name: Name, body: Arc<[u8]>) {
        self.memory().remember(name, body);
    }

    /// Returns all blobs that a packed text of an instance refers to, at any depth.
    pub(super) async fn gather(&self, instance: &str, text: &str) -> Result<BlobsByName, HostError> {
        let mut gathered = BlobsByName::new();
        let mut wanted = names_in(text.as_bytes());
        while !wanted.is_empty() {
            wanted.retain(|name| !gathered.contains_key(name));
            let mut next = Vec::new();
            for (name, body) in self.bodies(instance, std::mem::take(&mut wanted)).await? {
                next.extend(names_in(&body));
                gathered.insert(name, body);
            }
            wanted = next;
        }
        Ok(gathered)
    }

    /// Returns the unpacked text.
    pub(super) async fn unpack(
        &self,
        instance: &str,
        text: &str,
    ) -> Result<(String, BlobsByName), HostError> {
        let gathered = self.gather(instance, text).await?;
        let plain = content::unpack(text, &mut |name| {
            Ok(gathered.get(name).map(|body| Blob { hash: *name, body: body.to_vec() }))
        })?;
        Ok((plain, gathered))
    }

    /// One blob of an instance, if it keeps it.
    pub(super) async fn find(&self, instance: &str, name: Name) -> Result<Option<Arc<[u8]>>, HostError> {
        let found = self.bodies(instance, vec![name]).await?;
        Ok(found.into_iter().next().map(|(_, body)| body))
    }

    async fn bodies(
        &self,
        instance: &str,
        mut names: Vec<Name>,
    ) -> Result<Vec<(Name, Arc<[u8]>)>, HostError> {
        names.sort_unstable();
        names.dedup();
        let mut found = Vec::with_capacity(names.len());
        let mut missing = Vec::new();
        for name in names {
            match self.memory().bodies.get(&name) {
                Some(body) => found.push((name, Arc::clone(body))),
                None => missing.push(name),
            }
        }
        while !missing.is_empty() {
            let some = &missing[..missing.len().min(NAMES_MAX)];
            let fetched = self.fetch(instance, some).await?;
            // A response may be incomplete, but only an empty one means that the blobs do not exist.
            if fetched.is_empty() {
                missing.drain(..missing.len().min(NAMES_MAX));
            }
            missing.retain(|name| fetched.iter().all(|(found, _)| found != name));
            found.extend(fetched);
        }
        Ok(found)
    }

    async fn fetch(&self, instance: &str, names: &[Name]) -> Result<Vec<(Name, Arc<[u8]>)>, HostError> {
        let ask = BlobsAsk { names: names.iter().map(|name| hex(name)).collect() };
        let target = HandlerTarget::object(INSTANCE, instance, handler::BLOBS);
        let texts: Vec<BlobText> = self.ingress.look(&target, &ask).await.map_err(passing)?;
        let mut found = Vec::with_capacity(texts.len());
        for BlobText { name, body } in texts {
            let damaged = || StoreError::Damaged(format!("`{name}` is not the name of a blob"));
            let name = from_hex(&name).ok_or_else(damaged)?;
            let body: Arc<[u8]> = body.into_bytes().into();
            self.remember(name, Arc::clone(&body));
            found.push((name, body));
        }
        Ok(found)
    }
}

impl BlobCache {
    fn remember(&mut self, name: Name, body: Arc<[u8]>) {
        let size = body.len();
        if self.bodies.insert(name, body).is_some() {
            return;
        }
        self.order.push_back(name);
        self.bytes += size;
        while self.bytes > BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(body) = self.bodies.remove(&oldest) {
                self.bytes -= body.len();
            }
        }
    }
}

/// Returns the names in a packed text. A string that only looks like a name is harmless, because no such blob exists.
fn names_in(text: &[u8]) -> Vec<Name> {
    let mut names = Vec::new();
    for mark in [&b"{\"$ref\":\""[..], &b"{\"$chunk\":\""[..]] {
        let mut rest = text;
        while let Some(at) = find(rest, mark) {
            rest = &rest[at + mark.len()..];
            let name = rest.get(..32).and_then(|name| std::str::from_utf8(name).ok()).and_then(from_hex);
            names.extend(name);
        }
    }
    names
}

fn find(text: &[u8], mark: &[u8]) -> Option<usize> {
    text.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_packed_texts() {
        let long = "x".repeat(300);
        let list = vec![long.as_str(); 9];
        let text = serde_json::json!({ "a": long, "b": list, "c": "{\"$ref\":\"no\"}" }).to_string();
        let packed = content::pack(&text);
        let direct = names_in(packed.text.as_bytes());
        // The string, and the group of eight of the list; its ninth element is the string again.
        let mut expected: Vec<Name> = packed.blobs.iter().map(|blob| blob.hash).collect();
        let mut found = direct;
        found.sort_unstable();
        found.dedup();
        expected.sort_unstable();
        assert_eq!(found, expected);
        assert!(names_in(b"{\"$ref\":\"00").is_empty());
    }

    #[test]
    fn the_oldest_blobs_are_forgotten_first() {
        let mut memory = BlobCache::default();
        let half: Arc<[u8]> = vec![0; BYTES_MAX / 2].into();
        for number in 0..3_u8 {
            memory.remember([number; 16], Arc::clone(&half));
        }
        assert!(!memory.bodies.contains_key(&[0; 16]));
        assert_eq!((memory.bodies.len(), memory.bytes), (2, 2 * (BYTES_MAX / 2)));
    }
}
