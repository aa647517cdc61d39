//! Metrics in the Prometheus text format. Events are counted as they happen, with bounded labels; gauges such as the
//! number of instances are read on each scrape.

mod count;
mod families;
mod family;
mod readings;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use families::Families;
use family::{MetricFamily, MetricKind};
use rawko_store::RecordKind;

pub use readings::Readings;

type ReadingsSource = Box<dyn Fn() -> Readings + Send + Sync>;

/// All metrics of the process.
pub struct Metrics {
    steps: [AtomicU64; RecordKind::ALL.len()],
    families: Families,
    streams: AtomicI64,
    started: SystemTime,
    look: Mutex<Option<ReadingsSource>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            steps: Default::default(),
            families: Families::default(),
            streams: AtomicI64::new(0),
            started: SystemTime::now(),
            look: Mutex::new(None),
        }
    }
}

/// Connected client of an event stream; counted until dropped.
pub struct StreamClient(Arc<Metrics>);

impl Drop for StreamClient {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Renders the Prometheus text format.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.render_process(&mut out);
        let look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = look.as_ref() {
            look().render(&mut out);
        }
        drop(look);
        self.render_steps(&mut out);
        self.families.all().into_iter().for_each(|family| family.render(&mut out));
        out
    }

    fn render_process(&self, out: &mut String) {
        let gauge = |name, labels, help| MetricFamily::new(name, MetricKind::Gauge, labels, help);
        let build = gauge("rawko_build_info", &["version"], "Which rawko this is.");
        build.set(&[env!("CARGO_PKG_VERSION")], 1.0);
        let start = gauge("process_start_time_seconds", &[], "When it was started, since the epoch.");
        start.set(&[], self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64());
        let streams = gauge("rawko_event_stream_clients", &[], "Clients of event streams.");
        streams.set(&[], self.streams.load(Ordering::Relaxed) as f64);
        [build, start, streams].iter().for_each(|family| family.render(out));
    }

    fn render_steps(&self, out: &mut String) {
        let steps =
            MetricFamily::new("rawko_steps_total", MetricKind::Counter, &["kind"], "Steps on disk, by kind.");
        for (kind, count) in RecordKind::ALL.iter().zip(&self.steps) {
            steps.set(&[count::kind_word(*kind)], count.load(Ordering::Relaxed) as f64);
        }
        steps.render(out);
    }

    /// Sets the source of gauges, which are read on each scrape.
    pub fn look_at(&self, look: impl Fn() -> Readings + Send + Sync + 'static) {
        *self.look.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(look));
    }

    /// Drops the gauge source and the host that it refers to.
    pub(crate) fn forget_readings(&self) {
        *self.look.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Counts a completed request. `route` is the pattern, not the path: ids would make the labels unbounded.
    pub fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.families.requests.add(&[method, route, &status.to_string()], 1.0);
        self.families.request_time.observe(&[route], took.as_secs_f64());
    }

    /// Counts a client of an event stream until the guard is dropped.
    pub fn stream_client(self: &Arc<Self>) -> StreamClient {
        self.streams.fetch_add(1, Ordering::Relaxed);
        StreamClient(Arc::clone(self))
    }

    pub(crate) fn dropped(&self) {
        self.families.dropped.add(&[], 1.0);
    }

    pub(crate) fn exported(&self, outcome: &str) {
        self.families.exports.add(&[outcome], 1.0);
    }
}
