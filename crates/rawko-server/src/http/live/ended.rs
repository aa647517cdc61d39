//! `EndedFilter`: the calls whose end was already streamed. The host reports progress separately from the journal, so the
//! progress of a call may arrive together with the step with its result: it is streamed before that step, and dropped after
//! it, where it would belong to a call that never ends.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_core::Effect;
use rawko_host::CallProgress;
use rawko_view::journal::{EntryBody, JournalEntry};

/// Limit on tracked instances. Beyond it, late progress may be streamed.
const KNOWN_MAX: usize = 2_048;

#[derive(Default)]
pub(super) struct EndedFilter {
    by_instance: HashMap<Arc<str>, EndedCalls>,
}

#[derive(Default)]
struct EndedCalls {
    /// All calls requested before this step are over.
    all: u64,
    by_invoke: HashMap<String, u64>,
}

impl EndedFilter {
    /// Records a streamed step, which may have completed a call, stopped calls, or ended the instance.
    pub(super) fn note(&mut self, entry: &JournalEntry) {
        let answered = match &entry.what {
            EntryBody::Answered { invoke, .. } | EntryBody::CallFailed { invoke, .. } => {
                Some(invoke.as_str())
            }
            _ => None,
        };
        let stopped = entry.effects.iter().filter_map(|told| match &told.effect {
            Effect::StopInvoke { id, .. } => Some(&**id),
            _ => None,
        });
        let mut invokes = answered.into_iter().chain(stopped).peekable();
        let is_over = entry.status.is_over();
        if invokes.peek().is_none() && !is_over {
            return;
        }
        if self.by_instance.len() >= KNOWN_MAX {
            self.by_instance.clear();
        }
        let calls = self.by_instance.entry(Arc::clone(&entry.instance)).or_default();
        if is_over {
            *calls = EndedCalls { all: entry.step, by_invoke: HashMap::new() };
            return;
        }
        for invoke in invokes {
            calls.by_invoke.insert(invoke.to_owned(), entry.step);
        }
    }

    /// Returns true if the end of the call was already streamed.
    pub(super) fn covers(&self, told: &CallProgress) -> bool {
        let Some(calls) = self.by_instance.get(&told.instance) else { return false };
        let until = calls.by_invoke.get(&*told.id).copied().unwrap_or_default().max(calls.all);
        // The step that completes a call may start the next one with the same id.
        told.step < until
    }
}
