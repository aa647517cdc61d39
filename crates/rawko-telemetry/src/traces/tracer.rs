//! `Tracer`: observations in, spans out. It remembers which calls are under way, because a completion belongs to one, and
//! what the models of an agent took, because its own span says so.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_host::{Calling, Completed, Observation};

use super::export::Export;
use super::span::Span;
use crate::lineage::{Lineage, Lineages, SpanId, span_of};
use crate::relay::Seen;
use rawko_settings::Redactor;

/// Agents whose sums are kept; those of the others are left out of their spans.
const TALLIES_MAX: usize = 10_000;

pub(crate) struct Tracer {
    pub(super) export: Arc<Export>,
    pub(super) redactor: Redactor,
    /// Whether each step has a span.
    pub(super) steps: bool,
    /// By idempotency key.
    pub(super) running: HashMap<Arc<str>, Running>,
    pub(super) tallies: HashMap<Arc<str>, Tally>,
}

/// A call under way.
pub(super) struct Running {
    pub(super) calling: Arc<Calling>,
    /// A completion was told of it.
    pub(super) has_asked: bool,
}

/// What the models of one instance took, while this process watched.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

impl Tally {
    fn add(&mut self, completed: &Completed) {
        self.provider.clone_from(&completed.provider);
        self.model.clone_from(&completed.model);
        self.input_tokens += completed.usage.input_tokens;
        self.output_tokens += completed.usage.output_tokens;
    }
}

impl Tracer {
    pub(crate) fn new(export: Arc<Export>, redactor: Redactor, steps: bool) -> Self {
        Self { export, redactor, steps, running: HashMap::new(), tallies: HashMap::new() }
    }

    pub(crate) fn take(&mut self, seen: Seen, lineages: &mut Lineages) {
        let Seen { observation, at } = seen;
        match observation {
            Observation::Committed(committed) => {
                let lineage = lineages.of(&committed.instance);
                self.committed(&committed, &lineage, at);
                if committed.status.is_over() {
                    self.tallies.remove(&committed.instance.id);
                    lineages.forget(&committed.instance.id);
                }
            }
            Observation::Calling(calling) => {
                let running = Running { calling: Arc::clone(&calling), has_asked: false };
                self.running.insert(Arc::clone(&calling.idempotency), running);
            }
            Observation::Called(called) => {
                let running = self.running.remove(&called.calling.idempotency);
                if let Some(lineage) = lineages.find(&called.calling.instance) {
                    self.called(&called, running.is_some_and(|running| running.has_asked), &lineage);
                }
            }
            Observation::Completed(completed) => self.completed(&completed, lineages),
            Observation::Troubled { .. } => {}
        }
    }

    fn completed(&mut self, completed: &Completed, lineages: &mut Lineages) {
        let Some(running) = self.call_of(&completed.idempotency) else { return };
        running.has_asked = true;
        let calling = Arc::clone(&running.calling);
        let Some(lineage) = lineages.find(&calling.instance) else { return };
        if self.tallies.len() < TALLIES_MAX || self.tallies.contains_key(&calling.instance) {
            self.tallies.entry(Arc::clone(&calling.instance)).or_default().add(completed);
        }
        self.chat(completed, &calling, &lineage);
    }

    /// The call that a completion belongs to: its key begins with the call's.
    fn call_of(&mut self, key: &str) -> Option<&mut Running> {
        let belongs = |own: &str| {
            key.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-']))
        };
        let own = self.running.keys().filter(|own| belongs(own)).max_by_key(|own| own.len()).cloned()?;
        self.running.get_mut(&own)
    }

    pub(super) fn emit(&self, span: Span) {
        self.export.send(span.clean(&self.redactor));
    }
}

/// The span of a call. With the moment it began, because a call that a host could not finish is made again.
pub(super) fn call_span(lineage: &Lineage, calling: &Calling) -> SpanId {
    let began = calling.started.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    let what = format!("call {}/{} {}", calling.step, calling.index, began.as_nanos());
    span_of(lineage.trace, &lineage.new.id, &what)
}
