//! Trace and span ids of instances. They are derived from the instance id, its ancestors and the start time of the
//! root, so that a restarted host continues the same trace.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rawko_store::{NewInstance, Store};

/// Cache limit. Evicted entries can be recomputed.
const KNOWN_MAX: usize = 10_000;
/// Limit on nesting depth. A deeper chain is an error.
const DEPTH_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId(pub(crate) [u8; 16]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanId(pub(crate) [u8; 8]);

/// Hexadecimal, as in traces and log lines.
impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Position of an instance in its trace.
#[derive(Clone, Debug)]
pub(crate) struct Lineage {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    /// Span of the invoking instance.
    pub(crate) parent: Option<SpanId>,
    pub(crate) new: Arc<NewInstance>,
    pub(crate) agent: Option<Arc<str>>,
}

pub(crate) struct Lineages {
    store: Arc<dyn Store>,
    known: HashMap<Arc<str>, Arc<Lineage>>,
}

impl Lineages {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, known: HashMap::new() }
    }

    /// Returns the lineage of an instance that was just observed.
    pub(crate) fn of(&mut self, new: &Arc<NewInstance>) -> Arc<Lineage> {
        if let Some(known) = self.known.get(&new.id) {
            return Arc::clone(known);
        }
        let above = new.parent.as_ref().and_then(|parent| self.find(&parent.id));
        self.enter(Arc::clone(new), above.as_deref())
    }

    /// Looks up an instance by id; `None` if it is not in the store.
    pub(crate) fn find(&mut self, id: &str) -> Option<Arc<Lineage>> {
        let mut below: Vec<Arc<NewInstance>> = Vec::new();
        let mut next: Option<Arc<str>> = Some(id.into());
        let mut above = None;
        while let Some(id) = next.take().filter(|_| below.len() < DEPTH_MAX) {
            if let Some(known) = self.known.get(&id) {
                above = Some(Arc::clone(known));
                break;
            }
            let new = self.store.find(&id).ok().flatten()?.new;
            next = new.parent.as_ref().map(|parent| Arc::clone(&parent.id));
            below.push(Arc::new(new));
        }
        for new in below.into_iter().rev() {
            above = Some(self.enter(new, above.as_deref()));
        }
        above
    }

    pub(crate) fn forget(&mut self, id: &str) {
        self.known.remove(id);
    }

    fn enter(&mut self, new: Arc<NewInstance>, above: Option<&Lineage>) -> Arc<Lineage> {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        let trace = above.map_or_else(|| trace_of(&new.id, new.created_ms), |above| above.trace);
        let lineage = Arc::new(Lineage {
            trace,
            span: span_of(trace, &new.id, ""),
            parent: above.map(|above| above.span),
            agent: new.agent(),
            new,
        });
        self.known.insert(Arc::clone(&lineage.new.id), Arc::clone(&lineage));
        lineage
    }
}

/// Returns the trace id of a root instance and its descendants. The creation time is part of it, because ids are reused
/// across stores.
pub(crate) fn trace_of(root: &str, created_ms: i64) -> TraceId {
    let mut hasher = blake3::Hasher::new_derive_key("rawko 2026 trace id");
    hasher.update(&created_ms.to_le_bytes()).update(root.as_bytes());
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    TraceId(bytes)
}

/// Returns the span id of an instance, or of one operation in it.
pub(crate) fn span_of(trace: TraceId, instance: &str, what: &str) -> SpanId {
    let mut hasher = blake3::Hasher::new_derive_key("rawko 2026 span id");
    hasher.update(&trace.0).update(instance.as_bytes()).update(&[0]).update(what.as_bytes());
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    SpanId(bytes)
}

#[cfg(test)]
mod tests {
    use rawko_store::{Commit, InstanceKey, MemoryStore, ParentInvocation};

    use super::*;

    fn instance(id: &str, parent: Option<&str>) -> NewInstance {
        NewInstance {
            id: id.into(),
            chart: [0; 16],
            chart_id: "order".into(),
            version: "1.0.0".into(),
            parent: parent.map(|id| ParentInvocation {
                id: id.into(),
                invocation: 1,
                invoke: "child".into(),
                generation: 1,
            }),
            origin: None,
            created_ms: 1_700_000_000_000,
            policy: "".into(),
        }
    }

    /// After a restart only the store is left; the ids must be the same.
    #[test]
    fn a_place_is_the_same_seen_live_and_found_in_the_store() {
        let store = MemoryStore::new();
        let family =
            [instance("a", None), instance("a.b.1", Some("a")), instance("a.b.1.c.2", Some("a.b.1"))];
        for (number, new) in family.iter().enumerate() {
            let key = InstanceKey(number as i64 + 1);
            let commit = Commit { instance: key, create: Some(Box::new(new.clone())), ..Commit::default() };
            store.commit(&[commit]).unwrap();
        }
        let store: Arc<dyn Store> = Arc::new(store);
        let mut live = Lineages::new(Arc::clone(&store));
        let seen: Vec<_> = family.iter().map(|new| live.of(&Arc::new(new.clone()))).collect();
        let found = Lineages::new(store).find("a.b.1.c.2").unwrap();
        assert_eq!(
            (found.trace, found.span, found.parent),
            (seen[2].trace, seen[2].span, Some(seen[1].span))
        );
        assert_eq!(seen[1].parent, Some(seen[0].span));
        assert_eq!(seen[0].parent, None);
        assert_ne!(trace_of("a", 1), trace_of("a", 2));
    }
}
