//! `Tracer`: observations in, spans out. It tracks running calls, because a completion belongs to one, and the token
//! usage of an agent, which is reported in the agent's span.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_host::{HostEvent, ObservedCall, ObservedCompletion};

use super::export::Export;
use super::span::TraceSpan;
use crate::lineage::{Lineage, Lineages, SpanId, span_of};
use crate::relay::TimedObservation;
use rawko_settings::Redactor;

/// Limit on agents with tracked usage; the spans of further agents omit it.
const TALLIES_MAX: usize = 10_000;

pub(crate) struct Tracer {
    pub(super) export: Arc<Export>,
    pub(super) redactor: Redactor,
    /// Create a span for each step.
    pub(super) steps: bool,
    /// Running calls by idempotency key.
    pub(super) running: HashMap<Arc<str>, RunningSpan>,
    pub(super) tallies: HashMap<Arc<str>, UsageTally>,
}

/// A running call.
pub(super) struct RunningSpan {
    pub(super) calling: Arc<ObservedCall>,
    /// True if a completion was observed for it.
    pub(super) has_asked: bool,
}

/// Model usage of one instance, observed by this process.
#[derive(Default)]
pub(super) struct UsageTally {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

impl UsageTally {
    fn add(&mut self, completed: &ObservedCompletion) {
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

    pub(crate) fn take(&mut self, seen: TimedObservation, lineages: &mut Lineages) {
        let TimedObservation { observation, at } = seen;
        match observation {
            HostEvent::Committed(committed) => {
                let lineage = lineages.of(&committed.instance);
                self.committed(&committed, &lineage, at);
                if committed.status.is_over() {
                    self.tallies.remove(&committed.instance.id);
                    lineages.forget(&committed.instance.id);
                }
            }
            HostEvent::Calling(calling) => {
                let running = RunningSpan { calling: Arc::clone(&calling), has_asked: false };
                self.running.insert(Arc::clone(&calling.idempotency), running);
            }
            HostEvent::Called(called) => {
                let running = self.running.remove(&called.calling.idempotency);
                if let Some(lineage) = lineages.find(&called.calling.instance) {
                    self.called(&called, running.is_some_and(|running| running.has_asked), &lineage);
                }
            }
            HostEvent::Completed(completed) => self.completed(&completed, lineages),
            HostEvent::Troubled { .. } => {}
        }
    }

    fn completed(&mut self, completed: &ObservedCompletion, lineages: &mut Lineages) {
        let Some(running) = self.call_of(&completed.idempotency) else { return };
        running.has_asked = true;
        let calling = Arc::clone(&running.calling);
        let Some(lineage) = lineages.find(&calling.instance) else { return };
        if self.tallies.len() < TALLIES_MAX || self.tallies.contains_key(&calling.instance) {
            self.tallies.entry(Arc::clone(&calling.instance)).or_default().add(completed);
        }
        self.chat(completed, &calling, &lineage);
    }

    /// Finds the call of a completion, whose key starts with the key of the call.
    fn call_of(&mut self, key: &str) -> Option<&mut RunningSpan> {
        let belongs = |own: &str| {
            key.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-']))
        };
        let own = self.running.keys().filter(|own| belongs(own)).max_by_key(|own| own.len()).cloned()?;
        self.running.get_mut(&own)
    }

    pub(super) fn emit(&self, span: TraceSpan) {
        self.export.send(span.clean(&self.redactor));
    }
}

/// Returns the span id of a call. Includes the start time, because a call that was interrupted is made again.
pub(super) fn call_span(lineage: &Lineage, calling: &ObservedCall) -> SpanId {
    let began = calling.started.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    let what = format!("call {}/{} {}", calling.step, calling.index, began.as_nanos());
    span_of(lineage.trace, &lineage.new.id, &what)
}
