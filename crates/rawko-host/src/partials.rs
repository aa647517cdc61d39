//! `Partials`: the text that running calls streamed so far, for clients that connect in the middle of a sentence.
//! Separate from the places that hand it out: the server's streams, and the socket of a host.

use std::collections::HashMap;
use std::sync::Arc;

use crate::progress::CallProgress;
use rawko_core::Value;

/// Limit on tracked calls; the one that is silent for longest is dropped.
const CALLS_MAX: usize = 1_024;
/// Limit on the text of one call, in bytes.
const TEXT_MAX: usize = 256 * 1024;

/// Instance and invoke.
type PartialKey = (Arc<str>, Arc<str>);

/// The text of running calls, bounded in number and size.
#[derive(Default)]
pub struct Partials {
    calls: HashMap<PartialKey, Partial>,
    clock: u64,
}

struct Partial {
    name: Arc<str>,
    step: u64,
    text: String,
    heard: u64,
}

impl Partials {
    /// Adds a piece of text.
    pub fn note(&mut self, told: &CallProgress) {
        if told.data.get("type").as_str() != Some("text_delta") {
            return;
        }
        let Some(text) = told.data.get("text").as_str() else { return };
        self.clock += 1;
        let key = (Arc::clone(&told.instance), Arc::clone(&told.id));
        if !self.calls.contains_key(&key) && self.calls.len() >= CALLS_MAX {
            let silent = self.calls.iter().min_by_key(|(_, call)| call.heard).map(|(key, _)| key.clone());
            silent.into_iter().for_each(|key| drop(self.calls.remove(&key)));
        }
        let new = || Partial { name: Arc::clone(&told.name), step: told.step, text: String::new(), heard: 0 };
        let call = self.calls.entry(key).or_insert_with(new);
        if call.step != told.step {
            // The same invoke was started again.
            *call = new();
        }
        call.heard = self.clock;
        if call.text.len() + text.len() <= TEXT_MAX {
            call.text.push_str(text);
        }
    }

    /// Drops the text of a call whose response is complete.
    pub fn forget(&mut self, told: &CallProgress) {
        self.calls.remove(&(Arc::clone(&told.instance), Arc::clone(&told.id)));
    }

    /// Returns the text of every call as one progress event each.
    pub fn so_far(&self) -> Vec<CallProgress> {
        let event = |((instance, id), call): (&PartialKey, &Partial)| {
            let data = Value::map([("type", Value::str("so_far")), ("text", Value::str(&call.text))]);
            let (instance, id) = (Arc::clone(instance), Arc::clone(id));
            CallProgress { instance, id, name: Arc::clone(&call.name), step: call.step, data }
        };
        self.calls.iter().map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(step: u64, text: &str) -> CallProgress {
        let data = Value::map([("type", Value::str("text_delta")), ("text", Value::str(text))]);
        CallProgress {
            instance: "task".into(),
            id: "complete".into(),
            name: "work:complete".into(),
            step,
            data,
        }
    }

    #[test]
    fn text_is_joined_and_starts_again_with_the_next_call() {
        let mut partials = Partials::default();
        partials.note(&delta(3, "Let me "));
        partials.note(&delta(3, "see."));
        assert_eq!(partials.so_far()[0].data.get("text").as_str(), Some("Let me see."));
        partials.note(&delta(5, "Now"));
        assert_eq!(partials.so_far()[0].data.get("text").as_str(), Some("Now"));
        partials.forget(&delta(5, ""));
        assert!(partials.so_far().is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut partials = Partials::default();
        for number in 0..CALLS_MAX + 10 {
            partials.note(&CallProgress { instance: format!("task-{number}").into(), ..delta(1, "x") });
        }
        assert_eq!(partials.so_far().len(), CALLS_MAX);
        let long = "x".repeat(TEXT_MAX);
        partials.note(&delta(1, &long));
        partials.note(&delta(1, "y"));
        assert!(
            partials.so_far().iter().all(|told| told.data.get("text").as_str().unwrap().len() <= TEXT_MAX)
        );
    }
}
