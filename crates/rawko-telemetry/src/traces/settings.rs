//! Settings of trace export: destination and content.

use std::collections::BTreeMap;
use std::fmt;

/// Trace settings. The standard variables (`OTEL_…`) override them.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// Collector URL, such as `http://127.0.0.1:4318`; `None`: from the environment.
    pub endpoint: Option<String>,
    /// Sent with each batch; may contain secrets.
    pub headers: BTreeMap<String, String>,
    /// Name of this service in traces; `None`: `rawko`.
    pub service_name: Option<String>,
    /// Include prompts, responses, and the inputs and outputs of tools.
    pub content: bool,
    /// Create a span for each step.
    pub steps: bool,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { endpoint: None, headers: BTreeMap::new(), service_name: None, content: false, steps: true }
    }
}

/// Shows only the names of headers.
impl fmt::Debug for TraceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("TraceSettings")
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("service_name", &self.service_name)
            .field("content", &self.content)
            .field("steps", &self.steps)
            .finish()
    }
}
