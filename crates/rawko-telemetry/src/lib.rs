//! Telemetry: turns host observations into traces with the GenAI conventions, Prometheus metrics, and log lines. The
//! host only reports facts; spans, names and exporters are defined here, and nothing here can block a step.
//!
//! ```
//! use std::sync::Arc;
//! use rawko_store::MemoryStore;
//! use rawko_telemetry::{TelemetryPlan, Telemetry};
//!
//! // Without traces, logs or metrics there is no observer, and the host does no work for telemetry.
//! let telemetry = Telemetry::start(TelemetryPlan::default(), Arc::new(MemoryStore::new()))?;
//! assert!(telemetry.is_none());
//!
//! let plan = TelemetryPlan { metrics: true, ..TelemetryPlan::default() };
//! let telemetry = Telemetry::start(plan, Arc::new(MemoryStore::new()))?.ok_or("metrics were asked for")?;
//! assert!(telemetry.metrics().render().contains("rawko_steps_total"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod lineage;
mod logs;
mod metrics;
mod relay;
mod settings;
mod telemetry;
mod traces;

pub use logs::{LogFormat, LogLevel, LogSettings, Logs};
pub use metrics::{Metrics, Readings, StreamClient};
pub use rawko_settings::Redactor;
pub use settings::{TelemetryProblems, TelemetrySettings};
pub use telemetry::{Telemetry, TelemetryError, TelemetryPlan};
pub use traces::{TraceSettings, trace_id};
