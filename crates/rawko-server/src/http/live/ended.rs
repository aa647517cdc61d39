//! `Ended`: which calls are over for those who listen. The host tells progress beside the journal, so that a call's last
//! words may be found after the step that answers it; told then, they would seem to be of a call that never ends.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_core::Effect;
use rawko_host::Progress;
use rawko_view::journal::{Entry, What};

/// More instances are not remembered; the worst of it is words that come late.
const KNOWN_MAX: usize = 2_048;

#[derive(Default)]
pub(super) struct Ended {
    by_instance: HashMap<Arc<str>, Calls>,
}

#[derive(Default)]
struct Calls {
    /// Everything that was asked for before this step is over.
    all: u64,
    by_invoke: HashMap<String, u64>,
}

impl Ended {
    /// A step was told: it may have answered a call, stopped some, or ended the instance with all of them.
    pub(super) fn note(&mut self, entry: &Entry) {
        let answered = match &entry.what {
            What::Answered { invoke, .. } | What::CallFailed { invoke, .. } => Some(invoke.as_str()),
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
            *calls = Calls { all: entry.step, by_invoke: HashMap::new() };
            return;
        }
        for invoke in invokes {
            calls.by_invoke.insert(invoke.to_owned(), entry.step);
        }
    }

    /// Whether it is of a call whose end was told.
    pub(super) fn covers(&self, told: &Progress) -> bool {
        let Some(calls) = self.by_instance.get(&told.instance) else { return false };
        let until = calls.by_invoke.get(&*told.id).copied().unwrap_or_default().max(calls.all);
        // A step that answers a call may ask for the next one of the same name.
        told.step < until
    }
}
