//! `Export`: sends spans in batches over HTTP, on a separate task. If the collector is unreachable, a batch is retried
//! a few times, the failure is logged once, and the host is never blocked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rawko_host::Environment;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::proto;
use super::settings::TraceSettings;
use super::span::TraceSpan;
use super::variables::{Sampling, Sending};
use crate::logs::{LogLevel, Logs};
use crate::metrics::Metrics;
use crate::telemetry::TelemetryError;
use rawko_settings::Redactor;

/// Attempts per batch, and the delay after the first failure.
const ATTEMPTS: u32 = 3;
const BACK_OFF: Duration = Duration::from_millis(100);

enum ExportItem {
    Span(Box<TraceSpan>),
    /// Flush, then confirm.
    Last(oneshot::Sender<()>),
}

pub(crate) struct Export {
    parcels: mpsc::Sender<ExportItem>,
    sampling: Sampling,
    metrics: Arc<Metrics>,
    runtime: Handle,
}

impl Export {
    /// Must be called within a tokio runtime.
    pub(crate) fn start(
        settings: &TraceSettings,
        environment: &Environment,
        redactor: &Redactor,
        (metrics, logs): (Arc<Metrics>, Option<Arc<Logs>>),
    ) -> Result<Self, TelemetryError> {
        let failed = |why: String| TelemetryError::Traces(redactor.hide(&why).into_owned());
        let sending = Sending::new(settings, environment).map_err(failed)?;
        let runtime = Handle::try_current().map_err(|error| failed(error.to_string()))?;
        let (parcels, arriving) = mpsc::channel(sending.queue_max);
        let sampling = sending.sampling;
        let post =
            BatchSender::new(sending, redactor.clone(), (Arc::clone(&metrics), logs)).map_err(failed)?;
        runtime.spawn(post.run(arriving));
        Ok(Self { parcels, sampling, metrics, runtime })
    }

    pub(crate) fn send(&self, span: TraceSpan) {
        let is_kept = self.sampling.keeps(span.trace);
        if is_kept && self.parcels.try_send(ExportItem::Span(Box::new(span))).is_err() {
            self.metrics.dropped();
        }
    }

    /// Flushes the spans, for at most `patience`. Blocks, so it must not run on an async thread.
    pub(crate) fn close(&self, patience: Duration) {
        let (tell, told) = oneshot::channel();
        let parcels = self.parcels.clone();
        let last = async move {
            if parcels.send(ExportItem::Last(tell)).await.is_ok() {
                // A dropped sender means that the task has ended, so there is nothing to wait for.
                let _ = told.await;
            }
        };
        let _ = self.runtime.block_on(async { tokio::time::timeout(patience, last).await });
    }
}

/// Sender of batches.
struct BatchSender {
    client: reqwest::Client,
    sending: Sending,
    headers: HeaderMap,
    redactor: Redactor,
    metrics: Arc<Metrics>,
    logs: Option<Arc<Logs>>,
    /// True if the failure of the last batch was logged.
    is_failing: AtomicBool,
}

impl BatchSender {
    fn new(
        sending: Sending,
        redactor: Redactor,
        (metrics, logs): (Arc<Metrics>, Option<Arc<Logs>>),
    ) -> Result<Self, String> {
        let client = rawko_http::build(|builder| builder.timeout(sending.timeout));
        let client = client.map_err(|error| error.to_string())?;
        let headers = headers(&sending.headers)?;
        Ok(Self { client, sending, headers, redactor, metrics, logs, is_failing: AtomicBool::new(false) })
    }

    async fn run(self, mut arriving: mpsc::Receiver<ExportItem>) {
        let mut batch: Vec<TraceSpan> = Vec::new();
        let mut due = None;
        loop {
            let parcel = match due {
                Some(due) => tokio::time::timeout_at(due, arriving.recv()).await,
                None => Ok(arriving.recv().await),
            };
            match parcel {
                Ok(Some(ExportItem::Span(span))) => {
                    batch.push(*span);
                    due = due.or_else(|| Some(Instant::now() + self.sending.delay));
                    if batch.len() < self.sending.batch_max {
                        continue;
                    }
                }
                Ok(Some(ExportItem::Last(tell))) => {
                    self.deliver(std::mem::take(&mut batch)).await;
                    // The receiver may have timed out.
                    let _ = tell.send(());
                    return;
                }
                Ok(None) => return,
                // The batch interval has passed.
                Err(_) => {}
            }
            due = None;
            self.deliver(std::mem::take(&mut batch)).await;
        }
    }

    async fn deliver(&self, batch: Vec<TraceSpan>) {
        if batch.is_empty() {
            return;
        }
        let body = proto::request(&self.sending.resource, &batch);
        let mut wait = BACK_OFF;
        for attempt in 1..=ATTEMPTS {
            match self.post(body.clone()).await {
                Ok(()) => {
                    self.metrics.exported("sent");
                    self.is_failing.store(false, Ordering::Relaxed);
                    return;
                }
                Err(fault) if fault.is_transient && attempt < ATTEMPTS => {
                    tokio::time::sleep(wait).await;
                    wait *= 4;
                }
                Err(fault) => return self.give_up(&fault.why),
            }
        }
    }

    /// Logs only the first failure until an export succeeds: an unreachable collector must not fill the log.
    fn give_up(&self, why: &str) {
        self.metrics.exported("failed");
        let is_news = !self.is_failing.swap(true, Ordering::Relaxed);
        if let Some(logs) = self.logs.as_ref().filter(|_| is_news) {
            logs.line(LogLevel::Warn, &format!("traces cannot be sent: {}", self.redactor.hide(why)), &[]);
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), ExportFault> {
        let request = self.client.post(&self.sending.url).headers(self.headers.clone()).body(body);
        let answer = request
            .send()
            .await
            .map_err(|error| ExportFault { why: words(&error.without_url()), is_transient: true })?;
        match answer.status().as_u16() {
            200..300 => Ok(()),
            status => Err(ExportFault {
                why: format!("the collector answered {status}"),
                is_transient: matches!(status, 429 | 502 | 503 | 504),
            }),
        }
    }
}

struct ExportFault {
    why: String,
    is_transient: bool,
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/x-protobuf"));
    for (name, value) in pairs {
        let cannot = || format!("the header `{name}` cannot be sent");
        let mut value = HeaderValue::from_str(value).map_err(|_| cannot())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| cannot())?, value);
    }
    Ok(headers)
}

/// Appends the causes: "error sending request" alone is not helpful.
fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(under) = next {
        words = format!("{words}: {under}");
        next = under.source();
    }
    words
}
