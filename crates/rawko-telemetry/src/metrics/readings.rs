//! Gauges that are read rather than counted: instances by status and wait, and the load of the host.

use rawko_core::Status;
use rawko_host::{Host, Load};
use rawko_store::{Filter, Store, WaitReason};

use super::family::{MetricFamily, MetricKind};

/// Gauges of a host, or of a store that another process hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Load of the host in this process, if any.
    pub load: Option<Load>,
    /// Number of instances of each status, including children; 0 if the store cannot be read.
    pub statuses: Vec<(Status, u64)>,
    /// Waits of the active instances.
    pub waits: Vec<(WaitReason, u64)>,
}

const STATUSES: [Status; 4] = [Status::Active, Status::Done, Status::Error, Status::Cancelled];
const WAITS: [WaitReason; 5] =
    [WaitReason::Work, WaitReason::Person, WaitReason::Timer, WaitReason::Event, WaitReason::Paused];

impl Readings {
    /// Reads the load of a host, and the counts from its store.
    pub fn of(host: &Host) -> Self {
        Self { load: Some(host.load()), ..Self::of_store(&**host.reader().store()) }
    }

    /// Reads the gauges from the store, independent of the host.
    pub fn of_store(store: &dyn Store) -> Self {
        let statuses = STATUSES.map(|status| (status, total(store, &[status], &[])));
        let waits = WAITS.map(|wait| (wait, total(store, &[Status::Active], &[wait])));
        Self { load: None, statuses: statuses.into(), waits: waits.into() }
    }

    pub(super) fn render(&self, out: &mut String) {
        let statuses = MetricFamily::new(
            "rawko_instances",
            MetricKind::Gauge,
            &["status"],
            "Instances in the store, by status.",
        );
        for (status, count) in &self.statuses {
            statuses.set(&[status.as_str()], *count as f64);
        }
        let waits = MetricFamily::new(
            "rawko_instances_waiting",
            MetricKind::Gauge,
            &["for"],
            "Active instances, by what they wait for.",
        );
        for (wait, count) in &self.waits {
            waits.set(&[wait.as_str()], *count as f64);
        }
        statuses.render(out);
        waits.render(out);
        if let Some(load) = &self.load {
            render_load(load, out);
        }
    }
}

fn render_load(load: &Load, out: &mut String) {
    let table = [
        ("rawko_commits_total", MetricKind::Counter, load.commits, "Commits handed to the store."),
        ("rawko_fsyncs_total", MetricKind::Counter, load.fsyncs, "Batches of commits: one fsync each."),
        (
            "rawko_instances_in_memory",
            MetricKind::Gauge,
            load.instances_in_memory as u64,
            "Instances in memory.",
        ),
        ("rawko_calls_running", MetricKind::Gauge, load.calls_running as u64, "Calls under way."),
        (
            "rawko_dispatch_queue_length",
            MetricKind::Gauge,
            load.commits_unperformed as u64,
            "Commits whose effects have not been begun yet.",
        ),
        (
            "rawko_disk_queue_length",
            MetricKind::Gauge,
            load.requests_waiting as u64,
            "Requests that wait for the disk.",
        ),
    ];
    for (name, kind, value, help) in table {
        let family = MetricFamily::new(name, kind, &[], help);
        family.set(&[], value as f64);
        family.render(out);
    }
}

/// Unreadable counts are reported as 0; the health endpoint reports the reason.
fn total(store: &dyn Store, statuses: &[Status], waits: &[WaitReason]) -> u64 {
    let filter = Filter { statuses: statuses.to_vec(), waits: waits.to_vec(), limit: 1, ..Filter::default() };
    store.list(&filter).map_or(0, |page| page.total)
}
