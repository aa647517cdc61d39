//! Where traces go and what is in them.

use std::collections::BTreeMap;
use std::fmt;

/// Traces that are wanted. What the standard variables (`OTEL_…`) say goes over it.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// The collector, such as `http://127.0.0.1:4318`; `None`: as the environment says.
    pub endpoint: Option<String>,
    /// Sent with each batch; may hold secrets.
    pub headers: BTreeMap<String, String>,
    pub service_name: Option<String>,
    /// Whether prompts, answers, and what tools are given and give back are in spans.
    pub content: bool,
    /// Whether each step has a span.
    pub steps: bool,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { endpoint: None, headers: BTreeMap::new(), service_name: None, content: false, steps: true }
    }
}

/// The names of headers only.
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
