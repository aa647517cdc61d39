//! Gauges that are read rather than counted: instances by status and wait, and the load of the host.

use rawko_core::Status;
use rawko_host::{Host, Load};
use rawko_store::{Filter, Store, Wait};

use super::family::{Family, Kind};

/// Gauges of a host, or of a store that another process hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Load of the host in this process, if any.
    pub load: Option<Load>,
    /// Number of instances of each status, including children; 0 if the store cannot be read.
    pub statuses: Vec<(Status, u64)>,
    /// Waits of the active instances.
    pub waits: Vec<(Wait, u64)>,
}

const STATUSES: [Status; 4] = [Status::Active, Status::Done, Status::Error, Status::Cancelled];
const WAITS: [Wait; 5] = [Wait::Work, Wait::Person, Wait::Timer, Wait::Event, Wait::Paused];

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
        let statuses =
            Family::new("rawko_instances", Kind::Gauge, &["status"], "Instances in the store, by status.");
        for (status, count) in &self.statuses {
            statuses.set(&[status.as_str()], *count as f64);
        }
        let waits = Family::new(
            "rawko_instances_waiting",
            Kind::Gauge,
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
        ("rawko_commits_total", Kind::Counter, load.commits, "Commits handed to the store."),
        ("rawko_fsyncs_total", Kind::Counter, load.fsyncs, "Batches of commits: one fsync each."),
        ("rawko_instances_in_memory", Kind::Gauge, load.instances_in_memory as u64, "Instances in memory."),
        ("rawko_calls_running", Kind::Gauge, load.calls_running as u64, "Calls under way."),
        (
            "rawko_dispatch_queue_length",
            Kind::Gauge,
            load.commits_unperformed as u64,
            "Commits whose effects have not been begun yet.",
        ),
        (
            "rawko_disk_queue_length",
            Kind::Gauge,
            load.requests_waiting as u64,
            "Requests that wait for the disk.",
        ),
    ];
    for (name, kind, value, help) in table {
        let family = Family::new(name, kind, &[], help);
        family.set(&[], value as f64);
        family.render(out);
    }
}

/// Unreadable counts are reported as 0; the health endpoint reports the reason.
fn total(store: &dyn Store, statuses: &[Status], waits: &[Wait]) -> u64 {
    let filter = Filter { statuses: statuses.to_vec(), waits: waits.to_vec(), limit: 1, ..Filter::default() };
    store.list(&filter).map_or(0, |page| page.total)
}
