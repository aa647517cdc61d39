//! Traces: OpenTelemetry spans with the GenAI conventions, made out of observations and sent by OTLP over HTTP. Ids are
//! worked out from what the journal has, so that a trace goes on when another process does.

mod attributes;
mod calls;
mod export;
mod instances;
mod proto;
mod settings;
mod span;
mod tracer;
mod variables;

pub(crate) use export::Export;
pub use settings::TraceSettings;
pub(crate) use tracer::Tracer;
pub(crate) use variables::wanted_by;

/// The trace that an instance without a parent begins, as traces and log lines name it.
pub fn trace_id(root: &str, created_ms: i64) -> String {
    crate::lineage::trace_of(root, created_ms).to_string()
}
