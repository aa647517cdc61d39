//! `Telemetry`: the observer of a host. Metrics are counted on the calling thread; spans and log lines are created on a
//! separate thread.

use std::sync::Arc;
use std::time::Duration;

use rawko_host::{Environment, HostEvent, Observer};
use rawko_store::Store;

use crate::lineage::Lineages;
use crate::logs::{LogLevel, LogSettings, Logs};
use crate::metrics::Metrics;
use crate::relay::{Relay, TimedObservation};
use crate::traces::{Export, TraceSettings, Tracer};
use rawko_settings::Redactor;

/// Limit on flushing the last spans.
const GOODBYE: Duration = Duration::from_secs(5);

/// Telemetry to enable.
#[derive(Clone, Debug, Default)]
pub struct TelemetryPlan {
    /// Trace export; `None` disables it.
    pub traces: Option<TraceSettings>,
    /// Enable metrics.
    pub metrics: bool,
    /// Log lines on standard error.
    pub logs: Option<LogSettings>,
    /// Hides secrets in log lines, spans and errors of the exporter.
    pub redactor: Redactor,
    /// Environment with the standard variables.
    pub environment: Environment,
}

/// The reason that telemetry cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The exporter cannot be configured, or there is no tokio runtime; secrets are hidden.
    #[error("traces cannot be sent: {0}")]
    Traces(String),
    /// The thread that creates spans and log lines could not be started.
    #[error("cannot start a thread for telemetry: {0}")]
    Thread(#[from] std::io::Error),
}

/// Counts metrics, exports traces and writes the log of one host.
pub struct Telemetry {
    metrics: Arc<Metrics>,
    logs: Option<Arc<Logs>>,
    relay: Option<Relay>,
    export: Option<Arc<Export>>,
    content: bool,
}

impl Telemetry {
    /// Returns `None` if nothing is enabled: the host then needs no observer. Traces require a tokio runtime.
    pub fn start(plan: TelemetryPlan, store: Arc<dyn Store>) -> Result<Option<Arc<Self>>, TelemetryError> {
        let TelemetryPlan { traces, metrics: is_counting, logs, redactor, environment } = plan;
        let logs = logs.filter(|logs| logs.level != LogLevel::Off);
        if traces.is_none() && !is_counting && logs.is_none() {
            return Ok(None);
        }
        let metrics = Arc::new(Metrics::default());
        let logs = logs.map(|settings| Arc::new(Logs::new(settings, redactor.clone())));
        let (content, steps) =
            traces.as_ref().map_or((false, false), |traces| (traces.content, traces.steps));
        let export = match &traces {
            Some(settings) => {
                let told = (Arc::clone(&metrics), logs.clone());
                Some(Arc::new(Export::start(settings, &environment, &redactor, told)?))
            }
            None => None,
        };
        let mut tracer = export.clone().map(|export| Tracer::new(export, redactor, steps));
        let is_relaying = tracer.is_some() || logs.is_some();
        let (lines, mut lineages) = (logs.clone(), Lineages::new(store));
        let take = move |seen: TimedObservation| {
            if let Some(lines) = &lines {
                lines.tell(&seen.observation, &mut lineages);
            }
            if let Some(tracer) = &mut tracer {
                tracer.take(seen, &mut lineages);
            }
        };
        let relay = if is_relaying { Some(Relay::new(take)?) } else { None };
        Ok(Some(Arc::new(Self { metrics, logs, relay, export, content })))
    }

    /// Returns the metrics, which are counted even if only traces or logs are enabled.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Log for other events than those of a host, such as requests; `None` if logging is off.
    pub fn logs(&self) -> Option<&Arc<Logs>> {
        self.logs.as_ref()
    }

    /// Flushes spans and log lines. Later observations are only counted.
    pub async fn close(self: Arc<Self>) {
        // Joining a thread would block the async runtime.
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
    fn observe(&self, observation: HostEvent) {
        self.metrics.count(&observation);
        let is_wanted =
            self.export.is_some() || self.logs.as_ref().is_some_and(|logs| logs.wants(&observation));
        if is_wanted
            && let Some(relay) = &self.relay
            && !relay.send(observation)
        {
            self.metrics.dropped();
        }
    }

    fn wants_content(&self) -> bool {
        self.content
    }
}
