//! `Telemetry`: the one observer that a host is given. Metrics are counted where they happen; spans and log lines are made
//! on a thread of their own.

use std::sync::Arc;
use std::time::Duration;

use rawko_host::{Observation, Observer};
use rawko_store::Store;

use crate::lineage::Lineages;
use crate::logs;
use crate::metrics::Metrics;
use crate::redact::Redactor;
use crate::relay::Relay;
use crate::traces::{Export, TraceSettings, Tracer};

/// How long the last spans may take on their way out.
const GOODBYE: Duration = Duration::from_secs(5);

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Where traces go; `None`: nowhere, and nothing is sent.
    pub traces: Option<TraceSettings>,
    /// Whether somebody may ask for metrics.
    pub metrics: bool,
    /// Whether log lines are wanted; [`crate::start_logs`] says where they go.
    pub logs: bool,
    pub redactor: Redactor,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    #[error("traces cannot be sent: {0}")]
    Traces(String),
    #[error("cannot start a thread for telemetry: {0}")]
    Thread(#[from] std::io::Error),
    #[error("logs are written already")]
    Logs,
}

pub struct Telemetry {
    metrics: Arc<Metrics>,
    relay: Option<Relay>,
    export: Option<Arc<Export>>,
    content: bool,
}

impl Telemetry {
    /// `None` when nothing is wanted: then the host is to have no observer at all. With traces it needs a tokio runtime
    /// around it.
    pub fn start(plan: Plan, store: Arc<dyn Store>) -> Result<Option<Arc<Self>>, TelemetryError> {
        if plan.traces.is_none() && !plan.metrics && !plan.logs {
            return Ok(None);
        }
        let Plan { traces, logs, redactor, .. } = plan;
        let metrics = Arc::new(Metrics::default());
        let content = traces.as_ref().is_some_and(|traces| traces.content);
        let export = match &traces {
            Some(settings) => Some(Arc::new(Export::start(settings, &redactor, Arc::clone(&metrics))?)),
            None => None,
        };
        let wanted = logs || export.is_some();
        let steps = traces.is_some_and(|traces| traces.steps);
        let mut tracer = export.clone().map(|export| Tracer::new(export, redactor, steps));
        let mut lineages = Lineages::new(store);
        let take = move |seen: crate::relay::Seen| {
            if logs {
                logs::tell(&seen.observation, &mut lineages);
            }
            if let Some(tracer) = &mut tracer {
                tracer.take(seen, &mut lineages);
            }
        };
        let relay = if wanted { Some(Relay::new(take)?) } else { None };
        Ok(Some(Arc::new(Self { metrics, relay, export, content })))
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Sends what is left. Whatever is observed after it is only counted.
    pub async fn close(self: Arc<Self>) {
        // Waiting for a thread is not for an async one.
        let _ = tokio::task::spawn_blocking(move || {
            if let Some(relay) = &self.relay {
                relay.close();
            }
            if let Some(export) = &self.export {
                export.close(GOODBYE);
            }
            self.metrics.forget_readings();
        })
        .await;
    }
}

impl Observer for Telemetry {
    fn observe(&self, observation: Observation) {
        self.metrics.count(&observation);
        if let Some(relay) = &self.relay
            && !relay.send(observation)
        {
            self.metrics.dropped();
        }
    }

    fn wants_content(&self) -> bool {
        self.content
    }
}
