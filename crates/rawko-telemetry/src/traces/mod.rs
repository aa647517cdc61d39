//! Traces: OpenTelemetry spans with the GenAI conventions, created from observations and sent by OTLP over HTTP. Ids
//! are derived from the journal, so a trace continues across processes.

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

/// Returns the trace id of a root instance, in the format of traces and log lines.
pub fn trace_id(root: &str, created_ms: i64) -> String {
    crate::lineage::trace_of(root, created_ms).to_string()
}
